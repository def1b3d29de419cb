//! Intents of a story: as a file for the program, as a fact for the core.

use sprag_base::glob::Folding;
use sprag_base::path::absolute;
use sprag_govern::event::{Event, Input};
use sprag_govern::gates::scope::{Kind, Policy, Wanted, wanted};
use sprag_intent::{Draft, Ignored, IntentSet, Intents, Origin, Reach, Read, Standings, Target};

/// Each with what it owns.
pub type Known = Vec<(String, Vec<String>)>;

pub fn file(known: &Known) -> String {
    let entry = |(id, globs): &(String, Vec<String>)| {
        format!("  - id: {id}\n    name: about {id}\n    owned_scope: {}\n", serde_json::json!(globs))
    };
    format!("active_intents:\n{}", known.iter().map(entry).collect::<String>())
}

/// What the host would find where no file has links or is a directory.
pub fn fact(known: &Known, standings: &Standings, input: &Input, policy: &Policy) -> Intents {
    let draft = |(id, globs): &(String, Vec<String>)| Draft {
        id: id.clone(),
        name: format!("about {id}"),
        owned: Some(globs.clone()),
        ..Draft::default()
    };
    let targets = match &input.event {
        Event::ToolRequested { call } => wanted(call, input, policy).unwrap_or_default(),
        _ => Vec::new(),
    };
    Intents {
        read: Read::Good(IntentSet::new([known.iter().map(|it| draft(it).intent(Origin::Sprag)).collect()])),
        standings: standings.clone(),
        holders: Vec::new(),
        ignored: Ignored::default(),
        folding: Folding::Exact,
        roots: [input.root.clone(), input.root.clone()],
        temp: vec!["/tmp".to_owned()],
        targets: targets.into_iter().filter_map(target).collect(),
        unknown: Vec::new(),
        strays: Some(Vec::new()),
    }
}

fn target(wanted: Wanted) -> Option<Target> {
    let Wanted::At { named, dir, by, kind } = wanted else { return None };
    let path = absolute(&dir, &named);
    let reach = match kind {
        Kind::IfThere => return None,
        Kind::Tree => Reach::Tree,
        Kind::Directory => Reach::Directory,
        Kind::Wild => Reach::Wild,
        Kind::Path | Kind::Into(_) => Reach::Path,
    };
    Some(Target { named, paths: [path.clone(), path], reach, by })
}
