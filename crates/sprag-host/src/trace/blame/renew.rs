//! Makes records for commits that replaced recorded ones. Nothing is edited: a new record names the one that
//! it supersedes. Done while the old commits exist, this makes blame independent of them.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use sprag_base::sha256::Sha256Sum;
use sprag_base::text::Text;
use sprag_trace::anchor::MatchMethod;
use sprag_trace::anchor::index::RecordOrigin;
use sprag_trace::{ChangeSource, FILES, Finality, RecordedClassification, TraceRecord, TracedFile, blocks};

use super::{BlameTracer, KnownRecords, LineOrigin};
use crate::git::history::RevisionWalk;
use crate::sys::locations::Locations;
use crate::trace::classify;

/// Most commits that are read, newest first.
const COMMITS: usize = 2_000;
/// Longest time for this work.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// Returns records for commits without records that are copies of lost commits. Calls `step` with the number
/// of finished commits and their total.
pub fn renew(
    places: &Locations,
    known: &KnownRecords,
    patience: Duration,
    mut step: impl FnMut(usize, usize),
) -> Vec<TraceRecord> {
    let mut tracer = BlameTracer::new(places, known, patience);
    let gone = gone(&mut tracer);
    if gone.is_empty() {
        return Vec::new();
    }
    let here = tracer.history.commits(&[], RevisionWalk::Everything, COMMITS);
    let new: Vec<_> = here.iter().filter(|it| !known.anchors.has_revision(&it.name)).collect();
    let mut traces = Vec::new();
    for (at, commit) in new.iter().enumerate() {
        step(at, new.len());
        let base = commit.parents.first().map(|parent| Text::from(parent.as_str()));
        let stage = Finality::Final { revision: Text::from(commit.name.as_str()), base };
        let files = files_of(&mut tracer, &commit.name, &gone);
        for (source, files) in files {
            let old = &known.anchors.sources[source].trace;
            // A proof is valid only for its original files.
            let verdict = match &old.verdict {
                RecordedClassification::Proved { .. } => RecordedClassification::unproven("ambiguous"),
                kept @ (RecordedClassification::Changed { .. } | RecordedClassification::Unproven { .. }) => {
                    kept.clone()
                }
            };
            let is_cut = old.is_cut || files.len() > FILES;
            let files = files.into_iter().take(FILES).collect();
            let source = ChangeSource::Rewrite;
            let stage = stage.clone();
            traces.push(TraceRecord { stage, source, verdict, files, is_cut, prev: None, ..old.clone() });
        }
    }
    traces
}

/// Returns commits of this clone's records that no branch contains, even if they no longer exist.
fn gone(tracer: &mut BlameTracer<'_>) -> HashSet<String> {
    let own = tracer.known.anchors.sources.iter().filter(|it| it.origin == RecordOrigin::Own);
    let own: HashSet<&str> = own.filter_map(|it| it.trace.stage.revision()).collect();
    let own: Vec<&str> = own.into_iter().collect();
    let there = tracer.history.existing(&own);
    let mut gone: HashSet<String> = HashSet::new();
    for part in there.chunks(400) {
        let names: Vec<&str> = part.iter().map(String::as_str).collect();
        let found = tracer.history.commits(&names, RevisionWalk::NotInAny, COMMITS);
        gone.extend(found.iter().filter(|it| own.contains(&it.name.as_str())).map(|it| it.name.clone()));
    }
    let there: HashSet<&str> = there.iter().map(String::as_str).collect();
    gone.extend(own.into_iter().filter(|name| !there.contains(name)).map(str::to_owned));
    gone
}

/// Returns the files of a commit that come from each record of a lost commit.
fn files_of(
    tracer: &mut BlameTracer<'_>,
    commit: &str,
    gone: &HashSet<String>,
) -> BTreeMap<usize, Vec<TracedFile>> {
    let anchors = &tracer.known.anchors;
    let mut all: BTreeMap<usize, Vec<TracedFile>> = BTreeMap::new();
    let changes = tracer.history.changes(commit).unwrap_or_default();
    for path in changes.iter().filter_map(|file| file.new.as_deref()) {
        let Some(text) = tracer.history.text(commit, path) else { continue };
        let lines = blocks::lines(&text);
        let found = tracer.added(commit, path);
        let source = |at: usize| match found.get(at) {
            Some(LineOrigin::Named { anchor, how: MatchMethod::Rewritten }) => {
                let revision = anchors.source(*anchor).trace.stage.revision();
                let is_gone = revision.is_some_and(|revision| gone.contains(revision));
                is_gone.then(|| anchors.all[*anchor].source)
            }
            _ => None,
        };
        let mut at = 0;
        while at < lines.len() {
            let own = source(at);
            let end = (at..lines.len()).find(|&end| source(end) != own).unwrap_or(lines.len());
            if let (Some(own), Some(range)) = (own, blocks::block(&lines, at..end)) {
                let files = all.entry(own).or_default();
                if files.last().is_none_or(|file| file.path != path) {
                    let supersedes = vec![anchors.sources[own].record.clone()];
                    let after = Some(Sha256Sum::hash_bytes(&text));
                    files.push(TracedFile {
                        path: path.to_owned(),
                        after,
                        supersedes,
                        ..TracedFile::default()
                    });
                }
                files.last_mut().expect("one was put there").ranges.push(range);
            }
            at = end;
        }
        for files in all.values_mut() {
            if let Some(file) = files.last_mut().filter(|file| file.path == path) {
                classify::name_units(file, &text);
            }
        }
    }
    all
}
