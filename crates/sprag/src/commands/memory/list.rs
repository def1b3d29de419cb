//! `sprag memory list` and `sprag memory show`.

use serde_json::{Value, json};

use sprag_base::text::one_line;
use sprag_host::memory::evidence;
use sprag_memory::learning::LearningStatus;
use sprag_memory::learnings::LearningEntry;
use sprag_memory::write_gate::evidence::EvidenceState;

use super::learnings::{LearningsContext, ListArgs, OneArgs, category, scope, status};
use crate::commands::{CommandCx, CommandResult, show};
use crate::output;

pub(crate) fn run(args: &ListArgs, cx: &CommandCx) -> CommandResult {
    let is_all = args.status.as_deref() == Some("all");
    let wanted = if is_all { None } else { status(args.status.as_deref())? };
    let (category, scope) = (category(args.category.as_deref())?, scope(args.scope.as_deref())?);
    let desk = LearningsContext::open(cx)?;
    let fits = |entry: &LearningEntry| {
        let (it, now) = (&entry.learning.candidate, entry.status());
        let is_in_use = matches!(now, LearningStatus::Active | LearningStatus::Stale);
        (is_all || wanted.map_or(is_in_use, |wanted| wanted == now))
            && category.is_none_or(|category| category == it.category)
            && scope.is_none_or(|scope| scope == it.scope)
            && args
                .tag
                .as_ref()
                .is_none_or(|tag| it.tags.iter().any(|own| own.as_str().eq_ignore_ascii_case(tag)))
    };
    let mut found: Vec<&LearningEntry> =
        desk.all.entries().map(|(_, entry)| entry).filter(|entry| fits(entry)).collect();
    found.sort_by(|a, b| (b.learning.at, &b.learning.id).cmp(&(a.learning.at, &a.learning.id)));
    show(
        args.format,
        || json!({"learnings": found.iter().map(|entry| to_json(entry)).collect::<Vec<_>>()}),
        || {
            if found.is_empty() {
                output::line("no learnings");
                return;
            }
            let rows: Vec<Vec<String>> = found
                .iter()
                .map(|entry| {
                    let it = &entry.learning.candidate;
                    let (status, summary) = (entry.status().name().to_owned(), one_line(it.summary.as_str()));
                    vec![
                        desk.short(entry),
                        status,
                        it.category.name().to_owned(),
                        it.scope.name().to_owned(),
                        summary,
                    ]
                })
                .collect();
            output::table(&["id", "status", "category", "scope", "summary"], &rows);
        },
    )
}

pub(crate) fn show_one(args: &OneArgs, cx: &CommandCx) -> CommandResult {
    let desk = LearningsContext::open(cx)?;
    let (_, entry) = desk.find(&args.id)?;
    let states = states(&desk, entry);
    show(
        args.format,
        || {
            let mut learning = to_json(entry);
            learning["seen"] = json!(
                states
                    .iter()
                    .map(|(place, state)| json!({"place": place, "state": state.name()}))
                    .collect::<Vec<_>>()
            );
            json!({ "learning": learning })
        },
        || tell(entry, &states),
    )
}

fn states(desk: &LearningsContext<'_>, entry: &LearningEntry) -> Vec<(String, EvidenceState)> {
    let worktree = desk.world.places.worktree.clone().unwrap_or_default();
    let states = evidence::states(&worktree, &entry.learning);
    states.into_iter().map(|(seen, state)| (seen.place.to_string(), state)).collect()
}

/// Returns a learning as JSON, with its status and use.
pub(super) fn to_json(entry: &LearningEntry) -> Value {
    let mut told = json!(entry.learning);
    told["status"] = json!(entry.status());
    told["uses"] = json!(entry.uses);
    if let Some(by) = &entry.superseded_by {
        told["superseded_by"] = json!(by);
    }
    told
}

fn tell(entry: &LearningEntry, states: &[(String, EvidenceState)]) {
    let learning = &entry.learning;
    let it = &learning.candidate;
    output::heading(&one_line(it.summary.as_str()));
    output::line(it.detail.as_str());
    output::line("");
    let names = |names: Vec<&str>| one_line(&names.join(", "));
    let mut rows = vec![
        ("id", learning.id.to_string()),
        ("status", entry.status().name().to_owned()),
        ("category", it.category.name().to_owned()),
        ("kind", it.kind.name().to_owned()),
        ("scope", it.scope.name().to_owned()),
        ("confidence", it.confidence.name().to_owned()),
        ("criteria", names(it.criteria_met.iter().map(|criterion| criterion.name()).collect())),
        ("tags", names(it.tags.iter().map(|tag| tag.as_str()).collect())),
        ("files", names(it.context_files.iter().map(|file| file.as_str()).collect())),
        ("when", one_line(it.trigger.when.as_str())),
        ("when not", one_line(it.trigger.when_not.as_str())),
        ("learned", learning.at.to_string()),
        ("session", one_line(learning.session.as_str())),
        ("ticket", learning.ticket.as_ref().map(|ticket| one_line(ticket.as_str())).unwrap_or_default()),
        ("supersedes", names(learning.supersedes.iter().map(|id| id.as_str()).collect())),
        ("replaced by", entry.superseded_by.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("promoted from", learning.promoted_from.as_ref().map(ToString::to_string).unwrap_or_default()),
    ];
    rows.extend(
        states.iter().map(|(place, state)| ("evidence", format!("{} ({})", one_line(place), state.name()))),
    );
    let uses = &entry.uses;
    rows.push(("shown", uses.surfaced.to_string()));
    rows.push((
        "used",
        format!("{} reported, {} observed, {} dismissed", uses.referred, uses.implied, uses.dismissed),
    ));
    rows.push(("rated", format!("{} up, {} down", uses.rated_up, uses.rated_down)));
    rows.push(("outcomes", format!("{} good, {} bad", uses.succeeded, uses.failed)));
    for (name, value) in rows.into_iter().filter(|(_, value)| !value.is_empty()) {
        output::line(format!("{name:<14} {value}"));
    }
}
