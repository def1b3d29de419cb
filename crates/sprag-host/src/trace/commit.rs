//! Traces commits: finds their lines among the recorded ones. The content identifies the lines, so the
//! committer does not matter. A commit without recorded lines gets no record.

use std::collections::{BTreeMap, BTreeSet};

use sprag_base::text::Text;
use sprag_trace::finding::TraceFindings;
use sprag_trace::uncommitted::{LineAuthor, Pending, UncommittedLines};
use sprag_trace::{
    ChangeRecord, ChangeSource, FILES, FileForm, Finality, RecordedClassification, TraceRecord, TracedFile,
};

use super::author::{self, parts};
use super::context::TraceContext;
use super::file_state::{FileContent, TEXT_BYTES};
use super::{classify, open};
use crate::git::blobs::{self, Blob, Committed};
use crate::git::name_search::SearchTree;

/// Most commits that are read, newest first.
const COMMITS: usize = 100;
/// Most different base commits of uncommitted lines.
const BASES: usize = 4;

/// Traces commits after a command. `None`: HEAD has not moved.
pub(crate) fn after_call(ground: &TraceContext<'_>, since: Option<&Text<64>>) -> Option<TraceFindings> {
    has_moved(ground, since).then(|| anew(ground))
}

/// Traces all commits that may contain recorded lines.
pub(crate) fn anew(ground: &TraceContext<'_>) -> TraceFindings {
    let traces = settled(ground, &open(&ground.store));
    TraceFindings {
        traces: traces.into_iter().map(ChangeRecord::Final).collect(),
        head: ground.head.clone(),
        judged: None,
    }
}

/// Reports whether HEAD moved since the last check.
pub(crate) fn has_moved(ground: &TraceContext<'_>, since: Option<&Text<64>>) -> bool {
    let last = since.or(ground.session.head.as_ref());
    ground.head.is_some() && last != ground.head.as_ref()
}

/// Returns the records of commits that contain uncommitted lines.
pub(crate) fn settled(ground: &TraceContext<'_>, open: &UncommittedLines) -> Vec<TraceRecord> {
    let Some(head) = &ground.head else {
        return Vec::new();
    };
    let is_committed = |pending: &Pending| pending.base.as_ref() != Some(head);
    let waiting: BTreeMap<&str, &Pending> =
        open.files_in(ground.place()).filter(|(_, pending)| is_committed(pending)).collect();
    let bases: BTreeSet<Option<&Text<64>>> = waiting.values().map(|pending| pending.base.as_ref()).collect();
    let mut traces = Vec::new();
    for base in bases.into_iter().take(BASES) {
        let places = &ground.world.places;
        let commits = blobs::commits(places, base.map(Text::as_str), head.as_str(), COMMITS);
        let on_base = |path: &str| waiting.get(path).copied().filter(|it| it.base.as_ref() == base);
        for commit in commits.unwrap_or_default() {
            // The first commit of a shallow clone only seems to add everything.
            let is_edge = commit.parents.is_empty()
                && places.common.as_ref().is_some_and(|common| common.join("shallow").exists());
            if !is_edge {
                traces.extend(of_commit(ground, &commit, on_base));
            }
        }
    }
    traces
}

fn of_commit<'a>(
    ground: &TraceContext<'_>,
    commit: &Committed,
    pending: impl Fn(&str) -> Option<&'a Pending>,
) -> Vec<TraceRecord> {
    let known = |changed: &blobs::ChangedBlob| {
        let paths = [changed.to.as_ref(), changed.from.as_ref()];
        let found = paths.into_iter().flatten().find_map(|blob| pending(&blob.path));
        found.filter(|pending| !pending.commits.iter().any(|done| done.as_str() == commit.name))
    };
    let ours = commit.files.iter().filter(|changed| known(changed).is_some()).count();
    if ours == 0 {
        return Vec::new();
    }
    // The whole commit is classified together. Of a too large commit only recorded files are read.
    let is_whole = commit.files.len() <= FILES;
    let looked: Vec<&blobs::ChangedBlob> =
        commit.files.iter().filter(|changed| is_whole || known(changed).is_some()).take(FILES).collect();
    let Some(states) = states(ground, &looked) else {
        return Vec::new();
    };
    let mut by_author: BTreeMap<LineAuthor, Vec<TracedFile>> = BTreeMap::new();
    for (changed, (before, after)) in looked.iter().zip(&states) {
        let (Some(pending), Some(path)) = (known(changed), path_of(changed)) else {
            continue;
        };
        let from = changed.from.as_ref().map(|blob| blob.path.as_str()).filter(|from| *from != path);
        let changed = author::AuthoredFile { path, from, before, after, pending };
        for (author, file) in parts(&ground.store, &changed) {
            by_author.entry(author).or_default().push(file);
        }
    }
    if by_author.is_empty() {
        return Vec::new();
    }
    let verdict = if is_whole {
        judged(ground, &commit.name, &looked, &states)
    } else {
        RecordedClassification::unproven("too_large")
    };
    let stage = Finality::Final {
        revision: Text::from(commit.name.as_str()),
        base: commit.parents.first().map(|parent| Text::from(parent.as_str())),
    };
    by_author
        .into_iter()
        .map(|(author, files)| {
            of_author(ground, author, files, stage.clone(), ChangeSource::Commit, verdict.clone())
        })
        .collect()
}

/// Returns the record of one author's part.
pub(crate) fn of_author(
    ground: &TraceContext<'_>,
    author: LineAuthor,
    files: Vec<TracedFile>,
    stage: Finality,
    source: ChangeSource,
    verdict: RecordedClassification,
) -> TraceRecord {
    TraceRecord {
        stage,
        source,
        place: ground.place.clone(),
        session: author.session,
        intent: author.intent,
        declared: author.declared.map(Into::into),
        contributor: author.contributor,
        verdict,
        files,
        is_cut: false,
        prev: None,
    }
}

fn path_of(changed: &blobs::ChangedBlob) -> Option<&str> {
    changed.to.as_ref().or(changed.from.as_ref()).map(|blob| blob.path.as_str())
}

/// Returns both sides of these files.
fn states(
    ground: &TraceContext<'_>,
    files: &[&blobs::ChangedBlob],
) -> Option<Vec<(FileContent, FileContent)>> {
    let worktree = ground.world.places.worktree.as_ref()?;
    let sides: Vec<Option<&Blob>> =
        files.iter().flat_map(|changed| [changed.from.as_ref(), changed.to.as_ref()]).collect();
    let names: Vec<String> = sides.iter().flatten().map(|blob| blob.name.clone()).collect();
    let mut found = blobs::blobs(worktree, &names)?.into_iter();
    let mut state = |blob: &Option<&Blob>| {
        let Some(blob) = blob else {
            return FileContent::Absent;
        };
        let bytes = found.next().flatten().unwrap_or_default();
        match FileContent::of_bytes(bytes) {
            FileContent::Here { sum, bytes, .. } if blob.is_link => {
                FileContent::Here { form: FileForm::Link, sum, bytes }
            }
            FileContent::Here { sum, bytes, .. } if bytes.len() as u64 > TEXT_BYTES => {
                FileContent::Here { form: FileForm::Large, sum, bytes: Vec::new() }
            }
            state => state,
        }
    };
    Some(sides.chunks_exact(2).map(|pair| (state(&pair[0]), state(&pair[1]))).collect())
}

fn judged(
    ground: &TraceContext<'_>,
    revision: &str,
    files: &[&blobs::ChangedBlob],
    states: &[(FileContent, FileContent)],
) -> RecordedClassification {
    let path = |blob: &'_ Option<Blob>| blob.as_ref().map(|blob| blob.path.clone());
    let paths: Vec<(Option<String>, Option<String>)> =
        files.iter().map(|changed| (path(&changed.from), path(&changed.to))).collect();
    let has_bytes = |state: &FileContent| *state == FileContent::Absent || state.bytes().is_some();
    if !states.iter().all(|(before, after)| has_bytes(before) && has_bytes(after)) {
        return RecordedClassification::unproven("binary");
    }
    let sides: Vec<classify::FileSides<'_>> = paths
        .iter()
        .zip(states)
        .map(|((from, to), (before, after))| classify::FileSides {
            path_before: from.as_deref(),
            path_after: to.as_deref(),
            before: before.bytes(),
            after: after.bytes(),
        })
        .collect();
    classify::whole(&sides, ground.around(SearchTree::Of(revision)).as_ref(), ground.policy())
}

/// Both sides of a commit's files, to check a proof again: paths and bytes in git's order.
pub(super) type CommitSides = Vec<(Option<String>, Option<String>, Option<Vec<u8>>, Option<Vec<u8>>)>;

/// Returns the changes of a commit as they were classified.
pub(crate) fn sides_of(
    places: &crate::sys::locations::Locations,
    base: Option<&str>,
    revision: &str,
) -> Option<CommitSides> {
    let commits = blobs::commits(places, base, revision, 1)?;
    let commit = commits.into_iter().next().filter(|commit| commit.name == revision)?;
    let worktree = places.worktree.as_ref()?;
    let all: Vec<Option<&Blob>> =
        commit.files.iter().flat_map(|changed| [changed.from.as_ref(), changed.to.as_ref()]).collect();
    let names: Vec<String> = all.iter().flatten().map(|blob| blob.name.clone()).collect();
    let mut found = blobs::blobs(worktree, &names)?.into_iter();
    let mut bytes = |blob: &Option<&Blob>| blob.and_then(|_| found.next().flatten());
    let path = |blob: &Option<&Blob>| blob.map(|blob| blob.path.clone());
    Some(
        all.chunks_exact(2)
            .map(|pair| {
                let (before, after) = (bytes(&pair[0]), bytes(&pair[1]));
                (path(&pair[0]), path(&pair[1]), before, after)
            })
            .collect(),
    )
}
