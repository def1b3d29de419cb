//! Variants of written records, by their names on disk. A new variant does not compile before this file lists
//! it, and the test fails before a line shows it.

use std::collections::BTreeSet;

use serde_json::Value;

use sprag_govern::report::Report;
use sprag_plan::merge::merge_failure::MergeFailure;
use sprag_plan::notes::{NoteBody as Noted, StageNote};
use sprag_plan::run::effect::{
    BriefKind, CheckPhase, Effect, EffectOutcome, KillReason, NudgeTopic, QueueStep, RefStep, SessionSignal,
    StageStep,
};
use sprag_plan::run::record::{BudgetOwner, RunRecord, SessionOutcome, TargetHeld};
use sprag_plan::stage::command::StageCommand;
use sprag_plan::stage::{ReviewDemand, ReviewReason, StageEvent, StageFailure};

use super::{NOTES, RUN, parsed};

macro_rules! variants {
    ($($list:ident, $name_of:ident: $type:ident {
        $($variant:ident $name:literal),+ $(,)? $(; unwritten $($unwritten:ident),+)?
    })+) => {
        $(
            pub(super) const $list: &[&str] = &[$($name),+];

            fn $name_of(of: &$type) -> &'static str {
                match of {
                    $($type::$variant { .. } => $name,)+
                    $($($type::$unwritten { .. } => unreachable!("no record holds it"),)+)?
                }
            }
        )+
    };
}

variants! {
    RECORDS, record: RunRecord {
        Started "plan.started", Amended "plan.amended", Happened "stage.happened", Ended "session.ended",
        EffectBegun "effect.intent", Outcome "effect.outcome", WorktreeLost "worktree.lost", Foreign "target.foreign",
        TargetHeld "target.held", Nearly "budget.nearly", StageCommand "stage.said",
    }
    STAGE_STEPS, stage_step: StageStep {
        AddWorktree "add_worktree", Setup "setup", Check "check", Review "review", WriteBrief "write_brief",
        Spawn "spawn", Nudge "nudge", Salvage "salvage", RemoveWorktree "remove_worktree", Discard "discard",
    }
    SESSION_STEPS, session_step: SessionSignal { Interrupt "interrupt", Kill "kill" }
    QUEUE_STEPS, queue_step: QueueStep { Make "candidate", Test "gate", Land "land" }
    REF_STEPS, ref_step: RefStep { RestoreTrunk "restore", Promote "promote" }
    OUTCOMES, outcome: EffectOutcome {
        Done "done", Worktree "worktree", Green "green", Reviewable "reviewable", Unreviewed "unreviewed", Red "red",
        Unchanged "unchanged", Spawned "spawned", Salvaged "salvaged", Made "made", Conflicted "conflicted",
        Elsewhere "elsewhere", Failed "failed",
    }
    ENDS, ended: SessionOutcome {
        Well "well", Failed "failed", RateLimited "rate_limited", ContextFull "context_full", Stopped "stopped",
    }
    HAPPENINGS, happened: StageEvent {
        Freed "freed", Started "started", Asked "asked", Answered "answered", Claimed "claimed", Resumed "went_on",
        ChecksFailed "red", SentBack "sent_back", ChecksPassed "green", ContextFull "context_full", HandedOff "handed_off",
        Failed "failed", Paused "paused", Conflicted "conflicted", ResolverStarted "resolver_started",
        ResolverFailed "resolver_failed", MergeFailed "merge_red", Landed "landed", Queued "queued", Raised "raised",
        Overtaken "overtaken", Approved "told", Command "told"; unwritten ReviewAsked, Outdated
    }
    SAYINGS, said: StageCommand {
        Complete "complete", Block "block", Ask "ask", Task "task", Output "output", Dispute "dispute", Hold "hold",
        Release "release", Skip "skip", Retry "retry", Reset "reset", Resume "resume", Merge "merge",
        Verify "verify", Accept "accept", Reject "reject", Bypass "bypass",
    }
    HELD, held: TargetHeld { Rewritten "rewritten", Gone "gone", Conflicted "conflicted", Red "red" }
    PURSES, purse: BudgetOwner { Run "run", Stage "stage" }
    FAILURES, failure: StageFailure {
        Crash "crash", Timeout "timeout", Overload "overload", Wedged "wedged", Auth "auth", Sandbox "sandbox",
        Setup "setup", Budget "budget", Conflict "conflict", Context "context", Told "told", Unknown "unknown",
    }
    CASES, case: ReviewReason {
        Merge "merge", TooManyFixes "checks", Disputed "disputed", NoChange "no_change", ProtectedFiles "protected",
        ConflictUnresolved "conflict", MergeFailed "red", OnHold "held", Unreviewed "unreviewed",
    }
    CAUSES, cause: MergeFailure { Red "red", Pair "pair" }
    BRIEFS, brief: BriefKind {
        Stage "stage", Knowledge "knowledge", Recovery "recovery", Merge "merge", MergeConflict "merge-conflict",
        BaseConflict "base-conflict",
    }
    NUDGES, nudge: NudgeTopic { Report "report", Answer "answer", Notes "notes", Handoff "handoff" }
    KILLS, kill: KillReason { Over "over", Wedged "wedged" }
    CHECKS, check: CheckPhase { Before "before", Claim "claim" }
    REVIEWS, review: ReviewDemand { Any "any", Another "another" }
    NOTED, noted: Noted { Note "note", Decision "decision", Question "question" }
    REPORTS, report: Report {
        Observed "observed", Approved "approved", Rejected "rejected", IntentSelected "selected", IntentDone "done",
        Reflected "reflected", Skipped "skipped", Referred "referred", Went "went", Answered "answered",
        Verified "verification.asked", Decided "decided", Misdirected "misdirected",
        ReviewerStarted "reviewer.started", ReviewerEnded "reviewer.ended",
    }
}

/// Commands that were events before they got their own kind of record.
const WORDS: &[&str] = &["hold", "release", "retry", "block", "skip", "go_on", "merge", "verify", "reset"];

fn word(of: &StageCommand) -> &'static str {
    match of {
        StageCommand::Resume { .. } => "go_on",
        of => said(of),
    }
}

/// A record does not hold its report. Only the compiler checks that no report is missing here.
const _: fn(&Report) -> &'static str = report;

/// Variants that lines show.
#[derive(Default)]
struct Shown(BTreeSet<(&'static str, &'static str)>);

impl Shown {
    /// Adds the name if the line has it at `written`, as a text or as the name of a member.
    fn add(&mut self, list: &'static str, name: &'static str, written: &Value) {
        let is_written = written == name || written.get(name).is_some();
        assert!(is_written, "`{name}` of {list} is not what is written: {written}");
        self.0.insert((list, name));
    }

    fn add_recorded(&mut self, recorded: &RunRecord, body: &Value) {
        match recorded {
            RunRecord::Happened { what, .. } => {
                let written = &body["what"];
                self.add("happenings", happened(what), &written["happened"]);
                match what {
                    StageEvent::Approved { .. } => self.add("words", "merge", written),
                    StageEvent::Command { command, .. } => self.add("words", word(command), written),
                    StageEvent::Failed { failure: it, .. } => {
                        self.add("failures", failure(it), &written["failure"])
                    }
                    StageEvent::Raised { case: it } => self.add("cases", case(it), &written["case"]),
                    StageEvent::MergeFailed { cause: it } => self.add("causes", cause(it), &written["cause"]),
                    _ => {}
                }
            }
            RunRecord::EffectBegun { effect, .. } => {
                let written = &body["effect"];
                let name = &written["effect"];
                match effect {
                    Effect::Stage { step, .. } => self.add("stage steps", stage_step(step), name),
                    Effect::Session { step, .. } => self.add("session steps", session_step(step), name),
                    Effect::Queue { step, .. } => self.add("queue steps", queue_step(step), name),
                    Effect::Refs(step) => self.add("ref steps", ref_step(step), name),
                    Effect::Notify { .. } => self.add("notices", "notify", name),
                }
                match effect {
                    Effect::Stage { step: StageStep::WriteBrief { kind }, .. } => {
                        self.add("briefs", brief(kind), &written["brief"])
                    }
                    Effect::Stage { step: StageStep::Nudge { topic, .. }, .. } => {
                        self.add("nudges", nudge(topic), &written["about"])
                    }
                    Effect::Session { step: SessionSignal::Kill { reason }, .. } => {
                        self.add("kills", kill(reason), &written["because"])
                    }
                    Effect::Stage { step: StageStep::Check { phase }, .. } => {
                        self.add("checks", check(phase), &written["of"])
                    }
                    Effect::Stage { step: StageStep::Review(job), .. } => {
                        self.add("reviews", review(&job.demand), &written["sought"])
                    }
                    _ => {}
                }
            }
            RunRecord::Outcome { outcome: it, .. } => {
                let written = &body["outcome"];
                self.add("outcomes", outcome(it), &written["outcome"]);
                if let EffectOutcome::Failed { failure: it, .. } = it {
                    self.add("failures", failure(it), &written["failure"]);
                }
            }
            RunRecord::Ended { ended: it, .. } => {
                let written = &body["ended"];
                self.add("ends", ended(it), &written["ended"]);
                if let SessionOutcome::Failed { failure: it, .. } = it {
                    self.add("failures", failure(it), &written["failure"]);
                }
            }
            RunRecord::StageCommand { command: it, .. } => {
                self.add("sayings", said(it), &body["said"]["say"])
            }
            RunRecord::TargetHeld { why } => self.add("held", held(why), &body["why"]["why"]),
            RunRecord::Nearly { of } => self.add("purses", purse(of), &body["of"]),
            RunRecord::Started { .. }
            | RunRecord::Amended { .. }
            | RunRecord::WorktreeLost { .. }
            | RunRecord::Foreign { .. } => {}
        }
    }
}

#[test]
fn every_variant_of_a_written_record_has_a_line() {
    let mut shown = Shown::default();
    for it in parsed(RUN) {
        let recorded = RunRecord::read(&it).unwrap();
        shown.add("records", record(&recorded), &Value::from(it.kind));
        shown.add_recorded(&recorded, &it.body);
    }
    for line in NOTES.lines() {
        let (note, written): (StageNote, Value) =
            (serde_json::from_str(line).unwrap(), serde_json::from_str(line).unwrap());
        shown.add("noted", noted(&note.said), &written["kind"]);
    }
    let lists = [
        ("records", RECORDS),
        ("stage steps", STAGE_STEPS),
        ("session steps", SESSION_STEPS),
        ("queue steps", QUEUE_STEPS),
        ("ref steps", REF_STEPS),
        ("notices", &["notify"]),
        ("outcomes", OUTCOMES),
        ("ends", ENDS),
        ("happenings", HAPPENINGS),
        ("words", WORDS),
        ("sayings", SAYINGS),
        ("held", HELD),
        ("purses", PURSES),
        ("failures", FAILURES),
        ("cases", CASES),
        ("causes", CAUSES),
        ("briefs", BRIEFS),
        ("nudges", NUDGES),
        ("kills", KILLS),
        ("checks", CHECKS),
        ("reviews", REVIEWS),
        ("noted", NOTED),
    ];
    let known = lists.iter().flat_map(|(list, names)| names.iter().map(|name| (*list, *name)));
    assert_eq!(shown.0, known.collect());
}
