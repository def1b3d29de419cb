//! Assigns new lines between two states of a file to their authors, from the records of writes.

use std::collections::BTreeMap;

use sprag_trace::blocks::{self, LineHunk};
use sprag_trace::uncommitted::{LineAuthor, Pending};
use sprag_trace::{FileForm, LineRange, TracedFile};

use super::file_state::FileContent;
use super::{classify, file_cache};
use crate::store::Store;

/// A file of a change, with its pending writes.
pub(crate) struct AuthoredFile<'a> {
    pub path: &'a str,
    pub from: Option<&'a str>,
    pub before: &'a FileContent,
    pub after: &'a FileContent,
    pub pending: &'a Pending,
}

/// Returns the part of each author. Lines without a known author belong to no part.
pub(crate) fn parts(store: &Store, changed: &AuthoredFile<'_>) -> BTreeMap<LineAuthor, TracedFile> {
    let AuthoredFile { path, from, before, after, pending } = changed;
    let file = |author: &LineAuthor| TracedFile {
        path: (*path).to_owned(),
        from: from.map(str::to_owned),
        before: before.sum(),
        after: after.sum(),
        supersedes: pending.records_of(author).cloned().collect(),
        ..TracedFile::default()
    };
    let mut parts: BTreeMap<LineAuthor, TracedFile> = BTreeMap::new();
    if before.sum() == after.sum() {
        return parts;
    }
    let (Some(old), Some(new)) = (lines_of(before), lines_of(after)) else {
        // A file without lines belongs to its last writer.
        let last = pending.writers.last().filter(|_| pending.after == after.sum());
        if let (Some(writer), Some((whole, _))) = (last, super::file_state::change(path, before, after)) {
            let part = TracedFile {
                ranges: whole.ranges,
                deleted: whole.deleted,
                form: whole.form,
                ..file(&writer.author)
            };
            parts.insert(writer.author.clone(), part);
        }
        return parts;
    };
    let (old, new) = (blocks::lines(old), blocks::lines(new));
    let Some(owners) = owners(store, after, pending, &new) else {
        return parts;
    };
    for hunk in blocks::diff(&old, &new) {
        let mut here: Vec<&LineAuthor> = Vec::new();
        for (author, span) in runs(&owners, &hunk) {
            let part = parts.entry(author.clone()).or_insert_with(|| file(author));
            part.ranges.extend(blocks::block(&new, span));
            if !here.contains(&author) {
                here.push(author);
            }
        }
        // Removed lines belong to the author who wrote in their place, or to the only author.
        let remover = match here[..] {
            [author] => Some(author),
            [] => pending.only_author(),
            _ => None,
        };
        if let (Some(author), Some(block)) = (remover, blocks::block(&old, hunk.old.clone())) {
            parts.entry(author.clone()).or_insert_with(|| file(author)).deleted.push(block);
        }
    }
    for part in parts.values_mut() {
        cap(&mut part.ranges);
        cap(&mut part.deleted);
        if let Some(text) = after.text() {
            classify::name_units(part, text);
        }
        part.form = FileForm::Text;
    }
    parts
}

fn cap(ranges: &mut Vec<LineRange>) {
    ranges.truncate(sprag_trace::RANGES);
}

fn lines_of(state: &FileContent) -> Option<&[u8]> {
    if *state == FileContent::Absent { Some(b"") } else { state.text() }
}

/// Returns the author of each new line. `None`: this state is unknown.
fn owners<'a>(
    store: &Store,
    after: &FileContent,
    pending: &'a Pending,
    new: &[&[u8]],
) -> Option<Vec<Option<&'a LineAuthor>>> {
    let author = |line: usize| pending.owner(line).map(|writer| &writer.author);
    if pending.after == after.sum() {
        return Some((0..new.len()).map(author).collect());
    }
    // The state may be a part of a known one, or changed by a filter. Equal lines keep their author.
    let seen = file_cache::kept(store, pending.after.as_ref()?)?;
    let seen_lines: Vec<&[u8]> = blocks::lines(seen.text()?).into_iter().map(trimmed).collect();
    let new: Vec<&[u8]> = new.iter().copied().map(trimmed).collect();
    let mut owners = vec![None; new.len()];
    let (mut at, mut to) = (0, 0);
    let end = LineHunk { old: seen_lines.len()..seen_lines.len(), new: new.len()..new.len() };
    for hunk in blocks::diff(&seen_lines, &new).into_iter().chain([end]) {
        for (line, owner) in (at..hunk.old.start).zip(&mut owners[to..hunk.new.start]) {
            *owner = author(line);
        }
        (at, to) = (hunk.old.end, hunk.new.end);
    }
    Some(owners)
}

/// Returns a line without its line ending, which git may change.
fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns runs of neighbouring lines of one author.
fn runs<'a>(
    owners: &[Option<&'a LineAuthor>],
    hunk: &LineHunk,
) -> Vec<(&'a LineAuthor, std::ops::Range<usize>)> {
    let mut runs: Vec<(&LineAuthor, std::ops::Range<usize>)> = Vec::new();
    for line in hunk.new.clone() {
        let Some(author) = owners.get(line).copied().flatten() else {
            continue;
        };
        match runs.last_mut() {
            Some((last, span)) if *last == author && span.end == line => span.end += 1,
            _ => runs.push((author, line..line + 1)),
        }
    }
    runs
}
