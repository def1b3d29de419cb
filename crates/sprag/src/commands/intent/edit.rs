//! `sprag intent new` and `sprag intent sync`: change the files of intents.

use serde_json::json;

use sprag_host::intent_files;
use sprag_host::worktree::protect::snapshot::WrittenBy;
use sprag_intent::{Intent, IntentFiles, IntentOrigin, IntentSet, Ownership};

use super::{all, worktree};
use crate::commands::{CommandCx, CommandResult, check_not_agent, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Add an intent to `.sprag/intents.yaml` (people only)
#[derive(clap::Args)]
pub(crate) struct NewArgs {
    /// Intent id: 1 to 64 letters, digits, `.`, `_` and `-`
    id: String,
    /// Goal in a few words
    #[arg(long)]
    name: String,
    /// Pattern of paths that the intent owns (may be repeated)
    #[arg(long)]
    scope: Vec<String>,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn new(args: NewArgs, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    // An agent could create an intent that owns everything.
    check_not_agent(&world.places)?;
    let root = worktree(&world)?;
    if !Intent::is_id(&args.id) {
        return Err(Failure::bad_intent_id(&args.id));
    }
    for pattern in &args.scope {
        Ownership::check(pattern).map_err(|bad| Failure::bad_pattern(pattern, &bad))?;
    }
    let known = match intent_files::load(&root).map(|loaded| loaded.read) {
        Some(IntentFiles::Good(set)) => set,
        Some(IntentFiles::Bad(bad)) => return Err(Failure::bad_intents(&bad)),
        None => IntentSet::default(),
    };
    if known.find(&args.id).is_some() {
        return Err(Failure::intent_exists(&args.id));
    }
    let path = IntentOrigin::Sprag.path();
    let text = if root.join(path).exists() {
        intent_files::text_of(&root, IntentOrigin::Sprag)?
    } else {
        String::new()
    };
    let new = intent_files::edit::with_intent(&text, &args.id, &args.name, &args.scope)
        .ok_or_else(|| Failure::not_editable(path))?;
    sprag_host::intents::replace(&world, IntentOrigin::Sprag, &new, WrittenBy::Person)?;
    show(
        args.format,
        || json!({"intent": args.id, "file": path}),
        || output::line(format!("added intent `{}` to `{path}`", args.id)),
    )
}

/// Write the status of the intents into their files
#[derive(clap::Args)]
pub(crate) struct SyncArgs {
    /// Print what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn sync(args: SyncArgs, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    let root = worktree(&world)?;
    let set = all(&world)?;
    let standings = sprag_host::intents::standings(&world)?;
    let mut changed: Vec<(&Intent, &str)> = Vec::new();
    for origin in IntentOrigin::ALL {
        let differs = |intent: &&Intent| intent.origin == origin && standings.status(intent) != intent.status;
        let differing: Vec<&Intent> = set.iter().filter(differs).collect();
        if differing.is_empty() {
            continue;
        }
        let mut text = intent_files::text_of(&root, origin)?;
        for intent in differing {
            let status = standings.status(intent);
            text = intent_files::edit::with_status(&text, origin, intent.id.as_str(), status)
                .ok_or_else(|| Failure::not_editable(origin.path()))?;
            changed.push((intent, status.name()));
        }
        if !args.dry_run {
            sprag_host::intents::replace(&world, origin, &text, WrittenBy::Anyone)?;
        }
    }
    let row = |(intent, status): &(&Intent, &str)| json!({"id": intent.id, "from": intent.status.name(), "to": status, "file": intent.origin.path()});
    show(
        args.format,
        || json!({"changed": changed.iter().map(row).collect::<Vec<_>>(), "dry_run": args.dry_run}),
        || {
            if changed.is_empty() {
                output::line("the files are up to date");
            }
            for (intent, status) in &changed {
                output::line(format!("{}: {} -> {status}", intent.id, intent.status.name()));
            }
        },
    )
}
