//! Finds out what the gates asked for, and nothing else.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use memchr::memmem;
use sprag_core::fact::{Conflict, Facts, Needs};
use sprag_core::obligation::{Debts, Duty, OpenDebt};
use sprag_core::session::Session;
use sprag_core::text::Text;
use sprag_core::time::Timestamp;

use crate::exec::read_capped;
use crate::git;
use crate::places::Places;
use crate::projections;
use crate::store::Store;

/// Bounds on looking for markers: work, not time, so that a verdict does not depend on the load.
const FILES: usize = 500;
const FILE_BYTES: u64 = 2 * 1024 * 1024;
/// File times come from a clock that ticks coarsely.
const SLACK_MILLIS: i64 = 10;

pub fn gather(needs: Needs, places: &Places, session: &Session) -> Facts {
    let mut facts = Facts { store: vec![places.store.to_string_lossy().into_owned()], ..Facts::default() };
    if needs.has(Needs::DEBTS) {
        let debts = projections::load::<Debts>(&Store::at(&places.store));
        facts.debts = debts.ok().map(|folded| folded.state.open().to_vec());
    }
    if needs.has(Needs::CONFLICTS)
        && let (Some(worktree), Some(started)) = (&places.worktree, session.about.started)
    {
        facts.conflicts = conflicts(worktree, started);
        facts.unresolved = facts.debts.as_deref().map(|debts| unresolved(worktree, debts));
    }
    facts
}

fn conflicts(worktree: &Path, started: Timestamp) -> Option<Vec<Conflict>> {
    let changed = git::changed_paths(worktree)?;
    let since = changed.into_iter().filter(|path| changed_since(&worktree.join(path), started)).take(FILES);
    Some(
        since
            .filter_map(|path| {
                marker_line(&worktree.join(&path)).map(|line| Conflict { path: Text::new(path), line })
            })
            .collect(),
    )
}

/// What the user left unfinished before the session is not the session's to answer for.
fn changed_since(path: &Path, started: Timestamp) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else {
        return false;
    };
    let modified = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let millis = modified.and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or(i64::MAX);
    found.is_file() && millis >= started.millis() - SLACK_MILLIS
}

fn unresolved(worktree: &Path, debts: &[OpenDebt]) -> Vec<Text<200>> {
    let items =
        debts.iter().filter(|open| open.debt.duty == Duty::Integrity).flat_map(|open| &open.debt.items);
    let is_file = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    items
        .filter(|item| {
            let path = worktree.join(item.as_str());
            is_file(&path) && marker_line(&path).is_some()
        })
        .cloned()
        .collect()
}

fn marker_line(path: &Path) -> Option<u32> {
    find_markers(&read(path).ok()?)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_capped(File::open(path)?, FILE_BYTES)
}

/// The line of the first whole conflict: all three marks in their order, each at a line's start.
/// One of them alone is a heading or a quotation.
fn find_markers(text: &[u8]) -> Option<u32> {
    let mut from = 0;
    loop {
        let ours = from + line_starting(&text[from..], b"<<<<<<< ")?;
        let middle = ours + line_starting(&text[ours..], b"=======")?;
        if line_starting(&text[middle..], b">>>>>>> ").is_some() {
            return u32::try_from(memchr::memchr_iter(b'\n', &text[..ours]).count() + 1).ok();
        }
        from = ours + 1;
    }
}

fn line_starting(text: &[u8], mark: &[u8]) -> Option<usize> {
    memmem::find_iter(text, mark).find(|&at| at == 0 || text[at - 1] == b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_is_all_three_marks() {
        assert_eq!(find_markers(b"a\n<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\n"), Some(2));
        assert_eq!(find_markers(b"<<<<<<< a\n=======\n>>>>>>> b"), Some(1));
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
