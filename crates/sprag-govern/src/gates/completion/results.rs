//! Results of the checks: unmet checks, records and met debts.

use sprag_base::digest::Digest;
use sprag_base::text::{Text, quoted};
use sprag_check::{CheckStatus, Profile, Results};
use sprag_memory::episode::{self, Episode, EpisodeOutcome, ErrorClass};
use sprag_memory::lesson;
use sprag_memory::records::MemoryRecord;

use super::{Answer, BuiltIn, CheckOccasion, CheckState, CompletionGate, Failing, Unmet};
use crate::gates::GateCx;
use crate::gates::records::{GateRecord, VerifiedCheck, VerifiedChecks};
use crate::obligation::records::DebtRecord;
use crate::obligation::{Debt, Duty};
use crate::verdict::Vote;

/// Maximum number of failures that a session remembers by name.
const UNMET: usize = 20;
/// Characters of an output that a record stores.
const KEPT: usize = 500;
/// Maximum number of files that a fix names.
const FILES: usize = 5;
/// Maximum number of places that a hold names.
const NAMED: usize = 3;

/// The result of one check.
struct CheckFinding {
    name: Text<64>,
    mandatory: bool,
    outcome: &'static str,
    /// Empty if the check passed.
    issue: String,
    tail: String,
    /// The result concerns only this session.
    is_own: bool,
}

impl CheckFinding {
    fn is_met(&self) -> bool {
        self.issue.is_empty()
    }
}

impl CompletionGate {
    pub(super) fn judge(&mut self, occasion: CheckOccasion, cx: &mut GateCx<'_, CompletionGate>) -> Vote {
        let results = match cx.answer {
            Answer::Ran(results) => Some(results),
            Answer::NotAsked | Answer::NotRun if cx.settings.check.is_empty() => None,
            Answer::NotAsked | Answer::NotRun => return Vote::Unsure,
        };
        let (tree, profile) = match results {
            Some(results) => (results.tree.clone(), results.profile),
            None => (cx.shared.tree.clone(), cx.settings.profile),
        };
        let before = match &self.standing {
            CheckState::Failing(failing) => Some(failing),
            CheckState::Idle | CheckState::Verified { .. } => None,
        };
        // A parallel stop ran a more thorough profile, so this result is too weak.
        if before.is_some_and(|failing| profile < failing.profile) {
            return self.owe(&cx.input.session);
        }
        let findings = findings(occasion, results, cx);
        let unmet: Vec<&CheckFinding> = findings.iter().filter(|it| it.mandatory && !it.is_met()).collect();
        let is_passed = unmet.is_empty();
        let standing = match (is_passed, before) {
            (true, _) => CheckState::Verified { tree: tree.clone(), profile },
            // The user or agent ran the checks without a claim, so a failure holds nothing.
            (false, None) if !cx.is_stop() => self.standing.clone(),
            (false, _) => CheckState::Failing(Failing {
                times: times(before, tree.as_ref()),
                tree: tree.clone(),
                profile,
                occasion,
                unmet: unmet.iter().take(UNMET).map(|finding| finding.unmet()).collect(),
            }),
        };
        let mended = before.filter(|_| is_passed).map(|failing| failing.mended(cx)).unwrap_or_default();
        let offer = mended.first().map(|episode| lesson::offer(episode, &cx.input.session));
        if standing != self.standing || !cx.is_stop() {
            let status = if is_passed { CheckStatus::Passed } else { CheckStatus::Failed };
            cx.log(GateRecord::Verified(record(status, profile, tree.as_ref(), &findings)));
        }
        self.standing = standing;
        self.claimed &= !cx.is_stop();
        if cx.is_stop() && std::mem::take(&mut self.alarmed) && occasion == CheckOccasion::ToolFailure {
            self.alarms = self.alarms.saturating_add(1);
        }
        if is_passed {
            let met = met(&findings, cx);
            cx.debts(DebtRecord::Met, met);
        }
        for episode in mended {
            cx.log(MemoryRecord::Episode(episode));
        }
        // A stopping agent is not asked for a lesson. The fix is recorded in any case.
        match (cx.is_stop(), offer) {
            (true, _) => self.owe(&cx.input.session),
            (false, Some(offer)) => Vote::Note(offer),
            (false, None) => Vote::Pass,
        }
    }
}

impl Failing {
    /// Returns an episode for each check that failed and passes now.
    fn mended(&self, cx: &GateCx<'_, CompletionGate>) -> Vec<Episode> {
        let paths = cx.shared.changes.as_ref().map(|changes| changes.paths.as_slice()).unwrap_or_default();
        let files: Vec<String> = paths.iter().take(FILES).map(|path| format!("`{}`", quoted(path))).collect();
        let (outcome, fix, confidence) = if files.is_empty() {
            (EpisodeOutcome::Passed, "it passed when it was run again".to_owned(), 0.3)
        } else {
            (EpisodeOutcome::Fixed, format!("changing {}", files.join(", ")), 0.6)
        };
        let intent = cx.session.intent.as_ref();
        let of = |unmet: &Unmet| {
            let said = if unmet.tail.is_empty() { unmet.issue.as_str() } else { unmet.tail.as_str() };
            Episode {
                task: intent.map(|intent| Text::from(intent.id.as_str())).unwrap_or_default(),
                tool: Text::from("check"),
                command: Text::from(unmet.name.as_str()),
                input: Digest::hash_parts([unmet.name.as_str()]),
                outcome,
                class: ErrorClass::classify(said),
                error: episode::gist(said),
                fix: Text::from(fix.as_str()),
                tries: self.times.saturating_add(1),
                confidence,
            }
        };
        self.unmet.iter().map(of).collect()
    }
}

impl GateCx<'_, CompletionGate> {
    fn is_stop(&self) -> bool {
        matches!(self.input.event, crate::event::Event::StopRequested(_))
    }
}

/// Returns the number of failures in a row. The same tree counts once.
fn times(before: Option<&Failing>, tree: Option<&Text<64>>) -> u32 {
    match before {
        None => 1,
        Some(failing) if tree.is_some() && failing.tree.as_ref() == tree => failing.times,
        Some(failing) => failing.times.saturating_add(1),
    }
}

fn findings(
    occasion: CheckOccasion,
    results: Option<&Results>,
    cx: &GateCx<'_, CompletionGate>,
) -> Vec<CheckFinding> {
    let mut findings: Vec<CheckFinding> =
        results.into_iter().flat_map(|results| &results.ran).map(of_check).collect();
    if occasion == CheckOccasion::Claim {
        findings.extend(todo(cx));
        findings.push(tasks(cx));
    }
    findings
}

fn of_check(ran: &sprag_check::CheckRan) -> CheckFinding {
    let is_met = ran.outcome == sprag_check::CheckOutcome::Passed;
    CheckFinding {
        name: ran.check.clone(),
        mandatory: ran.mandatory,
        outcome: ran.outcome.name(),
        issue: if is_met { String::new() } else { ran.issue() },
        tail: ran.outcome.tail().to_owned(),
        is_own: false,
    }
}

/// Returns the finding about TODO marks, or `None` if the added lines are unknown.
fn todo(cx: &GateCx<'_, CompletionGate>) -> Option<CheckFinding> {
    let marks = &cx.shared.changes.as_ref()?.marks;
    let places: Vec<String> = marks
        .iter()
        .take(NAMED)
        .map(|mark| match mark.line {
            Some(line) => format!("`{}:{line}`", quoted(mark.path.as_str())),
            None => format!("`{}`", quoted(mark.path.as_str())),
        })
        .collect();
    let more = match marks.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let issue = if marks.is_empty() {
        String::new()
    } else {
        format!("open TODO or FIXME in {}{more}", places.join(", "))
    };
    Some(built_in(BuiltIn::Todo, issue, cx))
}

fn tasks(cx: &GateCx<'_, CompletionGate>) -> CheckFinding {
    let issue = match cx.session.tasks.open() {
        0 => String::new(),
        1 => "1 task of your list is open".to_owned(),
        open => format!("{open} tasks of your list are open"),
    };
    built_in(BuiltIn::Tasks, issue, cx)
}

fn built_in(which: BuiltIn, issue: String, cx: &GateCx<'_, CompletionGate>) -> CheckFinding {
    CheckFinding {
        name: Text::from(which.name()),
        mandatory: cx.settings.mandatory.contains(&which),
        outcome: if issue.is_empty() { "passed" } else { "failed" },
        issue,
        tail: String::new(),
        is_own: true,
    }
}

impl CheckFinding {
    fn unmet(&self) -> Unmet {
        Unmet {
            name: self.name.clone(),
            outcome: Text::from(self.outcome),
            issue: Text::from(self.issue.as_str()),
            tail: Text::new(end_of(&self.tail, 300)),
        }
    }
}

/// Returns the end of a text, because the last lines explain a failure.
fn end_of(text: &str, most: usize) -> &str {
    let from = text.char_indices().rev().nth(most.saturating_sub(1)).map_or(0, |(at, _)| at);
    &text[from..]
}

fn record(
    status: CheckStatus,
    profile: Profile,
    tree: Option<&Text<64>>,
    findings: &[CheckFinding],
) -> VerifiedChecks {
    let checks = findings
        .iter()
        .map(|finding| VerifiedCheck {
            name: finding.name.clone(),
            outcome: Text::from(finding.outcome),
            mandatory: finding.mandatory,
            tail: end_of(&finding.tail, KEPT).to_owned(),
        })
        .collect();
    VerifiedChecks { status, profile, tree: tree.cloned(), checks }
}

/// Returns the debts of this worktree whose items all pass now. A finding about one session does not settle a
/// debt of another session.
fn met(findings: &[CheckFinding], cx: &GateCx<'_, CompletionGate>) -> Vec<String> {
    let debts = cx.shared.debts.as_deref().unwrap_or_default().iter().map(|open| &open.debt);
    let is_here = |debt: &&Debt| debt.duty == Duty::Verify && debt.root.as_str() == cx.input.root;
    let is_met = |debt: &Debt, item: &str| {
        let is_own = debt.session == cx.input.session;
        findings.iter().any(|it| it.name.as_str() == item && it.is_met() && (is_own || !it.is_own))
    };
    debts
        .filter(is_here)
        .filter(|debt| debt.items.iter().all(|item| is_met(debt, item.as_str())))
        .map(|debt| debt.id.to_string())
        .collect()
}
