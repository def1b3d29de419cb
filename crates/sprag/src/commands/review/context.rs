//! `sprag review context`: prints what a reviewer needs: prompts, the diff and earlier decisions.

use serde_json::{Value, json};

use sprag_base::ids::SessionId;
use sprag_base::record::Record;
use sprag_base::record_kinds::TypedRecord as _;
use sprag_govern::event::PromptAuthor;
use sprag_govern::event_records::{Observation, RecordedEvent, RecordedPrompt};
use sprag_govern::gates::Gate as _;
use sprag_govern::gates::review::ReviewGate;
use sprag_govern::gates::review::history::{PastReview, Reviews};
use sprag_govern::session_facts::SessionFacts;
use sprag_host::report::{self, review};
use sprag_host::store::{journal, projections};
use sprag_host::sys::locations::Locations;
use sprag_host::worktree::tree_hash;
use sprag_host::world::World;

use super::sentence;
use crate::commands::{CommandCx, CommandResult, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Show what a reviewer needs to know
///
/// Prints the prompts of the user, the tool call that waits for the review, the diff and earlier decisions.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Session id, or its first characters (default: SPRAG_REVIEW_SESSION, else the only live session)
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
}

/// Maximum size of a diff in bytes; a reviewer reads the rest from the files.
const DIFF: usize = 100 * 1024;
/// Maximum number of prompts and observations to print, the last ones.
const TOLD: usize = 50;

struct ReviewContext {
    session: SessionId,
    review: ReviewGate,
    prompts: Vec<Value>,
    observations: Vec<Value>,
    verdicts: Vec<PastReview>,
    tree: Option<String>,
    diff: Option<ReviewDiff>,
}

struct ReviewDiff {
    /// The commit or tree at the start of the diff.
    from: String,
    text: String,
    is_cut: bool,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    let named = args.session.or_else(|| cx.env.text(review::SESSION));
    let session = report::find_session::find_session(&world, named.as_deref(), cx.now)?;
    let context = gather(&world, session)?;
    show(args.format, || as_json(&context), || tell(&context))
}

fn gather(world: &World<'_>, session: SessionId) -> Result<ReviewContext, Failure> {
    let store = world.store();
    let loaded = journal::read(&journal::path(&store, &session)).map(|(loaded, _)| loaded.session);
    let state = loaded.unwrap_or_default();
    let since = state.review().case().map(|case| case.since);
    let records = projections::records_of(&store, &session)?;
    let recent = |record: &&Record| since.is_none_or(|since| record.at >= since);
    let last = |found: Vec<Value>| found.into_iter().rev().take(TOLD).rev().collect::<Vec<_>>();
    let prompts = records.iter().filter(recent).filter_map(|record| match RecordedEvent::read(record)? {
        RecordedEvent::Prompted(RecordedPrompt { text, author: PromptAuthor::User }) => {
            Some(json!({"at": record.at, "text": text}))
        }
        _ => None,
    });
    // Notes of an agent and its last message both have this kind.
    let observed = records.iter().filter_map(|record| match RecordedEvent::read(record)? {
        RecordedEvent::Observed(Observation { note }) => Some(json!({"at": record.at, "note": note})),
        _ => None,
    });
    let reviews = projections::load::<Reviews>(&store)?.state;
    let verdicts = reviews.verdicts().iter().filter(|verdict| verdict.session == session).cloned().collect();
    let tree = tree_hash::hash(&world.places, world.disk);
    let diff = tree.as_deref().and_then(|tree| diff(&world.places, &state.about, tree));
    Ok(ReviewContext {
        prompts: last(prompts.collect()),
        observations: last(observed.collect()),
        review: state.review().clone(),
        session,
        verdicts,
        tree,
        diff,
    })
}

/// Returns the diff since the start of the session. Commits of the session are part of its work.
fn diff(places: &Locations, about: &SessionFacts, tree: &str) -> Option<ReviewDiff> {
    let since = |from: String| Some((tree_hash::between(places, &from, tree)?, from));
    let start = about.head.as_ref().and_then(|head| since(head.to_string()));
    let head = || tree_hash::head_tree(places).and_then(since);
    // Before the first commit, every file is new.
    let nothing = || tree_hash::empty_tree(places).and_then(since);
    let (found, from) = start.or_else(head).or_else(nothing)?;
    let text = String::from_utf8_lossy(&found.text).into_owned();
    let end = (0..=text.len().min(DIFF)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    Some(ReviewDiff { from, is_cut: !found.is_whole || end < text.len(), text: text[..end].to_owned() })
}

fn as_json(context: &ReviewContext) -> Value {
    let case = context.review.case();
    json!({
        "session": context.session,
        "state": context.review.state(),
        "trigger": case.map(|case| json!({
            "why": case.why, "told": case.trigger(), "since": case.since, "round": case.round, "gated": case.gated,
        })),
        "prompts": context.prompts,
        "tree": context.tree,
        "diff": context.diff.as_ref().map(|diff| json!({
            "from": diff.from, "text": diff.text, "cut": diff.is_cut,
        })),
        "verdicts": context.verdicts,
        "observations": context.observations,
    })
}

fn tell(context: &ReviewContext) {
    output::heading(&format!("review of session {}", context.session.as_str()));
    output::line(format!("state: {}", context.review.state().unwrap_or_default()));
    if let Some(case) = context.review.case() {
        output::line(format!("why: {} (round {}, since {})", case.trigger(), case.round, case.since));
        if let Some(gated) = &case.gated {
            let cut = if gated.input.is_cut { ", cut" } else { "" };
            let (size, hash) = (gated.input.size, &gated.input.sha256);
            output::line(format!("waiting call: `{}` ({size} bytes{cut}, sha256 {hash})", gated.tool));
            output::line(&gated.input.text);
        }
    }
    print_rows("prompts", &context.prompts, "text");
    print_rows("observations", &context.observations, "note");
    if !context.verdicts.is_empty() {
        output::heading("earlier decisions");
    }
    for verdict in &context.verdicts {
        output::line(sentence(verdict));
        if !verdict.told.message.is_empty() {
            output::line(format!("  {}", verdict.told.message));
        }
    }
    match (&context.tree, &context.diff) {
        (Some(tree), Some(diff)) => {
            output::heading(&format!("diff from {} to tree {tree}", diff.from));
            output::line(&diff.text);
            if diff.is_cut {
                output::line("(cut; read the rest in the files)");
            }
        }
        (Some(tree), None) => output::line(format!("tree {tree}; git has no diff of it")),
        (None, _) => output::line("git failed to identify the tree\n  next: git status"),
    }
}

fn print_rows(what: &str, rows: &[Value], key: &str) {
    if !rows.is_empty() {
        output::heading(what);
    }
    for row in rows {
        output::line(format!("- {}", row[key].as_str().unwrap_or_default()));
    }
}
