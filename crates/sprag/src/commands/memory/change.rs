//! `sprag memory verify`, `rate`, `archive`, `restore` and `supersede`.

use serde_json::json;

use sprag_base::text::Text;
use sprag_host::memory::evidence;
use sprag_memory::destination::Destination;
use sprag_memory::learning::{Learning, LearningStatus};
use sprag_memory::records::{LearningIds, LearningRating, MemoryRecord, Superseded};

use super::learnings::{LearningsContext, OneArgs, RateArgs, SomeArgs, SupersedeArgs};
use crate::commands::{CommandCx, CommandResult, show, words};
use crate::failure::Failure;
use crate::output;

pub(crate) fn verify(args: &OneArgs, cx: &CommandCx) -> CommandResult {
    let desk = LearningsContext::open(cx)?;
    let (place, entry) = desk.find(&args.id)?;
    let old = &entry.learning;
    let seen = match &desk.world.places.worktree {
        Some(worktree) => evidence::see(worktree, &old.candidate),
        None => old.seen.clone(),
    };
    let gone: Vec<String> = old
        .candidate
        .evidence
        .iter()
        .filter(|cited| !seen.iter().any(|seen| seen.place == **cited))
        .map(ToString::to_string)
        .collect();
    let record = if seen == old.seen {
        desk.record(&MemoryRecord::Verified(about(vec![old.id.clone()], "verified by a command")))
    } else {
        // The evidence changed, and the caller confirms that the learning is still true.
        desk.record(&MemoryRecord::Corrected(Box::new(Learning { seen, ..old.clone() })))
    };
    desk.write(place, &[record])?;
    show(
        args.format,
        || json!({"verified": [old.id], "gone": gone}),
        || {
            output::line(format!("verified `{}`", old.id));
            for place in gone.iter() {
                output::line(format!("  evidence `{place}` no longer exists"));
            }
        },
    )
}

pub(crate) fn rate(args: &RateArgs, cx: &CommandCx) -> CommandResult {
    let desk = LearningsContext::open(cx)?;
    let (place, entry) = desk.find(&args.id)?;
    let id = entry.learning.id.clone();
    let rated = LearningRating { id: id.clone(), is_useful: args.useful, why: why(args.why.as_deref())? };
    desk.write(place, &[desk.record(&MemoryRecord::Rated(rated))])?;
    show(
        args.format,
        || json!({"rated": [id], "is_useful": args.useful}),
        || output::line(format!("rated `{id}`")),
    )
}

pub(crate) fn archive(args: &SomeArgs, cx: &CommandCx) -> CommandResult {
    change(args, cx, MemoryRecord::Archived, "archived", &[LearningStatus::Active, LearningStatus::Stale])
}

pub(crate) fn restore(args: &SomeArgs, cx: &CommandCx) -> CommandResult {
    change(args, cx, MemoryRecord::Restored, "restored", &[LearningStatus::Archived])
}

/// Changes all named learnings, or none if one of the names is wrong.
fn change(
    args: &SomeArgs,
    cx: &CommandCx,
    record: fn(LearningIds) -> MemoryRecord,
    done: &str,
    from: &[LearningStatus],
) -> CommandResult {
    let why = why(args.why.as_deref())?;
    let desk = LearningsContext::open(cx)?;
    let mut found: Vec<(Destination, Text<64>)> = Vec::new();
    for prefix in &args.ids {
        let (place, entry) = desk.find(prefix)?;
        if !from.contains(&entry.status()) {
            return Err(Failure::wrong_status(entry.learning.id.as_str(), entry.status().name(), done));
        }
        let id = entry.learning.id.clone();
        if !found.iter().any(|(_, known)| *known == id) {
            found.push((place, id));
        }
    }
    for place in [Destination::Project, Destination::Personal, Destination::Session] {
        let ids: Vec<Text<64>> =
            found.iter().filter(|(at, _)| *at == place).map(|(_, id)| id.clone()).collect();
        if !ids.is_empty() {
            desk.write(place, &[desk.record(&record(about(ids, why.as_str())))])?;
        }
    }
    let ids: Vec<&Text<64>> = found.iter().map(|(_, id)| id).collect();
    show(
        args.format,
        || json!({ done: ids }),
        || ids.iter().for_each(|id| output::line(format!("{done} `{id}`"))),
    )
}

pub(crate) fn supersede(args: &SupersedeArgs, cx: &CommandCx) -> CommandResult {
    let why = why(args.why.as_deref())?;
    let desk = LearningsContext::open(cx)?;
    let ((place, old), (other, new)) = (desk.find(&args.id)?, desk.find(&args.by)?);
    let (old_id, new_id) = (&old.learning.id, &new.learning.id);
    // If learnings replaced each other in a ring, none would be in use.
    let is_in_use = |status| matches!(status, LearningStatus::Active | LearningStatus::Stale);
    if old_id == new_id || !is_in_use(new.status()) {
        return Err(Failure::wrong_status(new_id.as_str(), new.status().name(), "used as a replacement"));
    }
    if old.status() == LearningStatus::Superseded {
        return Err(Failure::wrong_status(old_id.as_str(), old.status().name(), "superseded"));
    }
    if place != other {
        return Err(Failure::other_scope(old_id.as_str(), new_id.as_str()));
    }
    let superseded = Superseded { id: old_id.clone(), by: new_id.clone(), why };
    desk.write(place, &[desk.record(&MemoryRecord::Superseded(superseded))])?;
    show(
        args.format,
        || json!({"superseded": [old_id], "by": new_id}),
        || output::line(format!("replaced `{old_id}` by `{new_id}`")),
    )
}

fn about(ids: Vec<Text<64>>, how: &str) -> LearningIds {
    LearningIds { ids, how: Text::from(how) }
}

fn why(text: Option<&str>) -> Result<Text<500>, Failure> {
    text.map_or(Ok(Text::default()), |text| words("`--why`", text, "memory archive"))
}
