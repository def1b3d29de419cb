//! Finds out what the gates asked for, and nothing else.

pub(crate) mod commit;
mod permission;
mod questions;

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::{fs, io};

use memchr::memmem;

use sprag_base::digest::Digest;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_govern::event::{Event, Input};
use sprag_govern::facts::{Closed, ConflictMarker, DetectedTracker, RoleMarks};
use sprag_govern::gates;
use sprag_govern::gates::needs::{Answers, SharedNeeds};
use sprag_govern::gates::protection::Restore;
use sprag_govern::obligation::{Debts, Duty, OpenDebt};
use sprag_govern::session::Session;
use sprag_memory::episode::FailurePatterns;
use sprag_policy::RuleConcern;

use crate::checks::session;
use crate::clients::{CLIENTS, transcript};
use crate::memory::{candidates, recall};
use crate::store::{Store, new_record, projections};
use crate::sys::disk::{open_regular, read_small};
use crate::sys::env::Env;
use crate::sys::exec::{on_path, read_capped};
use crate::sys::locations::Locations;
use crate::worktree::changes::changes;
use crate::worktree::protect::{list, snapshot};
use crate::worktree::{baseline, leases, tree_hash};
use crate::world::{World, started_elsewhere};
use crate::{git, trace, trackers};

/// Bounds on looking for markers: work, not time, so that a verdict does not depend on the load.
const FILES: usize = 2000;
const FILE_BYTES: u64 = 2 * 1024 * 1024;
/// File times come from a clock that ticks coarsely.
const SLACK_MILLIS: i64 = 10;

/// What is asked of the worktree a session started in, wherever its agent has gone since.
const OF_SESSION: SharedNeeds = SharedNeeds::union(&[
    SharedNeeds::START,
    SharedNeeds::CHANGES,
    SharedNeeds::CONFLICTS,
    SharedNeeds::TREE,
    SharedNeeds::CHECKS,
    SharedNeeds::TRACKER,
    SharedNeeds::CLOSED,
    SharedNeeds::UNCOMMITTED,
    SharedNeeds::UNTRACED,
]);

pub fn gather(needs: SharedNeeds, world: &World<'_>, input: &Input, session: &Session) -> Answers {
    let asked = needs.only(OF_SESSION);
    let Some(own) = started_elsewhere(world, session).filter(|_| !asked.is_none()) else {
        return with_strays(collect_answers(needs, world, input, session), needs, world, input, session);
    };
    let found = collect_answers(asked | needs.only(SharedNeeds::DEBTS), &own, input, session);
    let facts = Answers {
        start: found.start,
        changes: found.changes,
        conflicts: found.conflicts,
        unresolved: found.unresolved,
        tree: found.tree,
        checks: found.checks,
        tracker: found.tracker,
        closed: found.closed,
        uncommitted: found.uncommitted,
        stash: found.stash,
        changed: found.changed,
        ..collect_answers(needs.without(OF_SESSION), world, input, session)
    };
    with_strays(facts, needs, &own, input, session)
}

/// What calls have changed that nobody could read beforehand. It takes both the intents and the changes.
fn with_strays(
    mut facts: Answers,
    needs: SharedNeeds,
    own: &World<'_>,
    input: &Input,
    session: &Session,
) -> Answers {
    if needs.has(SharedNeeds::INTENTS | SharedNeeds::CHANGES)
        && let (Some(intents), Some(root)) = (&mut facts.intents, &own.places.worktree)
    {
        intents.strays = crate::intents::strays(own, root, session, facts.changes.as_ref(), input);
    }
    facts
}

fn collect_answers(needs: SharedNeeds, world: &World<'_>, input: &Input, session: &Session) -> Answers {
    let mut facts = Answers::default();
    let places = &world.places;
    if needs.has(SharedNeeds::RULES) {
        facts.rules = world.config.restricting(&concern(world, input));
    }
    if needs.has(SharedNeeds::ALLOWS) {
        facts.allows = world.config.allowing();
    }
    if needs.has(SharedNeeds::JUDGE) && gates::permission::is_left_to_judge(&facts, input) {
        facts.judgement = Some(crate::answers::permission::ask(world, input));
    }
    if needs.has(SharedNeeds::STAGED) {
        facts.staged = Some(commit::inspect_commits(input, &world.config.settings.govern.gates.commit));
    }
    if needs.has(SharedNeeds::OURS) {
        let ours = list::ours(places);
        facts.guarded = list::places(world, input, &ours);
        facts.agents = list::agents(world, input);
        facts.ours = ours;
    }
    if needs.has(SharedNeeds::OURS) || needs.has(SharedNeeds::WRITTEN) {
        facts.written = list::written(input);
    }
    if needs.has(SharedNeeds::KEEP) && world.config.settings.govern.gates.protection.restore == Restore::On {
        snapshot::before(world, input);
    }
    if needs.has(SharedNeeds::DAMAGE) {
        facts.damage = snapshot::after(world, input);
    }
    if needs.has(SharedNeeds::HEAD) {
        facts.head = places.head().map(Text::new);
    }
    if needs.has(SharedNeeds::ROLE) {
        facts.role = Some(role_marks(places, world.env));
    }
    if needs.has(SharedNeeds::DEBTS) {
        let debts = projections::load::<Debts>(&Store::at(&places.store));
        facts.debts = debts.ok().map(|folded| folded.state.open().to_vec());
    }
    if needs.has(SharedNeeds::START) {
        // Without it the size of what changes is not known, which is no reason to refuse a call.
        facts.start =
            baseline::capture(places, world.disk, &input.session).ok().map(|taken| Text::new(taken.name));
    }
    if needs.has(SharedNeeds::CHANGES) {
        facts.changes = changes(places, session);
    }
    if needs.has(SharedNeeds::EPISODES) {
        let episodes = projections::load::<FailurePatterns>(&Store::at(&places.store));
        facts.episodes = episodes.ok().map(|folded| folded.state);
    }
    if needs.has(SharedNeeds::ANSWERS) {
        facts.answers = questions::find(world, input).ok();
    }
    if needs.has(SharedNeeds::TOKEN) {
        facts.token = new_record::new_token().map(Text::new);
    }
    if needs.has(SharedNeeds::PEERS) {
        facts.peers = peers(world.env, &input.client);
    }
    if needs.has(SharedNeeds::TREE) {
        facts.tree = tree(world, session);
    }
    if needs.has(SharedNeeds::CHECKS) {
        facts.checks = session::asked(world, input, session, facts.changes.as_ref());
    }
    if needs.has(SharedNeeds::UNCOMMITTED) {
        facts.uncommitted = uncommitted(world, &facts);
        facts.stash = places.reference("refs/stash").map(Text::new);
    }
    if needs.has(SharedNeeds::TRACKER) {
        facts.tracker = Some(tracker(world));
    }
    if needs.has(SharedNeeds::RECALL) {
        facts.recalled = recall::recall_learnings(world, input, session);
    }
    if needs.has(SharedNeeds::PROPOSED) {
        facts.proposed = candidates::gather_candidate_facts(world, input, session);
    }
    if needs.has(SharedNeeds::INTENTS) {
        facts.intents = crate::intents::gather_scope_facts(world, input, session);
    }
    if needs.has(SharedNeeds::CLOSED) {
        facts.closed = Some(closed(world, input, session));
    }
    if needs.has(SharedNeeds::CHANGED) || needs.has(SharedNeeds::UNTRACED) {
        facts.changed = trace::trace_event(needs, world, input, session);
    }
    if needs.has(SharedNeeds::CONFLICTS)
        && let (Some(worktree), Some(started)) = (&places.worktree, session.about.started)
    {
        let known = facts.changes.as_ref().filter(|_| session.about.start.is_some());
        let paths = match known {
            Some(changes) => Some(changes.paths.clone()),
            // The session's start was not seen: what git tells of now has to do.
            None => changed_somehow(places, session),
        };
        let policy = &world.config.settings.govern.gates.integrity;
        facts.conflicts = paths.and_then(|paths| {
            conflicts(worktree, started, paths.into_iter().filter(|path| !policy.ignores(path)))
        });
        facts.unresolved = facts.debts.as_deref().map(|debts| unresolved(worktree, debts));
    } else if needs.has(SharedNeeds::CONFLICTS) {
        // Outside git nothing can be in conflict.
        facts.conflicts = Some(Vec::new());
    }
    if needs.has(SharedNeeds::SEEN) {
        // Last: a claim does not hold for long, and what is found out before it may take its time.
        facts.seen = leases::inspect_files(world, input, session);
    }
    facts
}

/// Which rules the call of this event concerns.
fn concern(world: &World<'_>, input: &Input) -> RuleConcern {
    match &input.event {
        Event::ToolRequested { call } | Event::PermissionAsked { call } => {
            gates::permission::concern(&world.config.settings.govern.gates.permission, input, call)
        }
        _ => RuleConcern::None,
    }
}

/// Agents that could be asked for an opinion, by the program a user starts.
const OTHERS: &[&str] = &["gemini", "copilot", "opencode"];

/// Those on this machine, but for the one that asks. Found by looking: none is started.
fn peers(env: &Env, client: &str) -> Vec<Text<32>> {
    let Some(path) = env.get("PATH") else {
        return Vec::new();
    };
    let ours = CLIENTS.iter().filter(|other| other.name != client).map(|other| other.program);
    let all = ours.chain(OTHERS.iter().copied());
    all.filter(|program| on_path(program, &path).is_some()).map(Text::from).collect()
}

/// Longer than any role.
const MARKER_BYTES: u64 = 256;

fn role_marks(places: &Locations, env: &Env) -> RoleMarks {
    let marker = || read_small(&places.project()?.join("role"), MARKER_BYTES).ok();
    match env.text("AGENT_ROLE") {
        Some(role) => RoleMarks { environment: Some(Text::new(role)), marker: None },
        None => RoleMarks { environment: None, marker: marker().map(Text::new) },
    }
}

/// Files of commits made since the session started: a marker does not go away by being committed.
fn committed_since(places: &Locations, head: Option<&str>) -> Vec<String> {
    let (Some(worktree), Some(head)) = (&places.worktree, head) else {
        return Vec::new();
    };
    if places.head().as_deref() == Some(head) {
        return Vec::new();
    }
    git::paths_since(worktree, head).unwrap_or_default()
}

fn changed_somehow(places: &Locations, session: &Session) -> Option<Vec<String>> {
    let mut paths = git::changed_paths(places.worktree.as_ref()?)?;
    paths.extend(committed_since(places, session.about.head.as_ref().map(Text::as_str)));
    paths.sort();
    paths.dedup();
    Some(paths)
}

/// `None`: there are too many files to say that there is none.
fn conflicts(
    worktree: &Path,
    started: Timestamp,
    paths: impl Iterator<Item = String>,
) -> Option<Vec<ConflictMarker>> {
    let mut since = paths.filter(|path| changed_since(&worktree.join(path), started));
    let found: Vec<ConflictMarker> =
        since.by_ref().take(FILES).filter_map(|path| conflict(worktree, path)).collect();
    (!found.is_empty() || since.next().is_none()).then_some(found)
}

/// What is said where a stop cannot be judged by its files.
pub fn warning(needs: SharedNeeds, facts: &Answers) -> Option<String> {
    if !needs.has(SharedNeeds::CONFLICTS) || facts.conflicts.is_some() {
        return None;
    }
    let is_known = facts.changes.as_ref().is_some_and(|changes| !changes.paths.is_empty());
    Some(match is_known {
        true => format!("more than {FILES} files have changed; not all were looked at for conflict markers"),
        false => "git did not say what has changed; conflict markers were not looked for".to_owned(),
    })
}

fn tree(world: &World<'_>, session: &Session) -> Option<Text<64>> {
    match &world.places.worktree {
        Some(_) => tree_hash::hash(&world.places, world.disk).map(Text::new),
        None => {
            let touched: Vec<String> = session.about.touched.iter().map(Text::to_string).collect();
            Some(Text::new(tree_hash::hash_of_files(&touched)))
        }
    }
}

/// Of what the session changed, and of the files that a commit is owed for, what is in none.
fn uncommitted(world: &World<'_>, facts: &Answers) -> Option<Vec<String>> {
    let changes = facts.changes.as_ref()?;
    let debts = facts.debts.as_deref().unwrap_or_default().iter().map(|open| &open.debt);
    // A debt knows its files by what could be shown of them.
    let owed: HashSet<&Text<200>> =
        debts.filter(|debt| debt.duty == Duty::Commit).flat_map(|debt| &debt.items).collect();
    let changed: HashSet<&String> = changes.paths.iter().collect();
    if owed.is_empty() && changed.is_empty() {
        return Some(Vec::new());
    }
    let mut paths = tree_hash::changed_paths(&world.places, world.disk)?;
    paths.retain(|path| changed.contains(path) || owed.contains(&Text::from(path.as_str())));
    Some(paths)
}

/// Which tracker is used here.
pub fn tracker(world: &World<'_>) -> DetectedTracker {
    let policy = &world.config.settings.govern.gates.reflection;
    let order = &policy.ticketing.discovery;
    let worktree = world.places.worktree.as_ref();
    let found = worktree.and_then(|root| trackers::found(root, order, |name| policy.overrides.is_on(name)));
    DetectedTracker {
        name: Text::from(found.map_or("session", |tracker| tracker.name)),
        is_for_tickets: found.is_some_and(trackers::is_here),
        active: found
            .filter(|tracker| trackers::is_here(tracker))
            .and_then(|_| trackers::read_cached_ticket(&world.places)),
    }
}

/// What became of tickets whose closing no event has settled: the talk tells, or the tracker.
fn closed(world: &World<'_>, input: &Input, session: &Session) -> Vec<Closed> {
    let unconfirmed = session.gates.reflection.unconfirmed();
    unconfirmed
        .map(|(call, ticket)| Closed {
            call: Text::from(call),
            ticket: ticket.clone(),
            is_closed: transcript::went_well(input, call).or_else(|| {
                let tracker = sprag_govern::trackers::find(ticket.tracker.as_str())?;
                trackers::is_closed(tracker, ticket.id.as_str(), world.places.worktree.as_ref()?, world.env)
            }),
        })
        .collect()
}

fn conflict(worktree: &Path, path: String) -> Option<ConflictMarker> {
    let text = read(&worktree.join(&path)).ok()?;
    let (line, hunk) = find_markers(&text)?;
    Some(ConflictMarker { path: Text::new(path), line, digest: Digest::hash_parts([hunk]) })
}

/// What the user left unfinished before the session is not the session's to answer for.
fn changed_since(path: &Path, started: Timestamp) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else {
        return false;
    };
    // A file that was moved here, or given an old time, still changed now.
    let millis = |seconds: i64, nanos: i64| seconds.saturating_mul(1000).saturating_add(nanos / 1_000_000);
    let changed = millis(found.mtime(), found.mtime_nsec()).max(millis(found.ctime(), found.ctime_nsec()));
    found.is_file() && changed >= started.millis() - SLACK_MILLIS
}

fn unresolved(worktree: &Path, debts: &[OpenDebt]) -> Vec<Text<200>> {
    let items =
        debts.iter().filter(|open| open.debt.duty == Duty::Integrity).flat_map(|open| &open.debt.items);
    let is_marked = |path: &Path| read(path).is_ok_and(|text| find_markers(&text).is_some());
    items.filter(|item| is_marked(&worktree.join(item.as_str()))).cloned().collect()
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_capped(open_regular(path)?, FILE_BYTES)
}

/// The first whole conflict, by its line and its text: all three marks in their order, each at a
/// line's start. One of them alone is a heading or a quotation.
fn find_markers(text: &[u8]) -> Option<(u32, &[u8])> {
    let ours = line_starting(text, b"<<<<<<< ")?;
    let middle = ours + line_starting(&text[ours..], b"=======")?;
    let theirs = middle + line_starting(&text[middle..], b">>>>>>> ")?;
    let line = memchr::memchr_iter(b'\n', &text[..ours]).count() + 1;
    Some((u32::try_from(line).ok()?, &text[ours..theirs]))
}

fn line_starting(text: &[u8], mark: &[u8]) -> Option<usize> {
    memmem::find_iter(text, mark).find(|&at| at == 0 || text[at - 1] == b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_is_all_three_marks() {
        let line = |text: &[u8]| find_markers(text).map(|(line, _)| line);
        assert_eq!(line(b"a\n<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\n"), Some(2));
        assert_eq!(line(b"<<<<<<< a\n=======\n>>>>>>> b"), Some(1));
        for fine in [
            &b"Heading\n=======\ntext"[..],
            b"says <<<<<<< ours\n=======\n>>>>>>> theirs",
            b"<<<<<<< ours\n>>>>>>> theirs\n",
            b">>>>>>> theirs\n=======\n<<<<<<< ours\n",
            b"",
        ] {
            assert_eq!(find_markers(fine), None, "{}", String::from_utf8_lossy(fine));
        }
    }
}
