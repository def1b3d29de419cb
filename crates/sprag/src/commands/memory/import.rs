//! `sprag memory import`: imports the memory of another program as learnings.

use std::io;
use std::path::PathBuf;

use serde_json::json;

use sprag_base::text::one_line;
use sprag_host::memory::import::{self, ImportPreview};
use sprag_memory::import::{IMPORTERS, find};

use crate::commands::{CommandCx, CommandResult, check_not_agent, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Import the memory of another program
///
/// Without `--apply`, prints what would be imported. Entries that were imported before are skipped. Entries
/// without a confidence get a low one.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Program whose memory to import
    #[arg(value_name = "SOURCE", value_parser = names())]
    from: String,
    /// File of that memory, or its directory
    path: PathBuf,
    /// Store the learnings (people only)
    #[arg(long)]
    apply: bool,
    #[command(flatten)]
    format: OutputFormat,
}

fn names() -> clap::builder::PossibleValuesParser {
    IMPORTERS.iter().map(|importer| importer.name).collect::<Vec<_>>().into()
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let importer = find(&args.from).expect("clap accepts only names of the list");
    let world = cx.world()?;
    if args.apply {
        check_not_agent(&world.places)?;
    }
    let path = cx.cwd.join(&args.path);
    let files = import::files(importer, &path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            Failure::nothing_to_import(&path, importer.name)
        }
        _ => Failure::io("read", &path, &error),
    })?;
    if files.is_empty() {
        return Err(Failure::no_memory(importer.title, &path));
    }
    let plan =
        import::plan(&world, importer, files, cx.now).map_err(|error| Failure::io("read", &path, &error))?;
    if args.apply {
        import::apply(&world, &plan, cx.now)?;
    }
    show(
        args.format,
        || {
            let new: Vec<_> = plan
                .new
                .iter()
                .map(|learning| json!({"id": learning.id, "summary": learning.candidate.summary}))
                .collect();
            let passed: Vec<_> =
                plan.passed.iter().map(|(what, why)| json!({"what": what, "why": why})).collect();
            json!({
                "applied": args.apply,
                "files": plan.files,
                "new": new,
                "known": plan.known,
                "uses": plan.uses,
                "passed": passed,
            })
        },
        || tell(&args, &plan),
    )
}

fn tell(args: &Args, plan: &ImportPreview) {
    for learning in &plan.new {
        let candidate = &learning.candidate;
        output::line(format!("+ {}  {}", candidate.category.name(), one_line(candidate.summary.as_str())));
    }
    for (what, why) in &plan.passed {
        output::note(format!("not imported: {}: {}", one_line(what), one_line(why)));
    }
    let uses = if plan.uses > 0 { format!(", {} uses", plan.uses) } else { String::new() };
    output::line(format!(
        "{} new{uses}, {} known, {} not imported, from {} files",
        plan.new.len(),
        plan.known,
        plan.passed.len(),
        plan.files.len()
    ));
    if !args.apply && !plan.new.is_empty() {
        let path = sprag_base::text::shell_word(&args.path.to_string_lossy());
        output::line(format!(
            "nothing was written\n  next: sprag memory import {} {path} --apply",
            args.from
        ));
    }
}
