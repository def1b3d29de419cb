//! Intents of a story: as a file for the program, as a fact for the core.

use sprag_base::glob::CaseFolding;
use sprag_base::path::absolute;
use sprag_govern::event::{Event, Input};
use sprag_govern::gates::scope::{Settings, TargetKind, WriteTarget, wanted};
use sprag_intent::{
    IgnoredIntents, IntentDraft, IntentFiles, IntentHistories, IntentOrigin, IntentSet, ScopeFacts,
    ScopedPath, WriteReach,
};

/// Intents with their scopes.
pub(super) type Known = Vec<(String, Vec<String>)>;

pub(super) fn file(known: &Known) -> String {
    let entry = |(id, globs): &(String, Vec<String>)| {
        format!("  - id: {id}\n    name: about {id}\n    owned_scope: {}\n", serde_json::json!(globs))
    };
    format!("active_intents:\n{}", known.iter().map(entry).collect::<String>())
}

/// Returns the answer of the host for files without links and directories.
pub(super) fn fact(
    known: &Known,
    standings: &IntentHistories,
    input: &Input,
    policy: &Settings,
) -> ScopeFacts {
    let draft = |(id, globs): &(String, Vec<String>)| IntentDraft {
        id: id.clone(),
        name: format!("about {id}"),
        owned: Some(globs.clone()),
        ..IntentDraft::default()
    };
    let targets = match &input.event {
        Event::ToolRequested { call } => wanted(call, input, policy).unwrap_or_default(),
        _ => Vec::new(),
    };
    ScopeFacts {
        read: IntentFiles::Good(IntentSet::new([known
            .iter()
            .map(|it| draft(it).intent(IntentOrigin::Sprag))
            .collect()])),
        standings: standings.clone(),
        holders: Vec::new(),
        ignored: IgnoredIntents::default(),
        folding: CaseFolding::Exact,
        roots: vec![input.root.clone()],
        temp: vec!["/tmp".to_owned()],
        targets: targets.into_iter().filter_map(target).collect(),
        unknown: Vec::new(),
        strays: Some(Vec::new()),
    }
}

fn target(wanted: WriteTarget) -> Option<ScopedPath> {
    let WriteTarget::At { named, dir, by, kind } = wanted else { return None };
    let path = absolute(&dir, &named);
    let reach = match kind {
        TargetKind::IfThere => return None,
        TargetKind::Tree => WriteReach::Tree,
        TargetKind::Directory => WriteReach::Directory,
        TargetKind::Wild => WriteReach::Wild,
        TargetKind::Path | TargetKind::Into(_) => WriteReach::Path,
    };
    Some(ScopedPath { named, paths: [path.clone(), path], reach, by })
}
