//! Finds who wrote a line. Blame names a commit, and a record names the intent. If no record names that
//! commit, Sprag follows the line to a certain origin. The steps go from certain to less certain, and each
//! one handles only lines that the earlier ones left open.

mod follow_line;
mod history;
mod known_records;
mod origins;
pub mod renew;
pub mod rewrite_map;

use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use sprag_base::digest::Digest;
use sprag_base::sha256::Sha256Sum;
use sprag_syntax::Lang;
use sprag_trace::anchor::block_search::windows;
use sprag_trace::anchor::distinctive::{LETTERS, bare, is_telling, letters};
use sprag_trace::anchor::index::{Anchors, LEAST, LineClaim, LineWriter};
use sprag_trace::anchor::{LostReason, MatchMethod, units};
use sprag_trace::blocks;

use crate::sys::locations::Locations;
use history::History;
pub use history::{FILE_BYTES, UNCOMMITTED, is_uncommitted};
pub use known_records::KnownRecords;
use origins::LostHistory;

/// Longest time for blame.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Most commits that a line is followed through.
const DEPTH: usize = 12;

/// Origin of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineOrigin {
    Named { anchor: usize, how: MatchMethod },
    Lost(LostReason),
}

impl LineOrigin {
    fn anchor(self) -> Option<usize> {
        match self {
            LineOrigin::Named { anchor, .. } => Some(anchor),
            LineOrigin::Lost(_) => None,
        }
    }
}

/// A line of a file with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlamedLine {
    /// Commit from blame; all zeros if the line is uncommitted.
    pub commit: String,
    pub found: LineOrigin,
}

pub struct BlameTracer<'a> {
    history: History<'a>,
    known: &'a KnownRecords,
    /// Name of the worktree in records of uncommitted work.
    place: String,
    side: Option<LostHistory>,
    added: HashMap<(String, String), Rc<Vec<LineOrigin>>>,
    depth: usize,
}

impl<'a> BlameTracer<'a> {
    pub fn new(places: &'a Locations, known: &'a KnownRecords, patience: Duration) -> BlameTracer<'a> {
        let history = History::new(places, Instant::now() + patience);
        let place = place_name(places);
        BlameTracer { history, known, place, side: None, added: HashMap::new(), depth: 0 }
    }

    /// Traces the lines of a file in the worktree.
    pub fn file(&mut self, path: &str) -> Vec<BlamedLine> {
        let Some(text) = self.history.text(UNCOMMITTED, path) else { return Vec::new() };
        let lines = blocks::lines(&text);
        let mut found = self.written(UNCOMMITTED, path, lines.len());
        self.by_bytes(&lines, &mut found);
        self.by_units(path, &text, &lines, &mut found);
        self.doubt_braces(&lines, &mut found);
        if self.history.ran_out {
            let lost = found.iter_mut().filter(|it| **it == LineOrigin::Lost(LostReason::Unrecorded));
            lost.for_each(|it| *it = LineOrigin::Lost(LostReason::Unsearched));
        }
        let blamed = self.history.blame(UNCOMMITTED, path);
        let commit = |at: usize| blamed.as_ref().and_then(|all| all.get(at)).map(|it| it.commit.clone());
        let commit = |at: usize| commit(at).unwrap_or_else(|| UNCOMMITTED.to_owned());
        found.iter().enumerate().map(|(at, &found)| BlamedLine { commit: commit(at), found }).collect()
    }

    /// Returns the origin of each line of a file in a commit.
    fn written(&mut self, commit: &str, path: &str, count: usize) -> Vec<LineOrigin> {
        let Some(blamed) = self.history.blame(commit, path) else {
            // A file unknown to git counts as uncommitted.
            return if is_uncommitted(commit) {
                self.added(UNCOMMITTED, path).to_vec()
            } else {
                vec![LineOrigin::Lost(LostReason::Unrecorded); count]
            };
        };
        let mut found: Vec<LineOrigin> = blamed
            .iter()
            .map(|it| self.added(&it.commit, &it.path).get(it.line).copied())
            .map(|it| it.unwrap_or(LineOrigin::Lost(LostReason::Unrecorded)))
            .collect();
        found.resize(count, LineOrigin::Lost(LostReason::Unrecorded));
        found
    }

    /// Returns the origin of each line that a commit added to a file. Earlier lines are lost here.
    fn added(&mut self, commit: &str, path: &str) -> Rc<Vec<LineOrigin>> {
        let key = (commit.to_owned(), path.to_owned());
        if let Some(known) = self.added.get(&key) {
            return Rc::clone(known);
        }
        let Some(text) = self.history.text(commit, path) else { return Rc::default() };
        let lines = blocks::lines(&text);
        let lost = Rc::new(vec![LineOrigin::Lost(LostReason::Unrecorded); lines.len()]);
        // A recursive request for this entry finds it and stops.
        self.added.insert(key.clone(), lost);
        let open: Vec<bool> = match self.history.blame(commit, path) {
            Some(blamed) => {
                (0..lines.len()).map(|at| blamed.get(at).is_some_and(|it| it.commit == commit)).collect()
            }
            None => vec![is_uncommitted(commit); lines.len()],
        };
        let mut page = CommitLines {
            commit,
            path,
            bare: lines.iter().map(|line| bare(line)).collect(),
            found: vec![LineOrigin::Lost(LostReason::Unrecorded); lines.len()],
            lines,
            open,
            rivals: None,
        };
        self.by_record(&mut page, &text);
        if self.depth < DEPTH {
            self.depth += 1;
            self.follow(&mut page);
            self.depth -= 1;
        }
        let found = Rc::new(page.found);
        self.added.insert(key, Rc::clone(&found));
        found
    }

    /// Names lines by records of this commit, or of uncommitted work if there is no commit yet.
    fn by_record(&self, page: &mut CommitLines<'_>, text: &[u8]) {
        let anchors = &self.known.anchors;
        for (at, said) in anchors.lines_at(page.commit, page.path, &page.lines).into_iter().enumerate() {
            match said {
                LineClaim::Nothing => {}
                LineClaim::By(anchor) => page.name(at, anchor, MatchMethod::Blame),
                LineClaim::Disputed { .. } => page.give_up(at),
            }
        }
        if !is_uncommitted(page.commit) {
            return;
        }
        let Some(pending) = self.known.open.get(&self.place, page.path) else { return };
        if pending.after != Some(Sha256Sum::hash_bytes(text)) {
            return;
        }
        for owned in &pending.owned {
            let record = pending.writers.get(owned.by).map(|it| it.record.as_str()).unwrap_or_default();
            let Some(anchor) = anchors.of_record(record, page.path) else { continue };
            (owned.start..owned.end).for_each(|at| page.name(at, anchor, MatchMethod::Blame));
        }
    }

    /// Names blocks with the same bytes as a recorded block, at any place.
    fn by_bytes(&self, lines: &[&[u8]], found: &mut [LineOrigin]) {
        let open: Vec<bool> =
            found.iter().map(|it| *it == LineOrigin::Lost(LostReason::Unrecorded)).collect();
        if !open.contains(&true) {
            return;
        }
        let Some(rivals) = rivals(&self.known.anchors, lines, &open) else {
            let lost = found.iter_mut().filter(|it| **it == LineOrigin::Lost(LostReason::Unrecorded));
            lost.for_each(|it| *it = LineOrigin::Lost(LostReason::Unsearched));
            return;
        };
        for (at, anchors) in rivals.iter().enumerate().filter(|(at, _)| open[*at]) {
            found[at] = match (anchors.is_empty(), self.known.anchors.agreed(anchors)) {
                (true, _) => continue,
                (false, Some(anchor)) => LineOrigin::Named { anchor, how: MatchMethod::RangeHash },
                (false, None) => LineOrigin::Lost(LostReason::Ambiguous),
            };
        }
    }

    /// Names functions and types that a record wrote as a whole.
    fn by_units(&self, path: &str, text: &[u8], lines: &[&[u8]], found: &mut [LineOrigin]) {
        let anchors = &self.known.anchors;
        let is_open = |found: &LineOrigin| *found == LineOrigin::Lost(LostReason::Unrecorded);
        if anchors.units.is_empty() || !found.iter().any(is_open) {
            return;
        }
        let Some(lang) = Lang::of_path(path) else { return };
        for unit in sprag_syntax::units(lang, text) {
            let span = *unit.lines.start() as usize - 1..(*unit.lines.end() as usize).min(lines.len());
            let Some(anchor) = units::anchor(anchors, &unit.hash, &lines[span.clone()]) else { continue };
            for at in span.filter(|&at| units::is_code(lines[at])) {
                if is_open(&found[at]) {
                    found[at] = LineOrigin::Named { anchor, how: MatchMethod::UnitHash };
                }
            }
        }
    }

    /// Checks common lines, such as braces: such a line keeps its writer only if a neighbouring line has the
    /// same one. A diff cannot tell which of several equal lines is new.
    fn doubt_braces(&self, lines: &[&[u8]], found: &mut [LineOrigin]) {
        let tells: Vec<bool> =
            lines.iter().map(|line| is_telling(line) && letters(line) >= LETTERS).collect();
        let scan = |order: &mut dyn Iterator<Item = usize>| -> Vec<Option<usize>> {
            let mut last = None;
            order
                .map(|at| {
                    last = if tells[at] { Some(at) } else { last };
                    last
                })
                .collect()
        };
        let above = scan(&mut (0..lines.len()));
        let mut below = scan(&mut (0..lines.len()).rev());
        below.reverse();
        for at in (0..lines.len()).filter(|&at| !tells[at]) {
            let Some(own) = self.writer(found[at]) else { continue };
            let mut beside = [above[at], below[at]].into_iter().flatten();
            if !beside.any(|it| self.writer(found[it]).as_ref() == Some(&own)) {
                found[at] = LineOrigin::Lost(LostReason::Ambiguous);
            }
        }
    }

    fn writer(&self, found: LineOrigin) -> Option<LineWriter<'a>> {
        found.anchor().map(|anchor| self.known.anchors.writer(anchor))
    }
}

/// Lines of one file that one commit added, with their origins so far.
struct CommitLines<'p> {
    commit: &'p str,
    path: &'p str,
    /// Lines with their line feeds.
    lines: Vec<&'p [u8]>,
    bare: Vec<&'p [u8]>,
    open: Vec<bool>,
    found: Vec<LineOrigin>,
    /// All anchors with equal bytes, computed on first use.
    rivals: Option<Option<Vec<Vec<usize>>>>,
}

impl CommitLines<'_> {
    fn is_done(&self) -> bool {
        !self.open.contains(&true)
    }

    fn name(&mut self, at: usize, anchor: usize, how: MatchMethod) {
        if self.open.get(at) == Some(&true) {
            self.open[at] = false;
            self.found[at] = LineOrigin::Named { anchor, how };
        }
    }

    fn give_up(&mut self, at: usize) {
        if self.open.get(at) == Some(&true) {
            self.open[at] = false;
            self.found[at] = LineOrigin::Lost(LostReason::Ambiguous);
        }
    }

    /// Names a line from its text alone. Gives up if another writer has a block with the same bytes.
    fn name_unrivalled(&mut self, anchors: &Anchors, at: usize, anchor: usize, how: MatchMethod) {
        if self.open.get(at) != Some(&true) {
            return;
        }
        let rivals = self.rivals.get_or_insert_with(|| rivals(anchors, &self.lines, &self.open));
        let agrees = |rival: &usize| anchors.writer(*rival) == anchors.writer(anchor);
        match rivals.as_ref().map(|rivals| rivals[at].iter().all(agrees)) {
            Some(true) => self.name(at, anchor, how),
            Some(false) => self.give_up(at),
            None => {}
        }
    }
}

/// Returns the name of a worktree in records of uncommitted work. The main worktree has none.
fn place_name(places: &Locations) -> String {
    let is_linked = places.git_dir != places.common;
    let linked = places.worktree.as_ref().filter(|_| is_linked);
    linked.map(|root| Digest::hash_parts([root.as_os_str().as_encoded_bytes()]).short()).unwrap_or_default()
}

/// Returns all anchors whose block contains each line.
fn rivals(anchors: &Anchors, lines: &[&[u8]], open: &[bool]) -> Option<Vec<Vec<usize>>> {
    let mut rivals = vec![Vec::new(); lines.len()];
    for window in windows(lines, open, &anchors.wanted(), LEAST)? {
        for rival in &mut rivals[window.start..window.start + window.len] {
            rival.extend(&window.owners);
        }
    }
    Some(rivals)
}
