//! Conflict markers in changed files.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::{fs, io};

use memchr::memmem;

use sprag_base::digest::Digest;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_govern::facts::{ConflictMarker, SharedFacts};
use sprag_govern::gates::integrity::{Answer, Conflicts, Question};
use sprag_govern::obligation::{Duty, OpenDebt};
use sprag_govern::session_facts::SessionFacts;

use crate::answers::AnswerCx;
use crate::git;
use crate::sys::disk::open_regular;
use crate::sys::exec::read_capped;
use crate::sys::locations::Locations;

/// Limits on the search for markers. They bound the work and not the time, so that a verdict does not depend
/// on the load.
const FILES: usize = 2000;
const FILE_BYTES: u64 = 2 * 1024 * 1024;
/// Tolerance for the coarse clock of file times.
const SLACK_MILLIS: i64 = 10;

pub(super) fn answer(_question: &Question, cx: &AnswerCx<'_>, shared: &SharedFacts) -> Answer {
    let world = cx.session_world();
    let (Some(worktree), Some(started)) = (&world.places.worktree, cx.session.started) else {
        // Outside git there are no conflicts.
        return Answer { conflicts: Conflicts::Found(Vec::new()), unresolved: None };
    };
    let known = shared.changes.as_ref().filter(|_| cx.session.start.is_some());
    let paths = match known {
        Some(changes) => Some(changes.paths.clone()),
        // Without a recorded start, use the present changes that git reports.
        None => changed_somehow(&world.places, cx.session),
    };
    let settings = &world.config.settings.govern.gates.integrity;
    Answer {
        conflicts: match paths {
            Some(paths) => {
                conflicts(worktree, started, paths.into_iter().filter(|path| !settings.ignores(path)))
            }
            None => Conflicts::Unknown,
        },
        unresolved: shared.debts.as_deref().map(|debts| unresolved(worktree, debts)),
    }
}

/// Returns files of commits made since the session started. A committed marker is still a marker.
fn committed_since(places: &Locations, head: Option<&str>) -> Vec<String> {
    let (Some(worktree), Some(head)) = (&places.worktree, head) else {
        return Vec::new();
    };
    if places.head().as_deref() == Some(head) {
        return Vec::new();
    }
    git::paths_since(worktree, head).unwrap_or_default()
}

fn changed_somehow(places: &Locations, session: &SessionFacts) -> Option<Vec<String>> {
    let mut paths = git::changed_paths(places.worktree.as_ref()?)?;
    paths.extend(committed_since(places, session.head.as_ref().map(Text::as_str)));
    paths.sort();
    paths.dedup();
    Some(paths)
}

fn conflicts(worktree: &Path, started: Timestamp, paths: impl Iterator<Item = String>) -> Conflicts {
    let mut since = paths.filter(|path| changed_since(&worktree.join(path), started));
    let found: Vec<ConflictMarker> =
        since.by_ref().take(FILES).filter_map(|path| conflict(worktree, path)).collect();
    if found.is_empty() && since.next().is_some() {
        return Conflicts::TooMany { limit: FILES };
    }
    Conflicts::Found(found)
}

fn conflict(worktree: &Path, path: String) -> Option<ConflictMarker> {
    let text = read(&worktree.join(&path)).ok()?;
    let (line, hunk) = find_markers(&text)?;
    Some(ConflictMarker { path: Text::new(path), line, digest: Digest::hash_parts([hunk]) })
}

/// Reports whether the file changed since the session started. The session does not answer for older work of
/// the user.
fn changed_since(path: &Path, started: Timestamp) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else {
        return false;
    };
    // The change time also covers a moved file and a file with an old modification time.
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

/// Finds the first complete conflict and returns its line and its text. All three marks must start a line, in
/// this order: a single mark may be a heading or a quotation.
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
