//! `sprag policy import`: converts the permission rules of a client.

use std::path::PathBuf;

use serde_json::json;

use sprag_host::config::rule_import::{self, ImportChanges};
use sprag_host::sys::disk::RealDisk;
use sprag_host::sys::locations::NoHome;
use sprag_policy::Rule;
use sprag_policy::import::{IMPORTERS, Import, RuleImporter, Skipped, find};

use crate::commands::{CommandCx, CommandResult, accept_protected, check_not_agent, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Import the permission rules of a client
///
/// Prints the converted rules, and on stderr the rules that Sprag cannot convert. A converted rule may refuse
/// more than the original, but never allows more.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Client whose rules to import
    #[arg(value_name = "CLIENT", value_parser = names())]
    from: String,
    /// Settings files of the client (default: those of the project and the user)
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write the rules to your user policy, in place of an earlier import (people only)
    ///
    /// Skips what the files of a project allow, unless you name these files: it would apply everywhere.
    #[arg(long)]
    write: bool,
    #[command(flatten)]
    format: OutputFormat,
}

fn names() -> clap::builder::PossibleValuesParser {
    IMPORTERS.iter().map(|importer| importer.name).collect::<Vec<_>>().into()
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let importer = find(&args.from).expect("clap accepts only names of the list");
    let places = cx.places()?;
    let user = places.user.as_ref();
    if args.write {
        check_not_agent(&places)?;
    }
    let origins = rule_import::origins(importer, &args.files, &cx.cwd, &places, &cx.env);
    let found = rule_import::read(importer, &origins)?;
    if !args.write {
        return print(importer, &found, args.format);
    }
    let found = rule_import::without_foreign_allows(found, &origins);
    let user = user.ok_or(NoHome)?;
    let path = rule_import::path(importer, user);
    let changes = rule_import::write(importer, &rules(&found), user, &RealDisk)
        .map_err(|error| Failure::io("write", &path, &error))?;
    accept_protected(&places)?;
    show(
        args.format,
        || {
            json!({
                "rules": rules(&found),
                "skipped": found.skipped,
                "path": path,
                "added": changes.added,
                "changed": changes.changed,
                "removed": changes.removed,
            })
        },
        || {
            tell_skipped(&found.skipped);
            tell_changes(&changes);
            output::line(format!("wrote {} rules to `{}`", found.rules.len(), path.display()));
        },
    )
}

fn rules(found: &Import) -> Vec<&Rule> {
    found.rules.iter().map(|imported| &imported.rule).collect()
}

fn print(importer: &RuleImporter, found: &Import, format: OutputFormat) -> CommandResult {
    let rules = rules(found);
    show(
        format,
        || json!({"rules": rules, "skipped": found.skipped}),
        || {
            output::text_raw(&rule_import::to_toml(importer, &rules));
            tell_skipped(&found.skipped);
        },
    )
}

fn tell_skipped(skipped: &[Skipped]) {
    for Skipped { source, line, text, why } in skipped {
        let place = line.map_or_else(|| source.clone(), |line| format!("{source}:{line}"));
        output::note(format!("{place}: not imported: `{text}`: {why}"));
    }
}

fn tell_changes(changes: &ImportChanges) {
    for (mark, ids) in [("+", &changes.added), ("~", &changes.changed), ("-", &changes.removed)] {
        for id in ids.iter() {
            output::line(format!("{mark} {id}"));
        }
    }
}
