//! The merge queue. Each entry becomes a candidate on top of the candidate before it, and is checked as exactly the
//! commit that would land. Only the first candidate lands, and only on the trunk that it was made for.

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;

use super::merged_commit::MergedCommit;
use crate::ids::{CommitId, StageId};
use crate::merge::merge_failure::MergeFailure;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MergeQueue {
    trunk: CommitId,
    /// Number of candidates that are made before the first has landed.
    depth: usize,
    next: u64,
    entries: Vec<QueueEntry>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueEntry {
    pub number: u64,
    pub whose: QueueOwner,
    pub verified: Verified,
    /// Number of effects that were begun for it.
    pub tries: u32,
    candidate: Option<MergeCandidate>,
    /// The commit that it conflicts with. That commit may be gone when its turn comes.
    refused: Option<CommitId>,
    /// Its checks failed behind candidates whose checks passed: it leaves the row and is checked alone.
    alone: Option<IsolatedEntry>,
}

/// Owner of the work in an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueOwner {
    Stage(StageId),
    /// Another author, who put commits on the target.
    Target,
}

impl QueueOwner {
    pub fn stage(&self) -> Option<&StageId> {
        match self {
            QueueOwner::Stage(stage) => Some(stage),
            QueueOwner::Target => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct MergeCandidate {
    on: CommitId,
    commit: CommitId,
    tree: CommitId,
    checks: CandidateChecks,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CandidateChecks {
    Wanted,
    /// Checks failed once; only a second failure counts.
    Doubted,
    Green,
    Red {
        report: Text<4000>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct IsolatedEntry {
    on: CommitId,
    /// The entry before it, together with which its checks failed.
    with: QueueOwner,
    candidate: Option<MergeCandidate>,
}

/// Reason of a failure that occurs only behind commits of others on the target.
const WITH_TARGET: &str = "checks pass alone and fail together with commits of others on the target";

/// Step that the queue needs next. Each step is idempotent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueWant {
    /// Merge the head into a commit.
    Make { number: u64, on: CommitId, head: CommitId },
    /// Run all checks on exactly this commit.
    Check { number: u64, commit: CommitId, tree: CommitId },
    /// Move the trunk from one commit to the other if it has not moved meanwhile.
    Land { number: u64, from: CommitId, to: CommitId },
}

/// Reason why an entry left the queue.
#[derive(Clone, Debug, PartialEq)]
pub enum QueueExit {
    Landed { whose: QueueOwner, merged: MergedCommit },
    Conflicted { whose: QueueOwner, against: CommitId, paths: Vec<Text<400>> },
    Red { whose: QueueOwner, cause: MergeFailure },
}

/// Result of the checks of a candidate.
#[derive(Clone, Debug, PartialEq)]
pub enum CandidateResult {
    Green,
    Red { report: Text<4000> },
}

impl MergeQueue {
    pub fn new(trunk: CommitId, depth: usize) -> MergeQueue {
        MergeQueue { trunk, depth: depth.max(1), next: 1, entries: Vec::new() }
    }

    pub fn trunk(&self) -> &CommitId {
        &self.trunk
    }

    pub fn entries(&self) -> &[QueueEntry] {
        &self.entries
    }

    /// Adds an entry and returns its number.
    pub fn offer(&mut self, whose: QueueOwner, verified: Verified) -> u64 {
        let number = self.next;
        self.next += 1;
        let (candidate, refused, alone) = (None, None, None);
        self.entries.push(QueueEntry { number, whose, verified, tries: 0, candidate, refused, alone });
        number
    }

    /// Returns all steps that can be done now.
    pub fn wants(&self) -> Vec<QueueWant> {
        let mut wants: Vec<QueueWant> = self.entries.iter().filter_map(QueueEntry::wants_alone).collect();
        let mut on = &self.trunk;
        let row = self.entries.iter().filter(|entry| entry.alone.is_none());
        for (place, entry) in row.take(self.depth).enumerate() {
            // On the trunk itself the entry is tried again: nothing is left to wait for.
            if place > 0 && entry.refused.as_ref() == Some(on) {
                break;
            }
            let Some(candidate) = entry.candidate.as_ref().filter(|candidate| candidate.on == *on) else {
                wants.push(entry.make(on));
                break;
            };
            match &candidate.checks {
                CandidateChecks::Wanted | CandidateChecks::Doubted => {
                    wants.push(candidate.check(entry.number))
                }
                CandidateChecks::Green if place == 0 => wants.push(QueueWant::Land {
                    number: entry.number,
                    from: on.clone(),
                    to: candidate.commit.clone(),
                }),
                CandidateChecks::Green => {}
                // The owner of the failure is known once the candidates before it have results.
                CandidateChecks::Red { .. } => break,
            }
            on = &candidate.commit;
        }
        wants
    }

    /// Records the candidate that was made for an entry.
    pub fn made(&mut self, number: u64, on: &CommitId, commit: CommitId, tree: CommitId) {
        let Some(place) = self.place(number) else { return };
        let entry = &mut self.entries[place];
        let candidate =
            Some(MergeCandidate { on: on.clone(), commit, tree, checks: CandidateChecks::Wanted });
        match &mut entry.alone {
            Some(alone) if alone.on == *on => alone.candidate = candidate,
            Some(_) => {}
            None => entry.candidate = candidate,
        }
    }

    /// Records that an entry does not merge. Behind candidates that have not landed it waits for their
    /// results.
    pub fn conflicted(&mut self, number: u64, on: &CommitId, paths: Vec<Text<400>>) -> Vec<QueueExit> {
        let Some(place) = self.place(number) else { return Vec::new() };
        if *on != self.trunk && self.entries[place].alone.is_none() {
            self.entries[place].refused = Some(on.clone());
            return Vec::new();
        }
        let whose = self.entries.remove(place).whose;
        let mut left = vec![QueueExit::Conflicted { whose, against: on.clone(), paths }];
        left.extend(self.settle());
        left
    }

    /// Records the result of the checks of a commit. A result for another commit than the candidate of the
    /// entry is ignored.
    pub fn checked(&mut self, number: u64, commit: &CommitId, checked: CandidateResult) -> Vec<QueueExit> {
        let Some(place) = self.place(number) else { return Vec::new() };
        let entry = &mut self.entries[place];
        let candidate = match &mut entry.alone {
            Some(alone) => alone.candidate.as_mut(),
            None => entry.candidate.as_mut(),
        };
        if let Some(candidate) = candidate.filter(|candidate| candidate.commit == *commit) {
            candidate.checks = match (checked, &candidate.checks) {
                (CandidateResult::Green, _) => CandidateChecks::Green,
                (CandidateResult::Red { .. }, CandidateChecks::Wanted) => CandidateChecks::Doubted,
                (CandidateResult::Red { report }, _) => CandidateChecks::Red { report },
            };
        }
        self.settle()
    }

    /// Records that the trunk was moved to the candidate of an entry.
    pub fn landed(&mut self, number: u64, commit: &CommitId) -> Vec<QueueExit> {
        let Some(place) = self.place(number) else { return Vec::new() };
        let is_tested = |candidate: &&MergeCandidate| {
            candidate.on == self.trunk
                && candidate.commit == *commit
                && candidate.checks == CandidateChecks::Green
        };
        let Some(candidate) = self.entries[place].candidate.clone().filter(|candidate| is_tested(&candidate))
        else {
            return Vec::new();
        };
        let whose = self.entries.remove(place).whose;
        self.trunk = candidate.commit.clone();
        let merged = MergedCommit::landed(candidate.commit, candidate.tree);
        let mut left = vec![QueueExit::Landed { whose, merged }];
        left.extend(self.settle());
        left
    }

    /// Discards the results of checks after the checks changed, except for a candidate that is landing.
    pub fn check_anew(&mut self, landing: Option<u64>) {
        for entry in self.entries.iter_mut().filter(|entry| Some(entry.number) != landing) {
            entry.alone = None;
            entry.candidate.iter_mut().for_each(|candidate| candidate.checks = CandidateChecks::Wanted);
        }
    }

    pub fn count_try(&mut self, number: u64) {
        self.entries.iter_mut().filter(|entry| entry.number == number).for_each(|entry| entry.tries += 1);
    }

    pub fn withdraw(&mut self, whose: &QueueOwner) {
        self.entries.retain(|entry| entry.whose != *whose);
    }

    pub fn find(&self, number: u64) -> Option<&QueueEntry> {
        self.entries.iter().find(|entry| entry.number == number)
    }

    /// Returns an entry after all entries whose candidates it is built on and that have not landed.
    pub fn chain(&self, number: u64) -> impl Iterator<Item = &QueueEntry> {
        let is_alone = self.find(number).is_some_and(|entry| entry.alone.is_some());
        let is_before =
            move |entry: &&QueueEntry| entry.number < number && entry.alone.is_none() && !is_alone;
        self.entries.iter().filter(move |entry| entry.number == number || is_before(entry))
    }

    fn place(&self, number: u64) -> Option<usize> {
        self.entries.iter().position(|entry| entry.number == number)
    }

    /// Removes the entries whose failure is certain by now.
    fn settle(&mut self) -> Vec<QueueExit> {
        let mut left = Vec::new();
        while let Some((place, cause)) = self
            .entries
            .iter()
            .enumerate()
            .find_map(|(place, entry)| Some((place, entry.alone.as_ref()?.cause()?)))
        {
            let whose = self.entries.remove(place).whose;
            left.push(QueueExit::Red { whose, cause });
        }
        let mut on = self.trunk.clone();
        let mut before: Option<QueueOwner> = None;
        for place in 0..self.entries.len() {
            let entry = &mut self.entries[place];
            if entry.alone.is_some() {
                continue;
            }
            let Some(candidate) = entry.candidate.as_ref().filter(|candidate| candidate.on == on) else {
                break;
            };
            match (&candidate.checks, before) {
                (CandidateChecks::Green, _) => {
                    on = candidate.commit.clone();
                    before = Some(entry.whose.clone());
                }
                (CandidateChecks::Red { .. }, Some(with)) => {
                    entry.alone = Some(IsolatedEntry { on: self.trunk.clone(), with, candidate: None });
                    break;
                }
                (CandidateChecks::Red { report }, None) => {
                    let cause = MergeFailure::Red { report: report.clone() };
                    left.push(QueueExit::Red { whose: entry.whose.clone(), cause });
                    self.entries.remove(place);
                    break;
                }
                (CandidateChecks::Wanted | CandidateChecks::Doubted, _) => break,
            }
        }
        left
    }
}

impl QueueEntry {
    fn make(&self, on: &CommitId) -> QueueWant {
        QueueWant::Make { number: self.number, on: on.clone(), head: self.verified.head.clone() }
    }

    fn wants_alone(&self) -> Option<QueueWant> {
        let alone = self.alone.as_ref()?;
        Some(match &alone.candidate {
            None => self.make(&alone.on),
            Some(candidate) => candidate.check(self.number),
        })
    }
}

impl MergeCandidate {
    fn check(&self, number: u64) -> QueueWant {
        QueueWant::Check { number, commit: self.commit.clone(), tree: self.tree.clone() }
    }
}

impl IsolatedEntry {
    fn cause(&self) -> Option<MergeFailure> {
        match &self.candidate.as_ref()?.checks {
            CandidateChecks::Green => Some(match &self.with {
                QueueOwner::Stage(stage) => MergeFailure::Pair { with: stage.clone() },
                QueueOwner::Target => MergeFailure::Red { report: Text::new(WITH_TARGET) },
            }),
            CandidateChecks::Red { report } => Some(MergeFailure::Red { report: report.clone() }),
            CandidateChecks::Wanted | CandidateChecks::Doubted => None,
        }
    }
}

/// Work that passed its checks as exactly this tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    pub attempt: u32,
    pub head: CommitId,
    pub tree: CommitId,
    pub base: CommitId,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Facts that the queue does not know: which stages fail, and which do not merge with each other.
    #[derive(Clone, Debug, Default)]
    struct Truth {
        red: Vec<usize>,
        pairs: Vec<(usize, usize)>,
        conflicts: Vec<(usize, usize)>,
    }

    fn commit(name: &str) -> CommitId {
        CommitId(Text::new(name))
    }

    /// The name of a commit lists its contents: `t.3.1`.
    fn has(commit: &CommitId, stage: usize) -> bool {
        commit.0.as_str().split('.').any(|part| part == stage.to_string())
    }

    impl Truth {
        fn is_green(&self, commit: &CommitId) -> bool {
            !self.red.iter().any(|stage| has(commit, *stage))
                && !self.pairs.iter().any(|(a, b)| has(commit, *a) && has(commit, *b))
        }

        fn merges(&self, on: &CommitId, stage: usize) -> bool {
            let other =
                |&(a, b): &(usize, usize)| if a == stage { Some(b) } else { (b == stage).then_some(a) };
            !self.conflicts.iter().filter_map(other).any(|other| has(on, other))
        }
    }

    fn verified(stage: usize) -> Verified {
        let (head, base) = (commit(&stage.to_string()), commit("t"));
        Verified { attempt: 1, tree: head.clone(), head, base }
    }

    fn stage_of(whose: &QueueOwner) -> usize {
        whose.stage().unwrap().as_str().parse().unwrap()
    }

    /// Does the steps of the queue in any order until none is left.
    fn play(truth: &Truth, count: usize, depth: usize, choices: &[usize], flaky: usize) -> Vec<QueueExit> {
        let mut queue = MergeQueue::new(commit("t"), depth);
        (0..count).for_each(|stage| {
            queue.offer(QueueOwner::Stage(StageId::new(&stage.to_string())), verified(stage));
        });
        let (mut left, mut green) = (Vec::new(), Vec::new());
        for turn in 0.. {
            assert!(turn < 2000, "the queue ends: {queue:?}");
            let wants = queue.wants();
            if wants.is_empty() {
                break;
            }
            match wants[choices[turn % choices.len()] % wants.len()].clone() {
                QueueWant::Make { number, on, head } => {
                    let stage: usize = head.0.as_str().parse().unwrap();
                    if truth.merges(&on, stage) {
                        let made = commit(&[on.0.as_str(), &stage.to_string()].join("."));
                        queue.made(number, &on, made.clone(), made);
                    } else {
                        left.extend(queue.conflicted(number, &on, Vec::new()));
                    }
                }
                QueueWant::Check { number, commit, .. } => {
                    // A random failure, sometimes, but never twice in a row.
                    let is_flake =
                        flaky > 0 && turn % 7 == flaky && !green.contains(&(commit.clone(), false));
                    let is_green = truth.is_green(&commit) && !is_flake;
                    green.push((commit.clone(), is_green));
                    let checked = if is_green {
                        CandidateResult::Green
                    } else {
                        CandidateResult::Red { report: Text::new("red") }
                    };
                    left.extend(queue.checked(number, &commit, checked));
                }
                QueueWant::Land { number, from, to } => {
                    assert_eq!(&from, queue.trunk());
                    assert!(green.contains(&(to.clone(), true)), "exactly `{to:?}` was tested");
                    left.extend(queue.landed(number, &to));
                    assert!(truth.is_green(queue.trunk()));
                }
            }
        }
        assert!(queue.entries().is_empty(), "no entry waits for ever: {queue:?}");
        left
    }

    proptest! {
        #[test]
        fn only_what_was_tested_lands_and_everybody_leaves_with_a_reason(
            count in 1usize..7,
            depth in 1usize..5,
            red in proptest::collection::vec(0usize..7, 0..3),
            pairs in proptest::collection::vec((0usize..7, 0usize..7), 0..3),
            conflicts in proptest::collection::vec((0usize..7, 0usize..7), 0..3),
            choices in proptest::collection::vec(0usize..5, 1..20),
            flaky in 0usize..7,
        ) {
            let apart = |pairs: Vec<(usize, usize)>| pairs.into_iter().filter(|(a, b)| a != b).collect::<Vec<_>>();
            let truth = Truth { red, pairs: apart(pairs), conflicts: apart(conflicts) };
            let left = play(&truth, count, depth, &choices, flaky);
            prop_assert_eq!(left.len(), count);
            for left in &left {
                match left {
                    QueueExit::Landed { whose: stage, .. } => prop_assert!(!truth.red.contains(&stage_of(stage))),
                    QueueExit::Conflicted { whose: stage, .. } => {
                        let stage = stage_of(stage);
                        prop_assert!(truth.conflicts.iter().any(|(a, b)| *a == stage || *b == stage));
                    }
                    QueueExit::Red { whose: stage, cause } => {
                        let stage = stage_of(stage);
                        let is_in_pair = truth.pairs.iter().any(|(a, b)| *a == stage || *b == stage);
                        prop_assert!(truth.red.contains(&stage) || is_in_pair);
                        let is_told_as_pair = matches!(cause, MergeFailure::Pair { .. });
                        prop_assert!(!is_told_as_pair || !truth.red.contains(&stage));
                    }
                }
            }
        }
    }

    #[test]
    fn a_chain_is_all_that_a_candidate_is_built_upon() {
        let mut queue = MergeQueue::new(commit("t"), 3);
        let stage = |number: usize| QueueOwner::Stage(StageId::new(&number.to_string()));
        let first = queue.offer(stage(0), verified(0));
        let target = queue.offer(QueueOwner::Target, verified(1));
        let last = queue.offer(stage(2), verified(2));
        let chain =
            |queue: &MergeQueue, number| queue.chain(number).map(|entry| entry.number).collect::<Vec<_>>();
        assert_eq!(chain(&queue, last), [first, target, last]);
        assert_eq!(chain(&queue, first), [first]);
        queue.withdraw(&QueueOwner::Target);
        assert_eq!(chain(&queue, last), [first, last]);
    }

    #[test]
    fn who_is_red_only_behind_what_others_brought_is_told_so() {
        let mut queue = MergeQueue::new(commit("t"), 3);
        let target = queue.offer(QueueOwner::Target, verified(9));
        queue.made(target, &commit("t"), commit("t.9"), commit("t.9"));
        assert!(queue.checked(target, &commit("t.9"), CandidateResult::Green).is_empty());
        let stage = queue.offer(QueueOwner::Stage(StageId::new("0")), verified(0));
        queue.made(stage, &commit("t.9"), commit("t.9.0"), commit("t.9.0"));
        let red = || CandidateResult::Red { report: Text::new("red") };
        for _ in 0..2 {
            assert!(queue.checked(stage, &commit("t.9.0"), red()).is_empty());
        }
        queue.made(stage, &commit("t"), commit("t.0"), commit("t.0"));
        let left = queue.checked(stage, &commit("t.0"), CandidateResult::Green);
        let cause = MergeFailure::Red { report: Text::new(WITH_TARGET) };
        assert_eq!(left, [QueueExit::Red { whose: QueueOwner::Stage(StageId::new("0")), cause }]);
    }
}
