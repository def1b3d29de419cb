//! `sprag intent list`, `show` and `check`.

use serde_json::{Value, json};

use sprag_base::ids::SessionId;
use sprag_host::intent_files;
use sprag_intent::{IntentFileError, IntentFiles, IntentSet, Ownership};

use super::{all, one, worktree};
use crate::commands::{CommandCx, CommandEnd, CommandResult, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// List the intents of this repository
#[derive(clap::Args)]
pub(crate) struct ListIntents {
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn list(args: ListIntents, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    let set = match intent_files::load(&worktree(&world)?).map(|loaded| loaded.read) {
        Some(IntentFiles::Good(set)) => set,
        Some(IntentFiles::Bad(bad)) => return Err(Failure::bad_intents(&bad)),
        None => IntentSet::default(),
    };
    let standings = sprag_host::intents::standings(&world)?;
    show(
        args.format,
        || json!({"intents": set.iter().map(|intent| intent_files::json(intent, &standings)).collect::<Vec<_>>()}),
        || {
            if set.is_empty() {
                return output::line("no intents");
            }
            let row = |intent: &sprag_intent::Intent| {
                let owned = match &intent.owned {
                    Ownership::Nothing => "nothing".to_owned(),
                    Ownership::Everything => "everything".to_owned(),
                    Ownership::Globs(globs) => globs.join(" "),
                };
                vec![
                    intent.id.to_string(),
                    standings.status(intent).name().to_owned(),
                    intent.name.to_string(),
                    owned,
                ]
            };
            output::table(&["ID", "STATUS", "NAME", "SCOPE"], &set.iter().map(row).collect::<Vec<_>>());
        },
    )
}

/// Show one intent as an agent sees it
#[derive(clap::Args)]
pub(crate) struct ShowIntent {
    /// Intent id
    id: String,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn show_one(args: ShowIntent, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    let set = all(&world)?;
    let intent = one(&set, &args.id)?;
    let standings = sprag_host::intents::standings(&world)?;
    let context = sprag_host::intents::context::context_of(&world, &args.id, &SessionId::new(""), cx.now)?;
    show(
        args.format,
        || json!({ "intent": intent_files::json(intent, &standings) }),
        || output::line(context.map(|context| context.to_string()).unwrap_or_default()),
    )
}

/// Check the files of intents, and print errors by line and column
#[derive(clap::Args)]
pub(crate) struct CheckIntents {
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn check(args: CheckIntents, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    let Some(loaded) = intent_files::load(&worktree(&world)?) else {
        return show(
            args.format,
            || json!({"intents": 0, "problems": [], "warnings": []}),
            || output::line("this repository has no intents"),
        );
    };
    let (count, problems) = match &loaded.read {
        IntentFiles::Good(set) => (set.len(), &[][..]),
        IntentFiles::Bad(bad) => (0, bad.as_slice()),
    };
    let row = |bad: &IntentFileError| -> Value {
        json!({"file": bad.origin.path(), "line": bad.line, "column": bad.column, "what": bad.what})
    };
    let rows = |all: &[IntentFileError]| all.iter().map(row).collect::<Vec<_>>();
    show(
        args.format,
        || json!({"intents": count, "problems": rows(problems), "warnings": rows(&loaded.warnings)}),
        || {
            for bad in problems.iter() {
                output::line(bad.to_string());
            }
            loaded.warnings.iter().for_each(|warning| output::note(format!("sprag: warning: {warning}")));
            if problems.is_empty() {
                let noun = if count == 1 { "intent" } else { "intents" };
                output::line(format!("{count} {noun}, no errors"));
            }
        },
    )?;
    Ok(if problems.is_empty() { CommandEnd::Done } else { CommandEnd::No })
}
