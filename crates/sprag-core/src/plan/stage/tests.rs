//! All pairs of states and happenings.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::*;

fn work(phase: Phase) -> Work {
    let session = Key(Text::new("r/s/1/1"));
    Work { attempt: 1, session, base: Commit(Text::new("b")), phase, fixes: 0 }
}

fn verified() -> Verified {
    let commit = |name: &str| Commit(Text::new(name));
    Verified { attempt: 1, head: commit("h"), tree: commit("t"), base: commit("b") }
}

fn states() -> Vec<Stage> {
    let conflicted = |resolver| Stage::Conflicted {
        verified: verified(),
        against: Commit(Text::new("x")),
        paths: Vec::new(),
        resolver,
        tries: 1,
    };
    vec![
        Stage::Waiting { on: Vec::new() },
        Stage::Ready(Turn { attempt: 1, ..Turn::default() }),
        Stage::Running(work(Phase::Work)),
        Stage::Running(work(Phase::Verify)),
        Stage::Asking { work: work(Phase::Work), question: Text::new("?") },
        Stage::HandingOff { work: work(Phase::Work), why: Text::new("full") },
        Stage::Failing { work: work(Phase::Verify), report: Text::new("red") },
        Stage::Merging { verified: verified(), entry: 1 },
        conflicted(None),
        conflicted(Some(Key(Text::new("r/s/1/2")))),
        Stage::MergeHeld { verified: verified(), cause: Cause::Red { report: Text::new("red") } },
        Stage::Review { case: Case::Checks, back: Box::new(Stage::Running(work(Phase::Verify))) },
        Stage::Blocked { attempt: 1, failure: Failure::Auth },
        Stage::Skipped { by: Text::new("p"), why: Text::new("w") },
    ]
}

fn happenings() -> Vec<Happened> {
    let at = Timestamp::from_millis(0);
    let session = Key(Text::new("r/s/1/3"));
    let commit = Commit(Text::new("c"));
    let merged = MergedCommit::landed(commit.clone(), commit.clone());
    vec![
        Happened::Freed,
        Happened::Started { session: session.clone(), base: commit.clone() },
        Happened::Asked { question: Text::new("?") },
        Happened::Answered,
        Happened::Claimed,
        Happened::WentOn,
        Happened::Red { report: Text::new("red") },
        Happened::SentBack { session: session.clone() },
        Happened::Green { verified: verified(), entry: 2 },
        Happened::ContextFull { why: Text::new("full") },
        Happened::HandedOff { carry: Text::new("h") },
        Happened::Failed { failure: Failure::Crash, again: Some(at) },
        Happened::Failed { failure: Failure::Auth, again: None },
        Happened::Paused { until: Some(at) },
        Happened::Conflicted { against: commit.clone(), paths: Vec::new() },
        Happened::ResolverStarted { session },
        Happened::ResolverFailed,
        Happened::MergeRed { cause: Cause::Pair { with: StageId::new("o") } },
        Happened::Landed { merged },
        Happened::Queued { verified: verified(), entry: 3 },
        Happened::Raised { case: Case::Red },
        Happened::Told(Word::Hold),
        Happened::Told(Word::Release),
        Happened::Told(Word::Retry),
        Happened::Told(Word::Block),
        Happened::Told(Word::Skip { by: Text::new("p"), why: Text::new("w") }),
        Happened::Told(Word::GoOn),
        Happened::Told(Word::Merge { verified: verified(), entry: 4 }),
        Happened::Told(Word::Verify),
        Happened::Told(Word::Reset),
    ]
}

#[test]
fn these_moves_there_are_and_no_others() {
    let mut moves: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for stage in states() {
        for happened in happenings() {
            if let Stepped::To(to) = step(&stage, &happened)
                && to.name() != stage.name()
            {
                moves.entry(stage.name()).or_default().insert(to.name());
            }
        }
    }
    let told: Vec<String> = moves
        .into_iter()
        .map(|(from, to)| format!("{from} > {}", to.into_iter().collect::<Vec<_>>().join(", ")))
        .collect();
    assert_eq!(
        told,
        [
            "asking > blocked, handing off, ready, running",
            "blocked > ready, skipped",
            "conflicted > blocked, merging, ready, review",
            "failing > blocked, ready, review, running",
            "handing off > blocked, ready",
            "merge held > merging, ready, review",
            "merging > conflicted, done, merge held, ready",
            "ready > blocked, running, skipped",
            "review > blocked, merging, ready, running, skipped",
            "running > asking, blocked, failing, handing off, merging, ready, review",
            "waiting > ready, skipped",
        ]
    );
}

#[test]
fn what_is_over_stays_so() {
    let merged = MergedCommit::landed(Commit(Text::new("c")), Commit(Text::new("t")));
    for stage in [Stage::Done { merged }, Stage::Skipped { by: Text::new("p"), why: Text::new("w") }] {
        assert!(stage.is_over());
        assert!(happenings().iter().all(|happened| step(&stage, happened) == Stepped::Ignored));
    }
}

#[test]
fn checks_send_back_three_times() {
    let mut stage = Stage::Running(work(Phase::Verify));
    let mut sent = 0;
    while let Stepped::To(failing) = step(&stage, &Happened::Red { report: Text::new("red") }) {
        let session = Key(Text::new("r/s/1/1"));
        let Stepped::To(again) = step(&failing, &Happened::SentBack { session }) else { break };
        let Stepped::To(claimed) = step(&again, &Happened::Claimed) else { break };
        stage = claimed;
        sent += 1;
    }
    assert_eq!(sent, FIXES);
}
