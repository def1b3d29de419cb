//! `sprag intent reopen`, `accept` and `expand`: changes of an intent by people only.

use serde_json::json;

use sprag_base::digest::Digest;
use sprag_host::intent_files;
use sprag_host::worktree::protect::snapshot::WrittenBy;
use sprag_intent::records::{AcceptedIntent, ExpandedIntent, ReopenedIntent};
use sprag_intent::{CriterionProof, IntentOrigin, IntentRecord, IntentStatus, Ownership};

use super::{all, one, worktree};
use crate::commands::{CommandCx, CommandResult, check_person, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Open a closed intent again (people only)
#[derive(clap::Args)]
pub(crate) struct ReopenArgs {
    /// Intent id
    id: String,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn reopen(args: ReopenArgs, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    check_person(&world.places)?;
    let set = all(&world)?;
    let intent = one(&set, &args.id)?;
    if sprag_host::intents::standings(&world)?.status(intent) == IntentStatus::Done {
        let reopened = IntentRecord::Reopened(ReopenedIntent { id: intent.id.clone() });
        sprag_host::report::intent::record(&world, &reopened, cx.now)?;
    }
    show(
        args.format,
        || json!({"intent": intent.id, "status": IntentStatus::InProgress.name()}),
        || output::line(format!("intent `{}` is open", intent.id)),
    )
}

/// Accept the work for an intent (people only)
///
/// Criteria without a check count as met. Work for an earlier text of the intent counts for its current text.
/// With `--criterion` only these criteria count as met.
#[derive(clap::Args)]
pub(crate) struct AcceptArgs {
    /// Intent id
    id: String,
    /// Id or number of one criterion (may be repeated)
    #[arg(long)]
    criterion: Vec<String>,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn accept(args: AcceptArgs, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    check_person(&world.places)?;
    let set = all(&world)?;
    let intent = one(&set, &args.id)?;
    let words = || intent.criteria.iter().filter(|criterion| criterion.proof == CriterionProof::Word);
    let unknown = args.criterion.iter().find(|key| !words().any(|criterion| criterion.key.as_str() == *key));
    if let Some(key) = unknown {
        return Err(Failure::no_criterion(&args.id, key));
    }
    let is_meant =
        |key: &str| args.criterion.is_empty() || args.criterion.iter().any(|meant| meant.as_str() == key);
    let met: Vec<Digest> = words()
        .filter(|criterion| is_meant(criterion.key.as_str()))
        .map(|criterion| criterion.digest)
        .collect();
    let count = met.len();
    let fingerprint = args.criterion.is_empty().then(|| intent.fingerprint.clone());
    let accepted = IntentRecord::Accepted(AcceptedIntent { id: intent.id.clone(), met, fingerprint });
    sprag_host::report::intent::record(&world, &accepted, cx.now)?;
    show(
        args.format,
        || json!({"intent": intent.id, "met": count, "links": args.criterion.is_empty()}),
        || output::line(format!("accepted for intent `{}`: {count} criteria", intent.id)),
    )
}

/// Let an intent own more files (people only)
#[derive(clap::Args)]
pub(crate) struct ExpandArgs {
    /// Intent id
    id: String,
    /// Paths or patterns, relative to the repository
    #[arg(required = true)]
    patterns: Vec<String>,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn expand(args: ExpandArgs, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    check_person(&world.places)?;
    let root = worktree(&world)?;
    let set = all(&world)?;
    let intent = one(&set, &args.id)?;
    for pattern in &args.patterns {
        Ownership::check(pattern).map_err(|bad| Failure::bad_pattern(pattern, &bad))?;
    }
    let origin: IntentOrigin = intent.origin;
    let mut text = intent_files::text_of(&root, origin)?;
    for pattern in args.patterns.iter().filter(|pattern| !intent.owned.globs().contains(pattern)) {
        text = intent_files::edit::with_pattern(&text, origin, &args.id, pattern)
            .ok_or_else(|| Failure::not_editable(origin.path()))?;
    }
    sprag_host::intents::replace(&world, origin, &text, WrittenBy::Person)?;
    let after = all(&world)?;
    let after = one(&after, &args.id)?;
    let expanded = IntentRecord::Expanded(ExpandedIntent {
        id: intent.id.clone(),
        before: intent.fingerprint.clone(),
        fingerprint: after.fingerprint.clone(),
        patterns: args.patterns,
    });
    sprag_host::report::intent::record(&world, &expanded, cx.now)?;
    show(
        args.format,
        || json!({"intent": intent.id, "owned_scope": after.owned.globs(), "fingerprint": after.fingerprint}),
        || {
            output::line(format!(
                "intent `{}` owns {}; tell the agent to select it again",
                intent.id,
                after.owned.globs().join(" ")
            ));
        },
    )
}
