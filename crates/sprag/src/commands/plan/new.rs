//! `sprag plan new`: writes a plan to start from.

use std::path::PathBuf;

use serde_json::json;

use sprag_orchestrator::plan_file;
use sprag_plan::spec::template::template;
use sprag_plan::spec::values::{Readable as _, Slug};

use crate::advice::file_word;
use crate::commands::{CommandCx, CommandResult, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Write a plan to start from
///
/// The plan has two parallel stages and a third stage that depends on both.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Name of the plan: 1 to 63 of `a-z`, `0-9` and `-`
    name: String,
    /// Plan file to write (default: `plans/NAME.md`)
    #[arg(long)]
    file: Option<PathBuf>,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let name = Slug::read(&args.name).map_err(|wrong| Failure::bad_plan_name(&args.name, &wrong))?;
    let world = cx.world()?;
    let path = args.file.unwrap_or_else(|| PathBuf::from(format!("plans/{name}.md")));
    let root = world.places.worktree.as_deref().unwrap_or(&cx.cwd);
    plan_file::create(&world, root, &cx.cwd.join(&path), &template(&name)).map_err(|error| {
        match error.kind() {
            std::io::ErrorKind::AlreadyExists => Failure::plan_exists(&path),
            _ => Failure::io("write", &path, &error),
        }
    })?;
    let shown = path.display().to_string();
    show(
        args.format,
        || json!({"plan": name, "file": shown}),
        || {
            output::line(format!("wrote plan `{name}` to `{shown}`"));
            output::next(format!("sprag plan check {}", file_word(&path)));
        },
    )
}
