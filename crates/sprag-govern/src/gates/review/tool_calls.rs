//! Tool calls that wait for a review, and calls of `sprag decide`.

use sprag_policy::call::ToolCall;
use sprag_policy::{Decision, RuleConcern, RuleFilter, RuleVerdict};
use sprag_shell::{Script, Word};

use crate::event::{Actor, Event, Input};
use crate::gates::records::{GateRecord, UsedApproval};
use crate::gates::review::case::{AttemptOutcome, GatedCall, PERMIT_SECONDS, Permit, ReviewTrigger};
use crate::gates::review::settings::ApprovalScope;
use crate::gates::review::template::{self, Values};
use crate::gates::review::{ReviewGate, ReviewState, begin, close, messages};
use crate::gates::{GateCx, permission};
use crate::reason::Reason;
use crate::report::ReviewResult;
use crate::verdict::Vote;

/// Reports whether a review rule may concern this call.
pub(crate) fn may_be_gated(watch: &RuleFilter, input: &Input, call: &ToolCall) -> bool {
    watch.concern(call, input.script(), &input.cwd) != RuleConcern::None
}

/// Votes in a session that reviews another one. It has no approval of its own, so gated calls are refused.
pub(crate) fn on_an_errand(cx: &GateCx<'_, ReviewGate>) -> Vote {
    let (Event::ToolRequested { call }, Some(rules)) = (&cx.input.event, &cx.shared.rules) else {
        return Vote::Pass;
    };
    if !rules.wants_reviews() {
        return Vote::Pass;
    }
    let judged = permission::judge(rules, cx.input, call);
    match judged.decision {
        Some(Decision::Review) => {
            Vote::Hold(messages::not_a_reviewers(judged.rule.as_deref().unwrap_or_default()))
        }
        Some(Decision::Allow | Decision::Ask | Decision::Deny) | None => Vote::Pass,
    }
}

impl ReviewGate {
    /// Returns the refusal of a gated call without an approval.
    pub(super) fn gated(&mut self, call: &ToolCall, cx: &mut GateCx<'_, ReviewGate>) -> Option<Reason> {
        let rules = cx.shared.rules.as_ref().filter(|rules| rules.wants_reviews())?;
        let judged = permission::judge(rules, cx.input, call);
        if judged.decision != Some(Decision::Review) {
            return None;
        }
        let rule = judged.rule.clone().unwrap_or_default();
        if self.is_covered(cx) {
            self.use_approval(call, &rule, cx);
            return None;
        }
        let is_unconfirmed = matches!(&self.standing, ReviewState::Approved(approval)
            if approval.opens_tools() && (cx.shared.tree.is_none() || self.is_unlocked)
                && !approval.is_expired(cx.settings.gates.approval_ttl_seconds, cx.input.at));
        if is_unconfirmed {
            // The approval may still count once git answers again.
            return Some(messages::unconfirmed());
        }
        Some(self.hold_back(GatedCall::new(call, &rule), &judged, cx))
    }

    fn is_covered(&self, cx: &GateCx<'_, ReviewGate>) -> bool {
        let ReviewState::Approved(approval) = &self.standing else {
            return false;
        };
        let gates = &cx.settings.gates;
        approval.opens_tools()
            && !approval.is_expired(gates.approval_ttl_seconds, cx.input.at)
            && cx.shared.tree.as_ref() == Some(&approval.tree)
            && !(self.is_unlocked && gates.approval_scope == ApprovalScope::Tool)
    }

    fn use_approval(&mut self, call: &ToolCall, rule: &str, cx: &mut GateCx<'_, ReviewGate>) {
        let ReviewState::Approved(approval) = std::mem::take(&mut self.standing) else {
            return;
        };
        // Record the use before the call, so that it cannot be used again.
        cx.log(GateRecord::ReviewUsed(UsedApproval {
            tool: call.name.clone(),
            rule: rule.to_owned(),
            review: approval.id.clone(),
            tree: approval.tree.clone(),
        }));
        let left = approval.used(cx.settings.gates.approval_scope);
        self.standing = left.map_or(ReviewState::Idle, ReviewState::Approved);
    }

    fn hold_back(
        &mut self,
        gated: GatedCall,
        judged: &RuleVerdict,
        cx: &mut GateCx<'_, ReviewGate>,
    ) -> Reason {
        if let ReviewState::Idle | ReviewState::Approved(_) = self.standing {
            let case = self.new_case(ReviewTrigger::Gated, None, cx.input);
            self.standing = ReviewState::Wanted { case, late: None };
        }
        let asked = match &mut self.standing {
            ReviewState::Wanted { case, .. } => {
                let is_new = case.gated.as_ref() != Some(&gated);
                if is_new {
                    close(case, AttemptOutcome::Superseded, cx);
                    case.gated = Some(gated.clone());
                }
                // The same call repeats the same request.
                let template = case.attempt.as_ref().filter(|attempt| attempt.is_told);
                let text = match template.and_then(|told| template::find(cx.settings, told.template.as_str()))
                {
                    Some((_, text)) => text.to_owned(),
                    None => begin(case, cx),
                };
                if let Some(attempt) = &mut case.attempt {
                    attempt.is_told = true;
                }
                let trigger = case.trigger();
                let session_id = cx.input.session.as_str();
                template::fill(&text, &Values { session_id, agent: cx.settings.agent(), trigger: &trigger })
            }
            ReviewState::Rejected { case, finding, .. } => {
                case.gated = Some(gated.clone());
                format!("the last review found issues: {}", finding.summary)
            }
            ReviewState::InReview { .. } => "a review is running".to_owned(),
            ReviewState::Idle | ReviewState::Approved(_) => String::new(),
        };
        messages::gated(&gated, judged, &asked, cx.settings, cx.input)
    }

    /// Votes on a call of `sprag decide`. A call of the reviewer leaves a permit, which the command needs.
    pub(super) fn decide_called(&mut self, cx: &mut GateCx<'_, ReviewGate>) -> Vote {
        let Some(called) = cx.input.script().and_then(decide_in) else {
            return Vote::Pass;
        };
        if called.is_human {
            return Vote::Hold(messages::not_a_person());
        }
        match (&mut self.standing, &cx.input.actor) {
            (
                ReviewState::InReview { seat, .. } | ReviewState::Wanted { late: Some(seat), .. },
                Actor::Subagent { id, .. },
            ) if seat.is_agent(id) => {
                let until = cx.input.at.plus_seconds(PERMIT_SECONDS);
                seat.permit = Some(Permit { until, word: called.word });
                Vote::Pass
            }
            // The command checks itself that the reviewer's process started it.
            (ReviewState::InReview { seat, .. }, _) if seat.is_process() => Vote::Pass,
            _ => Vote::Hold(messages::not_reviewer(cx.settings.agent())),
        }
    }
}

struct ReviewedCall {
    word: Option<ReviewResult>,
    is_human: bool,
}

/// Returns the first `sprag decide` that a script would run.
fn decide_in(script: &Script) -> Option<ReviewedCall> {
    let is = |word: Option<&Word>, text: &str| matches!(word, Some(Word::Known(known)) if known == text);
    let command = script
        .commands
        .iter()
        .find(|command| command.program() == Some("sprag") && is(command.argv.get(1), "decide"))?;
    let has = |text: &str| command.argv.iter().any(|word| is(Some(word), text));
    if has("--help") || has("-h") {
        return None;
    }
    let mut words =
        [ReviewResult::Complete, ReviewResult::Issues].into_iter().filter(|word| has(word.name()));
    // If both words occur, one of them is part of a text.
    let word = words.next().filter(|_| words.next().is_none());
    Some(ReviewedCall { word, is_human: has("--human") })
}

/// Returns the decision in a command line, for tests.
#[cfg(test)]
pub(crate) fn word_in(line: &str) -> Option<Option<&'static str>> {
    let script = Script::parse(line, &sprag_shell::ShellStart::default());
    decide_in(&script).map(|called| called.word.map(ReviewResult::name))
}
