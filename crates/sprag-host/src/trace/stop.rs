//! Traces changes at a stop: compares all files that git reports as changed with the records. Changes during
//! a command of the session belong to the session. For other changes the author is unknown; a person made
//! them only if no command can have.

use std::collections::BTreeMap;
use std::path::Path;

use sprag_base::digest::Digest;
use sprag_base::record::{Projection as _, Record};
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::text::Text;
use sprag_trace::finding::{JudgedChange, TraceFindings};
use sprag_trace::uncommitted::{LineAuthor, UncommittedLines};
use sprag_trace::{
    ChangeRecord, ChangeSource, Contributor, ContributorKind, FILES, Finality, TraceRecord, TracedFile,
    blocks,
};

use super::author::{self, parts};
use super::context::{FileChange, TraceContext, sides};
use super::file_state::FileContent;
use super::times::{SLACK_MILLIS, SessionTimes, changed_at};
use super::{classify, commit, file_cache, open};
use crate::git::blobs;
use crate::git::name_search::SearchTree;
use crate::worktree::{baseline, tree_hash};

/// Most bytes of all files.
const BYTES: usize = 64 * 1024 * 1024;

/// Traces changes at a stop. `since` is HEAD at the last check of commits, `last` the work that was
/// classified last.
pub(crate) fn trace_stop(
    ground: &TraceContext<'_>,
    since: Option<&Text<64>>,
    last: Option<Digest>,
) -> TraceFindings {
    let mut open = open(&ground.store);
    let mut traces: Vec<ChangeRecord> = Vec::new();
    if since.is_none() || commit::has_moved(ground, since) {
        traces.extend(commit::settled(ground, &open).into_iter().map(ChangeRecord::Final));
    }
    traces.extend(strays(ground, &open).into_iter().map(ChangeRecord::Seen));
    // The classification covers all changes, including those found just now.
    for trace in &traces {
        // The gate will sign the record in the same way.
        let signed = trace.clone().signed(ground.session.intent.as_ref());
        let session = Some(ground.input.session.clone());
        open.apply(&Record { session, ..signed.record(ground.input.at) });
    }
    let judged = judged(ground, &open, last, &mut traces);
    TraceFindings { traces, head: ground.head.clone(), judged }
}

/// Returns records of files that differ from their last record.
fn strays(ground: &TraceContext<'_>, open: &UncommittedLines) -> Vec<TraceRecord> {
    let start = ground.session.started.map_or(0, |at| at.millis());
    let is_since_start = |path: &Path| changed_at(path).is_some_and(|at| at >= start - SLACK_MILLIS);
    let mut left = BYTES;
    let mut now: Vec<(String, FileContent)> = Vec::new();
    for path in candidates(ground, open) {
        let known = open.get(ground.place(), &path);
        let file = ground.file(&path);
        if known.is_none() && !is_since_start(&file) {
            continue;
        }
        let Some(state) = FileContent::read(&file) else {
            continue;
        };
        if known.is_some_and(|known| known.after == state.sum()) {
            continue;
        }
        let size = state.bytes().map_or(0, <[u8]>::len);
        if size > left || now.len() >= FILES {
            break;
        }
        left -= size;
        now.push((path, state));
    }
    if now.is_empty() {
        return Vec::new();
    }
    let times = SessionTimes::load(ground);
    let before = befores(ground, open, &now);
    let mut ours = Vec::new();
    let mut found: BTreeMap<ContributorKind, Vec<FileChange>> = BTreeMap::new();
    for ((path, after), before) in now.into_iter().zip(before) {
        let Some((before, is_certain)) = before else {
            continue;
        };
        let file = ground.file(&path);
        let is_ours = is_certain && times.is_in_command(&file);
        let is_by_hand = is_certain && times.is_by_hand(&file);
        let change = FileChange { path, before, after };
        let list = match (is_ours, is_by_hand) {
            (true, _) => &mut ours,
            (false, true) => found.entry(by_hand(&change, ground, open)).or_default(),
            (false, false) => found.entry(ContributorKind::Unknown).or_default(),
        };
        list.push(change);
    }
    let ours =
        if ours.is_empty() { None } else { ground.trace(ChangeSource::Command, ground.agent(), &ours) };
    let found = found.iter().filter_map(|(who, changes)| {
        ground.trace(ChangeSource::Found, Contributor { kind: *who, model: None }, changes)
    });
    ours.into_iter().chain(found).collect()
}

/// Returns the contributor of a change by hand: mixed, if it replaced uncommitted lines of an agent.
fn by_hand(change: &FileChange, ground: &TraceContext<'_>, open: &UncommittedLines) -> ContributorKind {
    let Some(pending) = open.get(ground.place(), &change.path) else { return ContributorKind::Human };
    let (Some(old), Some(new)) = (change.before.text(), change.after.text()) else {
        return ContributorKind::Human;
    };
    let (old, new) = (blocks::lines(old), blocks::lines(new));
    let is_agents = |line: usize| {
        pending.owner(line).is_some_and(|writer| writer.author.contributor.kind != ContributorKind::Human)
    };
    let is_mixed = blocks::diff(&old, &new).into_iter().any(|hunk| hunk.old.clone().any(is_agents));
    if is_mixed { ContributorKind::Mixed } else { ContributorKind::Human }
}

fn candidates(ground: &TraceContext<'_>, open: &UncommittedLines) -> Vec<String> {
    let places = &ground.world.places;
    if places.worktree.is_none() {
        let touched = ground.session.touched.iter().filter_map(|path| ground.relative(path.as_str()));
        let mut paths: Vec<String> =
            open.files_in(ground.place()).map(|(path, _)| path.to_owned()).chain(touched).collect();
        paths.sort();
        paths.dedup();
        return paths;
    }
    let mut paths = tree_hash::changed_paths(places, ground.world.disk).unwrap_or_default();
    let is_file = |path: &String| {
        let is_ours = path == ".sprag" || path.starts_with(".sprag/");
        // A path with replaced characters is not unique.
        !is_ours && !path.ends_with('/') && !path.contains('\u{fffd}')
    };
    paths.retain(is_file);
    paths
}

/// Returns the last seen states of these files, and whether they are certain.
fn befores(
    ground: &TraceContext<'_>,
    open: &UncommittedLines,
    now: &[(String, FileContent)],
) -> Vec<Option<(FileContent, bool)>> {
    let kept_of = |path: &str| {
        let known = open.get(ground.place(), path)?;
        match known.after {
            Some(sum) => file_cache::kept(&ground.store, &sum),
            None => Some(FileContent::Absent),
        }
    };
    let mut before: Vec<Option<(FileContent, bool)>> =
        now.iter().map(|(path, _)| kept_of(path).map(|state| (state, true))).collect();
    let (Some(worktree), Some(head)) = (&ground.world.places.worktree, &ground.head) else {
        // Without a commit, an unseen file was absent, unless it was unfinished before the session.
        let dirty = Dirty::load(ground);
        for (slot, (path, _)) in before.iter_mut().zip(now) {
            if slot.is_none() {
                *slot = Some((FileContent::Absent, !dirty.has(path)));
            }
        }
        return before;
    };
    let missing: Vec<usize> = (0..now.len()).filter(|&at| before[at].is_none()).collect();
    let names: Vec<String> = missing.iter().map(|&at| format!("{head}:{}", now[at].0)).collect();
    let Some(found) = blobs::blobs(worktree, &names) else {
        return before;
    };
    let dirty = Dirty::load(ground);
    for (at, bytes) in missing.into_iter().zip(found) {
        let path = &now[at].0;
        let is_certain = open.get(ground.place(), path).is_none() && !dirty.has(path);
        before[at] = Some((bytes.map_or(FileContent::Absent, FileContent::of_bytes), is_certain));
    }
    before
}

/// Files that were unfinished before the session; their new lines are unknown.
struct Dirty(Option<Vec<String>>);

impl Dirty {
    fn load(ground: &TraceContext<'_>) -> Dirty {
        let start = ground.session.start.as_ref();
        Dirty(start.and_then(|name| baseline::dirty_paths(&ground.world.places, name.as_str())))
    }

    fn has(&self, path: &str) -> bool {
        self.0.as_ref().is_none_or(|paths| paths.iter().any(|dirty| dirty == path))
    }
}

/// Classifies the uncommitted changes of the session, for each intent as a whole.
fn judged(
    ground: &TraceContext<'_>,
    open: &UncommittedLines,
    last: Option<Digest>,
    traces: &mut Vec<ChangeRecord>,
) -> Option<JudgedChange> {
    let session = &ground.input.session;
    let is_own = |author: &LineAuthor| author.session.as_ref() == Some(session);
    let mine: Vec<(&str, &sprag_trace::uncommitted::Pending)> = open
        .files_in(ground.place())
        .filter(|(_, pending)| pending.writers.iter().any(|writer| is_own(&writer.author)))
        .take(FILES)
        .collect();
    if mine.is_empty() {
        return None;
    }
    let sums = mine.iter().map(|(path, pending)| format!("{path}\0{:?}", pending.after));
    let head = ground.head.as_ref().map(Text::to_string).unwrap_or_default();
    let intent = format!("{:?}", ground.session.intent);
    let digest = Digest::hash_parts([head, intent].into_iter().chain(sums));
    if last == Some(digest) {
        return None;
    }
    let changes = whole(ground, &mine)?;
    let mut by_author: BTreeMap<LineAuthor, Vec<TracedFile>> = BTreeMap::new();
    for (change, (_, pending)) in changes.iter().zip(&mine) {
        let FileChange { path, before, after } = change;
        let changed = author::AuthoredFile { path, from: None, before, after, pending };
        for (author, mut file) in parts(&ground.store, &changed) {
            // A change found just now has no record id yet.
            file.supersedes.retain(|id| !id.is_empty());
            if is_own(&author) && author.contributor.kind == ContributorKind::Ai {
                by_author.entry(author).or_default().push(file);
            }
        }
    }
    let mut current = None;
    for (author, files) in by_author {
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let part: Vec<FileChange> = changes
            .iter()
            .filter(|change| paths.contains(&change.path.as_str()))
            .map(FileChange::copy)
            .collect();
        let verdict =
            classify::whole(&sides(&part), ground.around(SearchTree::Worktree).as_ref(), ground.policy());
        let served = author.intent.as_ref().map(|served| &served.id);
        if served == ground.session.intent.as_ref().map(|chosen| &chosen.id) {
            current = Some(verdict.clone());
        }
        let stage = Finality::Provisional { base: ground.head.clone() };
        let judged = commit::of_author(ground, author, files, stage, ChangeSource::Stop, verdict);
        traces.push(ChangeRecord::Judged(judged));
    }
    let verdict = current.unwrap_or_else(|| sprag_trace::RecordedClassification::unproven("bad_input"));
    Some(JudgedChange { digest, verdict })
}

/// Returns the committed and the current state of these files. `None`: git failed.
fn whole(
    ground: &TraceContext<'_>,
    files: &[(&str, &sprag_trace::uncommitted::Pending)],
) -> Option<Vec<FileChange>> {
    let before: Vec<Option<Vec<u8>>> = match (&ground.world.places.worktree, &ground.head) {
        (Some(worktree), Some(head)) => {
            let names: Vec<String> = files.iter().map(|(path, _)| format!("{head}:{path}")).collect();
            blobs::blobs(worktree, &names)?
        }
        _ => vec![None; files.len()],
    };
    let mut changes = Vec::new();
    for ((path, _), bytes) in files.iter().zip(before) {
        let after = FileContent::read(&ground.file(path)).unwrap_or(FileContent::Absent);
        let before = bytes.map_or(FileContent::Absent, FileContent::of_bytes);
        changes.push(FileChange { path: (*path).to_owned(), before, after });
    }
    let size = |change: &FileChange| {
        let length = |state: &FileContent| state.bytes().map_or(0, <[u8]>::len);
        length(&change.before) + length(&change.after)
    };
    (changes.iter().map(size).sum::<usize>() <= BYTES).then_some(changes)
}
