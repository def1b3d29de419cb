//! `sprag trust`: applies the configuration of a project in full.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use sprag_host::config::{self, Layer, switches};
use sprag_host::sys::disk::RealDisk;

use crate::commands::{CommandCx, CommandResult, accept_protected, check_person, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Trust the current configuration of this project (people only)
///
/// An untrusted configuration can only make rules stricter. Trust covers the current content: a changed file
/// needs trust again. The command also accepts the present content of all protected files, such as the
/// settings of clients and git hooks; see `sprag config gates`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag trust\n  \
    sprag trust --revoke")]
pub(crate) struct Args {
    /// Withdraw the trust
    #[arg(long)]
    revoke: bool,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let places = cx.places()?;
    let user = places.user.as_ref().ok_or(sprag_host::sys::locations::NoHome)?;
    check_person(&places)?;
    let files: Vec<(PathBuf, Option<String>)> = config::files(&places)
        .into_iter()
        .chain(config::rule_layers::files(&places))
        .chain(config::templates::files(&places))
        .filter(|(layer, _)| matches!(layer, Layer::Project | Layer::Local))
        .filter_map(|(_, path)| fs::read_to_string(&path).ok().map(|text| (path, config::hash_of(&text))))
        .map(|(path, hash)| (path, (!args.revoke).then_some(hash)))
        .collect();
    accept_protected(&places)?;
    if files.is_empty() && args.revoke {
        return Err(Failure::nothing_to_trust());
    }
    switches::set_trust(user, &RealDisk, &files)?;
    let done = if args.revoke { "no longer trusted" } else { "trusted with its current content" };
    show(
        args.format,
        || json!({"files": files.iter().map(|(path, _)| path).collect::<Vec<_>>(), "trusted": !args.revoke}),
        || {
            for (path, _) in &files {
                output::line(format!("`{}`: {done}", path.display()));
            }
            output::line("protected files: accepted as they are now");
        },
    )
}
