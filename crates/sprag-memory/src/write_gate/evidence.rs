//! Checks whether the evidence of a learning is unchanged. A block of lines that moved within its file still
//! counts; a changed block does not.

use sprag_base::digest::Digest;
use sprag_base::text::Text;

use crate::learning::Evidence;

/// The state of evidence, from good to bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EvidenceState {
    Fresh,
    /// The same lines at another position in the file.
    Moved,
    Changed,
    Gone,
}

sprag_base::names! {
    pub fn name(EvidenceState):
    Fresh = "fresh", Moved = "moved", Changed = "changed", Gone = "gone"
}

impl EvidenceState {
    /// Reports whether the learning is still supported.
    pub fn holds(self) -> bool {
        matches!(self, EvidenceState::Fresh | EvidenceState::Moved)
    }
}

/// A piece of evidence, as named by a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cited {
    Commit(String),
    /// A file, or some of its lines, counted from 1.
    File {
        path: String,
        lines: Option<(u32, u32)>,
    },
}

impl Cited {
    /// Reads `path`, `path:10`, `path:10-20` or `commit HASH`.
    pub fn read(place: &str) -> Cited {
        if let Some(hash) = place.strip_prefix("commit ") {
            return Cited::Commit(hash.trim().to_owned());
        }
        let whole = || Cited::File { path: place.to_owned(), lines: None };
        let Some((path, lines)) = place.rsplit_once(':') else {
            return whole();
        };
        let (from, to) = lines.split_once('-').unwrap_or((lines, lines));
        let number = |text: &str| text.trim_start_matches('L').parse::<u32>().ok().filter(|&line| line > 0);
        match (number(from), number(to)) {
            (Some(from), Some(to)) if from <= to && !path.is_empty() => {
                Cited::File { path: path.to_owned(), lines: Some((from, to)) }
            }
            _ => whole(),
        }
    }
}

/// Returns the current state of a cited place. `content` is that of the file. `None`: the place does not
/// exist.
pub fn see(place: &str, content: Option<&[u8]>) -> Option<Evidence> {
    let kept = |digest, lines, first| Evidence { place: Text::from(place), digest, lines, first };
    match Cited::read(place) {
        Cited::Commit(hash) => Some(kept(Digest::hash_parts(["commit", &hash]), None, None)),
        Cited::File { lines: None, .. } => Some(kept(Digest::hash_parts([content?]), None, None)),
        Cited::File { lines: Some((from, to)), .. } => {
            let all = lines(content?);
            let block = all.get(from as usize - 1..(to as usize).min(all.len()))?;
            let first = block.first()?;
            Some(kept(digest(block), u32::try_from(block.len()).ok(), Some(Digest::hash_parts([first]))))
        }
    }
}

/// Compares evidence with the current content.
pub fn state(evidence: &Evidence, content: Option<&[u8]>) -> EvidenceState {
    let Cited::File { lines: cited, .. } = Cited::read(evidence.place.as_str()) else {
        // A commit never changes.
        return EvidenceState::Fresh;
    };
    let Some(content) = content else {
        return EvidenceState::Gone;
    };
    let (Some((from, _)), Some(count)) = (cited, evidence.lines) else {
        let is_same = Digest::hash_parts([content]) == evidence.digest;
        return if is_same { EvidenceState::Fresh } else { EvidenceState::Changed };
    };
    let (all, count) = (lines(content), count as usize);
    let is_at = |at: usize| all.get(at..at + count).is_some_and(|block| digest(block) == evidence.digest);
    if is_at(from as usize - 1) {
        return EvidenceState::Fresh;
    }
    // Only positions with the same first line are candidates; the others are not hashed.
    let may_start = |at: &usize| evidence.first.is_none_or(|first| Digest::hash_parts([all[*at]]) == first);
    if (0..all.len()).filter(may_start).take(WINDOWS).any(is_at) {
        EvidenceState::Moved
    } else {
        EvidenceState::Changed
    }
}

/// The limit on positions for a moved block, because a line such as `}` is everywhere.
const WINDOWS: usize = 2000;

/// Returns the worst of all states.
pub fn worst(states: impl IntoIterator<Item = EvidenceState>) -> EvidenceState {
    states.into_iter().max().unwrap_or(EvidenceState::Fresh)
}

fn lines(content: &[u8]) -> Vec<&[u8]> {
    let content = content.strip_suffix(b"\n").unwrap_or(content);
    content.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect()
}

fn digest(block: &[&[u8]]) -> Digest {
    Digest::hash_parts(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &[u8] = b"one\ntwo\nthree\nfour\nfive\n";

    #[test]
    fn places_are_read() {
        let file = |path: &str, lines| Cited::File { path: path.to_owned(), lines };
        for (place, cited) in [
            ("src/a.rs", file("src/a.rs", None)),
            ("src/a.rs:3", file("src/a.rs", Some((3, 3)))),
            ("src/a.rs:3-5", file("src/a.rs", Some((3, 5)))),
            ("src/a.rs:L3-L5", file("src/a.rs", Some((3, 5)))),
            ("src/a.rs:5-3", file("src/a.rs:5-3", None)),
            ("c:\\x", file("c:\\x", None)),
            ("a:0", file("a:0", None)),
            ("commit abc123", Cited::Commit("abc123".to_owned())),
        ] {
            assert_eq!(Cited::read(place), cited, "{place}");
        }
    }

    #[test]
    fn a_block_may_move_and_may_not_change() {
        let seen = see("f:2-3", Some(FILE)).unwrap();
        assert_eq!(state(&seen, Some(FILE)), EvidenceState::Fresh);
        assert_eq!(state(&seen, Some(b"one\r\ntwo\r\nthree\r\n")), EvidenceState::Fresh);
        assert_eq!(state(&seen, Some(b"zero\none\ntwo\nthree\n")), EvidenceState::Moved);
        assert_eq!(state(&seen, Some(b"one\ntwo\n3\n")), EvidenceState::Changed);
        assert_eq!(state(&seen, Some(b"")), EvidenceState::Changed);
        assert_eq!(state(&seen, None), EvidenceState::Gone);
        assert!(see("f:9-12", Some(FILE)).is_none() && see("f", None).is_none());
    }

    #[test]
    fn a_whole_file_is_its_content() {
        let seen = see("f", Some(FILE)).unwrap();
        assert_eq!(state(&seen, Some(FILE)), EvidenceState::Fresh);
        assert_eq!(state(&seen, Some(b"one\n")), EvidenceState::Changed);
        assert_eq!(
            worst([EvidenceState::Fresh, EvidenceState::Changed, EvidenceState::Moved]),
            EvidenceState::Changed
        );
        assert_eq!(worst([]), EvidenceState::Fresh);
    }
}
