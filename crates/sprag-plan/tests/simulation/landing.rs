//! Measures the gain of testing candidates ahead of time, in rounds of merge checks. Merging and moving a
//! reference take almost no time.

use std::collections::{BTreeMap, BTreeSet};

use sprag_base::text::Text;
use sprag_plan::ids::{CommitId, StageId};
use sprag_plan::merge::queue::{CandidateResult, MergeQueue, QueueExit, QueueOwner, QueueWant, Verified};

use super::chance::Chance;

/// Result of a row of stages in the queue.
#[derive(Debug, Default, PartialEq)]
struct Passed {
    /// Rounds of merge checks: those of one round run at the same time.
    rounds: u32,
    /// All merge checks that were run.
    gates: u32,
    landed: BTreeSet<usize>,
    /// Stages that were sent back, with the number of rounds.
    red: Vec<(usize, u32)>,
}

fn commit(name: &str) -> CommitId {
    CommitId(Text::new(name))
}

/// Merges all stages at the same time; a commit fails if it contains one of the `red` stages.
fn pass(count: usize, depth: usize, red: &BTreeSet<usize>) -> Passed {
    let mut queue = MergeQueue::new(commit("t"), depth);
    for stage in 0..count {
        let head = commit(&stage.to_string());
        let verified = Verified { attempt: 1, tree: head.clone(), head, base: commit("t") };
        queue.offer(QueueOwner::Stage(StageId::new(&stage.to_string())), verified);
    }
    let mut contents = BTreeMap::from([(commit("t"), BTreeSet::new())]);
    let mut passed = Passed::default();
    loop {
        let wants = queue.wants();
        let mut is_quick = false;
        for want in &wants {
            match want {
                QueueWant::Make { number, on, head } => {
                    is_quick = true;
                    let mut has: BTreeSet<usize> = contents[on].clone();
                    has.insert(head.0.as_str().parse().unwrap());
                    let made = commit(&format!("c{}", contents.len()));
                    contents.insert(made.clone(), has);
                    queue.made(*number, on, made.clone(), made);
                }
                QueueWant::Land { number, to, .. } => {
                    is_quick = true;
                    passed.take(queue.landed(*number, to));
                }
                QueueWant::Check { .. } => {}
            }
        }
        if is_quick {
            continue;
        }
        if wants.is_empty() {
            return passed;
        }
        passed.rounds += 1;
        for want in wants {
            let QueueWant::Check { number, commit, .. } = want else { continue };
            passed.gates += 1;
            let checked = if contents[&commit].is_disjoint(red) {
                CandidateResult::Green
            } else {
                CandidateResult::Red { report: Text::new("red") }
            };
            passed.take(queue.checked(number, &commit, checked));
        }
    }
}

impl Passed {
    fn take(&mut self, left: Vec<QueueExit>) {
        let number = |whose: &QueueOwner| whose.stage().unwrap().as_str().parse::<usize>().unwrap();
        for left in left {
            match left {
                QueueExit::Landed { whose, .. } => {
                    self.landed.insert(number(&whose));
                }
                QueueExit::Red { whose, .. } => self.red.push((number(&whose), self.rounds)),
                QueueExit::Conflicted { .. } => panic!("nothing conflicts here"),
            }
        }
    }
}

/// One stage in ten fails. The depth of the row limits the gain: with depth three it is less than three
/// times as fast.
#[test]
fn a_row_with_reds_lands_sooner_the_deeper_it_is_tested() {
    let mut chance = Chance::new(11);
    let red: BTreeSet<usize> = (0..400).filter(|_| chance.once_in(10)).collect();
    assert!((30..50).contains(&red.len()), "{}", red.len());
    let serial = pass(400, 1, &red);
    for (depth, sooner, gates) in [(2, 1.7, 1.15), (3, 2.4, 1.25), (5, 3.3, 1.5)] {
        let deep = pass(400, depth, &red);
        assert_eq!(deep.landed, serial.landed, "stages that pass land at any depth");
        assert_eq!(deep.red.len(), red.len(), "stages that fail do not land");
        let times = f64::from(serial.rounds) / f64::from(deep.rounds);
        assert!(times >= sooner, "{depth} deep: {times:.2} times as fast");
        let more = f64::from(deep.gates) / f64::from(serial.gates);
        assert!(more <= gates, "{depth} deep: {more:.2} times as many gates");
    }
}

#[test]
fn who_is_to_blame_is_known_after_no_more_gates_than_halving_would_take() {
    for count in 1..=16usize {
        for culprit in 0..count {
            let passed = pass(count, count, &BTreeSet::from([culprit]));
            let [(blamed, rounds)] = passed.red[..] else { panic!("{passed:?}") };
            assert_eq!((blamed, passed.landed.len()), (culprit, count - 1), "{passed:?}");
            let halving = count.next_power_of_two().ilog2() + 1;
            // A failed check runs a second time, because it may fail at random.
            assert!(rounds <= halving.max(2), "{count}, {culprit}: {passed:?}");
        }
    }
}
