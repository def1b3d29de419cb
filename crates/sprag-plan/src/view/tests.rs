use serde_json::json;

use super::*;
use crate::agent::activity::ContextUsage;
use crate::run::effect::{Effect, EffectOutcome, StageStep};
use crate::run::record::{RunRecord, SessionOutcome, key};
use crate::stage::command::StageCommand;
use crate::stage::{ReviewReason, StageEvent, StageFailure};
use crate::testing::{commit, now, plan, start};

struct Story {
    timed: Timed,
    seconds: i64,
}

impl Story {
    fn new(stages: &[(&str, &str, &str)]) -> Story {
        Story { timed: Timed::begin(&start(plan(stages)), now()).unwrap(), seconds: 0 }
    }

    fn then(&mut self, record: RunRecord) -> &mut Story {
        self.seconds += 10;
        self.timed.apply(&record, now().plus_seconds(self.seconds));
        self
    }

    fn happened(&mut self, stage: &str, what: StageEvent) -> &mut Story {
        self.then(RunRecord::Happened { stage: StageId::new(stage), what })
    }

    fn tell(&mut self, stage: &str, command: StageCommand) -> &mut Story {
        let (stage, by) = (StageId::new(stage), Text::new("p"));
        self.then(RunRecord::StageCommand { stage, by, command })
    }

    fn effect(&mut self, stage: &str, step: &str, effect: Effect, outcome: EffectOutcome) -> EffectKey {
        let key = key(&self.timed.run().id, stage, 1, step);
        self.then(RunRecord::EffectBegun { key: key.clone(), epoch: 1, effect });
        self.then(RunRecord::Outcome { key: key.clone(), outcome });
        key
    }

    /// Starts the agent of a stage.
    fn start(&mut self, stage: &str) -> EffectKey {
        let id = StageId::new(stage);
        let base = commit("t");
        self.effect(
            stage,
            "worktree.0",
            StageStep::AddWorktree { base: base.clone() }.for_stage(&id),
            EffectOutcome::Worktree { base },
        );
        self.effect(stage, "spawn.0", StageStep::Spawn.for_stage(&id), EffectOutcome::Spawned)
    }

    fn end(&mut self, stage: &str, session: &EffectKey, ended: SessionOutcome) -> &mut Story {
        let at = now().plus_seconds(self.seconds);
        self.then(RunRecord::Ended { stage: StageId::new(stage), session: session.clone(), at, ended })
    }

    fn board(&self, past: &BTreeMap<EffectKey, AgentActivity>) -> RunBoard {
        RunBoard::from_run(&self.timed, |key| past.get(key).cloned(), now().plus_seconds(self.seconds))
    }
}

fn seen(percent: u64, micros: u64) -> AgentActivity {
    AgentActivity {
        context: Some(ContextUsage { tokens: percent, window: 100 }),
        used: Some(SessionCost { tokens: 1000, micros: Some(micros) }),
        last_tool: Some(Text::new("Bash")),
        at: Some(now()),
        ..AgentActivity::default()
    }
}

fn drawn(board: &RunBoard, live: &BTreeMap<EffectKey, AgentActivity>, seconds: i64) -> Vec<String> {
    let view = RunView::new(board, live, now().plus_seconds(seconds));
    let line = |line: &ViewLine<'_>| {
        let context = line.context.map_or("?".to_owned(), |percent| percent.to_string());
        let why = line.row.why.as_ref().map_or("", |why| why.text.as_str());
        let state = line.row.state;
        let elapsed = line.elapsed.map_or("-".to_owned(), |seconds| seconds.to_string());
        let micros = line.used.and_then(|used| used.micros).map_or("-".to_owned(), |m| m.to_string());
        format!(
            "{} {} {} {} {context}% {micros} {elapsed} {why}",
            state.icon(),
            line.row.level,
            line.row.id.as_str(),
            state.name()
        )
    };
    view.lines.iter().map(line).collect()
}

#[test]
fn rows_stand_by_level_then_id_and_say_why_they_are_not_further() {
    let mut story =
        Story::new(&[("z", "", "z/**"), ("b", "a z", "b/**"), ("a", "", "a/**"), ("c", "b", "c/**")]);
    let session = story.start("a");
    let live = BTreeMap::from([(session, seen(42, 7))]);
    assert_eq!(
        drawn(&story.board(&BTreeMap::new()), &live, 100),
        [
            "● 0 a running 42% 7 90 its agent is at work",
            "◎ 0 z ready ?% - - about to continue",
            "○ 1 b waiting ?% - - waits for `a`, `z`",
            "○ 2 c waiting ?% - - waits for `b`",
        ]
    );
}

#[test]
fn what_agents_that_are_gone_have_used_is_not_forgotten() {
    let mut story = Story::new(&[("a", "", "a/**")]);
    let first = story.start("a");
    let failed = SessionOutcome::Failed {
        failure: StageFailure::Crash,
        progress: crate::run::record::CommitProgress::Committed,
    };
    story.end("a", &first, failed);
    let again = Some(now().plus_seconds(60));
    story.happened("a", StageEvent::Failed { failure: StageFailure::Crash, again });
    let stage = StageId::new("a");
    let second = story.effect("a", "spawn.1", StageStep::Spawn.for_stage(&stage), EffectOutcome::Spawned);
    let past = BTreeMap::from([(first, seen(90, 100))]);
    let board = story.board(&past);
    assert_eq!(drawn(&board, &BTreeMap::new(), 100), ["● 0 a running ?% 100 90 its agent is at work"]);
    let live = BTreeMap::from([(second, seen(5, 11))]);
    assert_eq!(drawn(&board, &live, 100), ["● 0 a running 5% 111 90 its agent is at work"]);
    let view = RunView::new(&board, &live, now());
    assert_eq!(view.used, Some(SessionCost { tokens: 2000, micros: Some(111) }));
}

#[test]
fn a_person_is_told_of_what_waits_for_them_the_worst_first() {
    let mut story = Story::new(&[("a", "", "a/**"), ("b", "", "b/**"), ("c", "", "c/**"), ("d", "", "d/**")]);
    story.tell("a", StageCommand::Hold);
    story.start("b");
    story.happened("b", StageEvent::Raised { case: ReviewReason::ProtectedFiles });
    story.happened("c", StageEvent::Failed { failure: StageFailure::Auth, again: None });
    let session = story.start("d");
    story.then(RunRecord::TargetHeld { why: crate::run::record::TargetHeld::Gone });
    let live = BTreeMap::from([(session, seen(80, 1))]);
    let board = story.board(&BTreeMap::new());
    let view = RunView::new(&board, &live, now());
    let whose = |it: &AttentionItem| it.stage.as_ref().map_or("-".to_owned(), |id| id.as_str().to_owned());
    let told: Vec<String> =
        view.attention.iter().map(|it| format!("{} {:?} {}", whose(it), it.tone, it.text)).collect();
    assert_eq!(
        told,
        [
            "b Blocked protected files were changed",
            "c Blocked its client is not logged in",
            "- Blocked the target is not moved: the branch is missing",
            "a Warning on hold by a person",
            "d Warning its context is 80% full",
        ]
    );
    let progress = RunProgress { total: 4, active: 1, ready: 1, stuck: 2, ..RunProgress::default() };
    assert_eq!((view.progress, view.progress.percent()), (progress, 0));
}

#[test]
fn names_of_states_are_those_of_the_stages() {
    let mut story = Story::new(&[("a", "", "a/**")]);
    let name = |story: &Story| {
        let entry = story.timed.run().entry(&StageId::new("a")).unwrap();
        (entry.state.name(), StateLabel::from_entry(entry).name())
    };
    assert_eq!(name(&story), ("ready", "ready"));
    story.tell("a", StageCommand::Hold);
    assert_eq!(name(&story), ("ready", "held"), "the label has one more name");
    story.tell("a", StageCommand::Release);
    story.start("a");
    assert_eq!(name(&story), ("running", "running"));
    story.happened("a", StageEvent::Claimed);
    assert_eq!(name(&story), ("running", "verifying"));
    let names: std::collections::BTreeSet<_> = StateLabel::ALL.iter().map(|state| state.name()).collect();
    assert_eq!(names.len(), StateLabel::ALL.len());
    assert!(!StateLabel::ALL.iter().any(|state| state.is_over() && state.is_a_persons()));
}

#[test]
fn a_board_reads_back_as_it_was() {
    let mut story = Story::new(&[("a", "", "a/**"), ("b", "a", "b/**")]);
    story.start("a");
    let board = story.board(&BTreeMap::new());
    let read: RunBoard = serde_json::from_value(json!(board)).unwrap();
    assert_eq!(read, board);
}

#[test]
fn nothing_at_all_is_all_done() {
    assert_eq!(RunProgress::default().percent(), 100);
    assert_eq!(RunProgress { total: 3, done: 1, skipped: 1, ..RunProgress::default() }.percent(), 66);
}
