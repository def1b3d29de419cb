//! Follows lines of a commit without records to their origin.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use sprag_base::sha256::Sha256Sum;
use sprag_trace::anchor::block_search::windows;
use sprag_trace::anchor::commit_diff::FileDiff;
use sprag_trace::anchor::distinctive::{self, LETTERS, bare, is_telling, letters};
use sprag_trace::anchor::index::{LEAST, LineClaim};
use sprag_trace::anchor::matched_lines::{Carried, LineTie, MatchedLines, carry, runs};
use sprag_trace::anchor::{LostReason, MatchMethod, reformat};
use sprag_trace::{Finality, blocks};

use super::origins::{Kinship, LineSource, LostHistory};
use super::{BlameTracer, CommitLines, LineOrigin, is_uncommitted};

/// Most deleted lines of a commit in which moved lines are searched.
const DELETED: usize = 50_000;
/// Most files of another commit in which lines are searched.
const FILES: usize = 40;

/// A line of another file: its path and number.
type LineRef = (Rc<str>, usize);

impl BlameTracer<'_> {
    /// Runs all steps, the most certain first.
    pub(super) fn follow(&mut self, page: &mut CommitLines<'_>) {
        let steps: [fn(&mut Self, &mut CommitLines<'_>); 6] = [
            BlameTracer::by_copies,
            BlameTracer::by_revert,
            BlameTracer::by_whole_file,
            BlameTracer::by_pending,
            BlameTracer::by_move,
            BlameTracer::by_layout,
        ];
        for step in steps {
            if page.is_done() || self.known.anchors.all.is_empty() {
                return;
            }
            step(self, page);
        }
    }

    /// Names lines if the commit is a copy of another, or of several together.
    fn by_copies(&mut self, page: &mut CommitLines<'_>) {
        let told = self.known.told.sources_of(page.commit);
        let mut side = match self.side.take() {
            Some(side) => side,
            None => LostHistory::find(&mut self.history, &self.known.anchors),
        };
        let origins = side.origins(&mut self.history, &self.known.anchors, &told, page.commit);
        self.side = Some(side);
        for origin in origins.iter().filter(|it| it.kinship <= Kinship::Squash) {
            self.by_twin(page, origin);
        }
        self.by_kin(page, &origins, Kinship::Kin);
        self.by_kin(page, &origins, Kinship::Stranger);
    }

    /// Names lines by position: both commits have the same hunks in the same order.
    fn by_twin(&mut self, page: &mut CommitLines<'_>, origin: &LineSource) {
        let there = match origin.kinship {
            Kinship::Squash => self.side.as_ref().and_then(|side| side.work_of(&origin.commit)),
            Kinship::Twin | Kinship::Kin | Kinship::Stranger => self.history.changes(&origin.commit),
        };
        let here = self.history.changes(page.commit);
        let (Some(here), Some(there)) = (here, there) else { return };
        let of = |files: &'_ [FileDiff]| files.iter().position(|file| file.new.as_deref() == Some(page.path));
        let (Some(here), Some(there)) =
            (of(&here).map(|at| here[at].clone()), of(&there).map(|at| there[at].clone()))
        else {
            return;
        };
        let Some(text) = self.history.text(&origin.commit, page.path) else { return };
        let found = self.written(&origin.commit, page.path, blocks::lines(&text).len());
        for (hunk, twin) in here.hunks.iter().zip(&there.hunks) {
            for on in 0..hunk.added.len().min(twin.added.len()) {
                let (at, to) = (hunk.new_start + on - 1, twin.new_start + on - 1);
                if let Some(anchor) = found.get(to).and_then(|it| it.anchor()) {
                    page.name(at, anchor, MatchMethod::Rewritten);
                }
            }
        }
    }

    /// Names lines by equal runs. Collects all sources of a kind before it decides.
    fn by_kin(&mut self, page: &mut CommitLines<'_>, origins: &[LineSource], kinship: Kinship) {
        let (least, tie) = match kinship {
            Kinship::Twin | Kinship::Squash | Kinship::Kin => (1, LineTie::Longest),
            Kinship::Stranger => (LEAST, LineTie::Agree),
        };
        let mut pool = LinePool::default();
        for origin in origins.iter().filter(|it| is_heard(it.kinship, kinship)) {
            for path in self.paths_for(page, &origin.commit) {
                let Some(text) = self.history.text(&origin.commit, &path) else { continue };
                let lines = blocks::lines(&text);
                let found = self.written(&origin.commit, &path, lines.len());
                let blamed = self.history.blame(&origin.commit, &path);
                // Only lines written on that side count: both sides share earlier lines without being copies.
                let is_of_side = |at: usize| {
                    let commit = blamed.as_ref().and_then(|all| all.get(at)).map(|it| it.commit.as_str());
                    let side = self.side.as_ref();
                    commit.is_some_and(|it| it == origin.commit || side.is_some_and(|side| side.has(it)))
                };
                let usable: Vec<bool> = (0..lines.len()).map(is_of_side).collect();
                let old: Vec<&[u8]> = lines.iter().map(|line| bare(line)).collect();
                let mut runs = runs(&page.bare, &page.open, &old, &usable);
                runs.retain(|run| run.telling >= LEAST || is_own(run, &page.bare, &old));
                pool.add(runs, &found);
            }
        }
        pool.runs.retain(|run| run.telling >= least);
        let anchors = &self.known.anchors;
        let carried = carry(&pool.runs, page.lines.len(), tie, |to| self.writer(pool.found[to]));
        for (at, carried) in carried.into_iter().enumerate() {
            match carried {
                Carried::Nowhere => {}
                Carried::Unclear => page.give_up(at),
                Carried::To(to, _) => {
                    if let Some(anchor) = pool.found[to].anchor() {
                        page.name_unrivalled(anchors, at, anchor, MatchMethod::Rewritten);
                    }
                }
            }
        }
    }

    /// Returns files of another commit that may hold these lines: the file of the same name, and files that
    /// records name.
    fn paths_for(&self, page: &CommitLines<'_>, commit: &str) -> Vec<String> {
        let anchors = &self.known.anchors;
        let mut paths = vec![page.path.to_owned()];
        let side = self.side.iter().flat_map(|side| side.line_before(commit));
        let of_side: Vec<&str> = side.flat_map(|it| anchors.paths_at(it)).collect();
        let own = anchors.paths_at(commit);
        let mut seen: HashSet<&str> = HashSet::from([page.path]);
        paths.extend(own.chain(of_side).filter(|path| seen.insert(path)).take(FILES).map(str::to_owned));
        paths
    }

    /// Names lines if the whole file equals a recorded state, even if its commit is gone.
    fn by_whole_file(&mut self, page: &mut CommitLines<'_>) {
        let anchors = &self.known.anchors;
        let mut said: HashMap<usize, Vec<usize>> = HashMap::new();
        for (revision, path) in anchors.with_after(Sha256Sum::hash_bytes(&page.lines.concat())) {
            for (at, it) in anchors.lines_at(revision, path, &page.lines).into_iter().enumerate() {
                if let LineClaim::By(anchor) = it {
                    said.entry(at).or_default().push(anchor);
                }
            }
        }
        let count = page.bare.iter().filter(|line| is_telling(line)).count();
        if count < LEAST {
            return;
        }
        for (at, all) in said {
            match anchors.agreed(&all) {
                Some(anchor) => page.name(at, anchor, MatchMethod::Rewritten),
                None => page.give_up(at),
            }
        }
    }

    /// Names blocks by records that are linked to this commit without naming it. These are records of commits
    /// that it replaced, and records of uncommitted work on its parent.
    fn by_pending(&mut self, page: &mut CommitLines<'_>) {
        let anchors = &self.known.anchors;
        let told = self.known.told.sources_of(page.commit);
        let parent = self.history.parent(page.commit);
        let wanted = anchors.wanted_of(|anchor| match &anchors.sources[anchor.source].trace.stage {
            Finality::Final { revision, .. } => told.iter().any(|it| it == revision.as_str()),
            Finality::Provisional { base } => {
                let base = base.as_ref().map(|it| it.as_str());
                anchor.path == page.path && base == parent.as_deref()
            }
        });
        let Some(found) = windows(&page.lines, &page.open, &wanted, 1) else { return };
        let mut count: HashMap<usize, usize> = HashMap::new();
        found.iter().flat_map(|it| &it.owners).for_each(|owner| *count.entry(*owner).or_default() += 1);
        let mut said: Vec<Vec<usize>> = vec![Vec::new(); page.lines.len()];
        for window in &found {
            let within = &page.bare[window.start..window.start + window.len];
            let is_enough = distinctive::count(within) >= LEAST || within.iter().any(|line| is_long(line));
            let is_open =
                is_enough && page.open[window.start..window.start + window.len].iter().all(|it| *it);
            // A block that occurs twice has no clear source.
            let owners = window.owners.iter().filter(|owner| is_open && count[*owner] == 1);
            let owners: Vec<usize> = owners.copied().collect();
            (window.start..window.start + window.len).for_each(|at| said[at].extend(&owners));
        }
        for (at, all) in said.iter().enumerate().filter(|(_, all)| !all.is_empty()) {
            match anchors.agreed(all) {
                Some(anchor) => page.name_unrivalled(anchors, at, anchor, MatchMethod::RangeHash),
                None => page.give_up(at),
            }
        }
    }

    /// Names lines if the commit reverts another one and restores lines that it deleted.
    fn by_revert(&mut self, page: &mut CommitLines<'_>) {
        if is_uncommitted(page.commit) {
            return;
        }
        let message = self.history.message(page.commit).unwrap_or_default();
        let named = message.split("This reverts commit ").skip(1);
        let named: Vec<String> =
            named.map(|rest| rest.chars().take_while(char::is_ascii_hexdigit).collect()).take(20).collect();
        for reverted in named {
            self.by_deletion(page, &reverted, MatchMethod::Reverted, |run, _| run.telling >= 1);
        }
    }

    /// Names lines that the commit deleted elsewhere.
    fn by_move(&mut self, page: &mut CommitLines<'_>) {
        let (commit, own) = (page.commit.to_owned(), page.path.to_owned());
        self.by_deletion(page, &commit, MatchMethod::Moved, |run, path| {
            let least = if path == own || run.telling >= 2 { 20 } else { 40 };
            run.telling >= 1 && run.letters >= least
        });
    }

    fn by_deletion(
        &mut self,
        page: &mut CommitLines<'_>,
        deleter: &str,
        how: MatchMethod,
        is_enough: impl Fn(&MatchedLines, &str) -> bool,
    ) {
        let Some(changes) = self.history.changes(deleter) else { return };
        let Some(parent) = self.history.parent(deleter) else { return };
        let wanted: HashSet<&[u8]> = (0..page.bare.len())
            .filter(|&at| page.open[at] && is_telling(page.bare[at]))
            .map(|at| page.bare[at])
            .collect();
        let gone = Gone::from_diffs(&changes, &wanted);
        if gone.lines.is_empty() || gone.lines.len() > DELETED {
            return;
        }
        let found = self.found_at(&parent, &gone.spots);
        let mut runs = runs(&page.bare, &page.open, &gone.lines, &gone.usable);
        runs.retain(|run| gone.spots[run.old].as_ref().is_some_and(|(path, _)| is_enough(run, path)));
        let anchors = &self.known.anchors;
        let carried = carry(&runs, page.lines.len(), LineTie::Agree, |to| self.writer(found[to]));
        for (at, carried) in carried.into_iter().enumerate() {
            match carried {
                Carried::Nowhere => {}
                Carried::Unclear => page.give_up(at),
                Carried::To(to, _) => {
                    if let Some(anchor) = found[to].anchor() {
                        page.name_unrivalled(anchors, at, anchor, how);
                    }
                }
            }
        }
    }

    fn found_at(&mut self, commit: &str, spots: &[Option<LineRef>]) -> Vec<LineOrigin> {
        let mut files: HashMap<Rc<str>, Vec<LineOrigin>> = HashMap::new();
        let lost = LineOrigin::Lost(LostReason::Unrecorded);
        let mut found = Vec::with_capacity(spots.len());
        for spot in spots {
            let Some((path, line)) = spot else {
                found.push(lost);
                continue;
            };
            if !files.contains_key(path) {
                let count = self.history.text(commit, path).map_or(0, |text| blocks::lines(&text).len());
                files.insert(Rc::clone(path), self.written(commit, path, count));
            }
            found.push(files[path].get(*line).copied().unwrap_or(lost));
        }
        found
    }

    /// Names lines that the commit only wrapped or indented differently.
    fn by_layout(&mut self, page: &mut CommitLines<'_>) {
        let (Some(changes), Some(parent)) =
            (self.history.changes(page.commit), self.history.parent(page.commit))
        else {
            return;
        };
        let anchors = &self.known.anchors;
        for file in changes.iter().filter(|file| file.new.as_deref() == Some(page.path)) {
            let Some(old) = &file.old else { continue };
            let Some(text) = self.history.text(&parent, old) else { continue };
            let found = self.written(&parent, old, blocks::lines(&text).len());
            for hunk in file.hunks.iter().filter(|hunk| !hunk.removed.is_empty()) {
                let removed: Vec<&[u8]> = hunk.removed.iter().map(Vec::as_slice).collect();
                let added: Vec<&[u8]> = hunk.added.iter().map(Vec::as_slice).collect();
                for (on, made) in reformat::made_of(&removed, &added).into_iter().enumerate() {
                    let from = made.iter().map(|at| found.get(hunk.old_start - 1 + at).copied());
                    let named: Option<Vec<usize>> = from.map(|it| it.and_then(LineOrigin::anchor)).collect();
                    let Some(named) = named.filter(|named| !named.is_empty()) else { continue };
                    if let Some(anchor) = anchors.agreed(&named) {
                        page.name_unrivalled(
                            anchors,
                            hunk.new_start - 1 + on,
                            anchor,
                            MatchMethod::Reformatted,
                        );
                    }
                }
            }
        }
    }
}

/// Reports whether a source counts in this turn. Closer sources than kin count as kin.
fn is_heard(origin: Kinship, turn: Kinship) -> bool {
    match turn {
        Kinship::Stranger => origin == Kinship::Stranger,
        Kinship::Twin | Kinship::Squash | Kinship::Kin => origin <= Kinship::Kin,
    }
}

/// Reports whether a single line is unlikely to be written twice.
fn is_long(line: &[u8]) -> bool {
    is_telling(line) && letters(line) >= LETTERS
}

/// Reports whether a run has a long line that occurs once in both texts.
fn is_own(run: &MatchedLines, here: &[&[u8]], there: &[&[u8]]) -> bool {
    let count = |lines: &[&[u8]], line: &[u8]| lines.iter().filter(|it| **it == line).count();
    here[run.new..run.new + run.len]
        .iter()
        .filter(|line| is_long(line))
        .any(|line| count(here, line) == 1 && count(there, line) == 1)
}

/// Runs over several texts as one.
#[derive(Default)]
struct LinePool {
    runs: Vec<MatchedLines>,
    found: Vec<LineOrigin>,
}

impl LinePool {
    fn add(&mut self, runs: Vec<MatchedLines>, found: &[LineOrigin]) {
        let from = self.found.len();
        self.runs.extend(runs.into_iter().map(|run| MatchedLines { old: run.old + from, ..run }));
        self.found.extend(found);
    }
}

/// Lines that a commit deleted, with an empty separator after each hunk.
#[derive(Default)]
struct Gone<'a> {
    lines: Vec<&'a [u8]>,
    usable: Vec<bool>,
    spots: Vec<Option<LineRef>>,
}

impl<'a> Gone<'a> {
    fn from_diffs(changes: &'a [FileDiff], wanted: &HashSet<&[u8]>) -> Gone<'a> {
        let mut gone = Gone::default();
        for file in changes {
            let Some(path) = &file.old else { continue };
            let path: Rc<str> = Rc::from(path.as_str());
            for hunk in &file.hunks {
                if !hunk.removed.iter().any(|line| wanted.contains(bare(line))) {
                    continue;
                }
                for (on, line) in hunk.removed.iter().enumerate() {
                    gone.lines.push(bare(line));
                    gone.usable.push(true);
                    gone.spots.push(Some((Rc::clone(&path), hunk.old_start - 1 + on)));
                }
                gone.lines.push(b"");
                gone.usable.push(false);
                gone.spots.push(None);
            }
        }
        gone
    }
}
