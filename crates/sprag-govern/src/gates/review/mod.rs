//! Asks for a review by an agent or person who is not the author: before a stop, if the user or the settings
//! ask for it, and before tool calls that a rule gates. A decision counts for the reviewed tree, and only
//! from a known reviewer.

pub mod case;
mod decision;
pub mod history;
mod messages;
mod question;
pub mod settings;
pub mod template;
mod tool_calls;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::ids::SessionId;
use sprag_base::settings::SettingSection;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_policy::call::{ToolCall, ToolEffect};

use crate::event::{Actor, Event, Input, PromptAuthor, SessionPurpose};
use crate::facts::{SharedFacts, SharedNeeds};
use crate::gates::records::{GateRecord, ReviewAttemptRecord};
use crate::gates::{Ask, Gate, GateCx, GateNotice};
use crate::obligation::{Duty, Obligation};
use crate::reason::Reason;
use crate::report::Report;
use crate::verdict::Vote;
use case::{
    Approval, ApprovalUse, AttemptOutcome, GatedCall, Objection, ReviewAttempt, ReviewCase, ReviewFinding,
    ReviewTrigger, ReviewerIdentity, ReviewerSeat,
};
pub use question::{Answer, Question};
pub use settings::{ApprovalScope, ReviewMode, Settings};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReviewGate {
    standing: ReviewState,
    /// Number of rounds so far.
    rounds: u32,
    /// The last decision ISSUES, until its tree changes or a person decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    objection: Option<Objection>,
    /// The journal is not locked, so another process could use an approval a second time.
    #[serde(skip)]
    is_unlocked: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewState {
    #[default]
    Idle,
    Wanted {
        case: ReviewCase,
        /// A reviewer that ended a moment ago. Its decision may still arrive.
        #[serde(default)]
        late: Option<ReviewerSeat>,
    },
    InReview {
        case: ReviewCase,
        seat: ReviewerSeat,
    },
    Approved(Approval),
    Rejected {
        case: ReviewCase,
        tree: Text<64>,
        finding: ReviewFinding,
        is_delivered: bool,
        at: Timestamp,
    },
}

impl Gate for ReviewGate {
    type Settings = Settings;
    type Question = Question;
    type Answer = Answer;

    const ABOUT: &'static str = "asks for a review by an agent or person who is not the author";
    const SECTION: SettingSection = settings::SECTION;
    const MORE: &'static [SettingSection] = settings::MORE;

    fn shared(&self, ask: &Ask<'_, Settings>) -> SharedNeeds {
        if ask.input.errand == SessionPurpose::Review {
            return SharedNeeds::NONE;
        }
        match &ask.input.event {
            Event::StopRequested(_) | Event::SessionEnded { .. } => match &self.standing {
                ReviewState::Idle => SharedNeeds::NONE,
                ReviewState::Approved(approval) if !approval.binds_stops() => SharedNeeds::NONE,
                _ => SharedNeeds::TREE,
            },
            Event::ToolRequested { call } => match (&self.standing, &ask.settings.watch) {
                (ReviewState::Approved(approval), Some(watch))
                    if approval.opens_tools() && tool_calls::may_be_gated(watch, ask.input, call) =>
                {
                    SharedNeeds::TREE
                }
                _ => SharedNeeds::NONE,
            },
            // Whether the agent leaves the approved tree behind.
            Event::Prompted { author: PromptAuthor::User, .. } => match &self.standing {
                ReviewState::Approved(approval) if approval.binds_stops() && !approval.is_confirmed => {
                    SharedNeeds::TREE
                }
                _ => SharedNeeds::NONE,
            },
            Event::SubagentStarted if self.is_reviewer(ask.settings, ask.input) => SharedNeeds::TREE,
            Event::Reported(Report::Decided(_)) => SharedNeeds::TREE | SharedNeeds::DEBTS,
            Event::Reported(Report::ReviewerStarted { .. }) => SharedNeeds::TREE,
            _ => SharedNeeds::NONE,
        }
    }

    fn ask(&self, ask: &Ask<'_, Settings>, _shared: &SharedFacts) -> Option<Question> {
        let is_own = ask.input.errand != SessionPurpose::Review;
        let is_started = matches!(ask.input.event, Event::SubagentStarted);
        (is_own && is_started && self.is_reviewer(ask.settings, ask.input)).then_some(Question)
    }

    fn step(&mut self, cx: &mut GateCx<'_, ReviewGate>) -> Vote {
        if cx.input.errand == SessionPurpose::Review {
            return tool_calls::on_an_errand(cx);
        }
        match (&cx.input.event, &cx.input.actor) {
            (Event::Prompted { text, author: PromptAuthor::User }, Actor::Main) => {
                if cx.settings.is_marked(text) {
                    self.asked_for(cx)
                } else {
                    self.next_prompt(cx)
                }
                Vote::Pass
            }
            (Event::ToolRequested { call }, _) => match self.requested(call, cx) {
                Some(reason) => Vote::Hold(reason),
                None => self.decide_called(cx),
            },
            (Event::StopRequested(_), Actor::Main) => self.stop(cx),
            (Event::SessionEnded { .. }, _) => self.ended(cx),
            (Event::SubagentStarted, Actor::Subagent { id, .. }) => self.reviewer_started(id, cx),
            (Event::SubagentStopped(_), Actor::Subagent { id, .. }) => self.reviewer_stopped(id, cx),
            (Event::Reported(Report::Decided(decided)), _) => self.decided(decided, cx),
            (Event::Reported(Report::Misdirected { token }), _) => {
                self.misdirected(token.as_str(), cx);
                Vote::Pass
            }
            (Event::Reported(Report::ReviewerStarted { client, token }), _) => {
                self.process_started(client, token.as_str(), cx)
            }
            (Event::Reported(Report::ReviewerEnded { token }), _) => {
                self.process_ended(token.as_str(), cx);
                Vote::Pass
            }
            _ => Vote::Pass,
        }
    }

    fn state(&self) -> Option<&'static str> {
        Some(match self.standing {
            ReviewState::Idle => "idle",
            ReviewState::Wanted { .. } => "wanted",
            ReviewState::InReview { .. } => "in_review",
            ReviewState::Approved(_) => "approved",
            ReviewState::Rejected { .. } => "rejected",
        })
    }

    fn open(&self, session: &SessionId) -> Option<Obligation> {
        match &self.standing {
            ReviewState::Idle | ReviewState::Approved(_) => None,
            ReviewState::Wanted { case, .. } => {
                Some(messages::owe(case, None, None, messages::open(case, session)))
            }
            ReviewState::InReview { case, seat } => {
                Some(messages::owe(case, None, seat.tree.as_ref(), messages::under_way(seat)))
            }
            ReviewState::Rejected { case, tree, finding, .. } => {
                let reason = messages::issues_in_short(finding, "sprag-reviewer", session);
                Some(messages::owe(case, Some(finding), Some(tree), reason))
            }
        }
    }

    fn notice(&mut self, notice: GateNotice<'_, Settings>) {
        let GateNotice::Held(digest) = notice else { return };
        match &mut self.standing {
            ReviewState::Idle | ReviewState::Approved(_) => {}
            ReviewState::Wanted { case, .. } if case.digest(None) == digest => {
                if let Some(attempt) = &mut case.attempt {
                    attempt.is_told = true;
                }
            }
            // A held reviewer continues.
            ReviewState::InReview { seat, .. } if seat.digest() == digest => seat.stopped = None,
            ReviewState::Rejected { case, finding, is_delivered, .. } => {
                *is_delivered |= case.digest(Some(finding.id.as_str())) == digest;
            }
            ReviewState::Wanted { .. } | ReviewState::InReview { .. } => {}
        }
    }

    fn forget_single_use(&mut self) {
        self.is_unlocked = true;
    }
}

impl ReviewGate {
    pub fn standing(&self) -> &ReviewState {
        &self.standing
    }

    /// Returns the open review case.
    pub fn case(&self) -> Option<&ReviewCase> {
        match &self.standing {
            ReviewState::Idle | ReviewState::Approved(_) => None,
            ReviewState::Wanted { case, .. }
            | ReviewState::InReview { case, .. }
            | ReviewState::Rejected { case, .. } => Some(case),
        }
    }

    /// Returns the reviewer that may decide now, or could a moment ago.
    pub fn seat(&self) -> Option<&ReviewerSeat> {
        match &self.standing {
            ReviewState::InReview { seat, .. } | ReviewState::Wanted { late: Some(seat), .. } => Some(seat),
            _ => None,
        }
    }

    /// Reports whether this is the token of the open review.
    pub fn knows(&self, token: &str) -> bool {
        case::is_token(token) && self.seat().is_some_and(|seat| seat.token == case::hash_of(token))
    }

    fn new_case(&mut self, why: ReviewTrigger, gated: Option<GatedCall>, input: &Input) -> ReviewCase {
        self.rounds = self.rounds.saturating_add(1);
        let parts = [input.session.as_str(), &input.at.to_string(), &self.rounds.to_string()];
        ReviewCase {
            id: Text::new(Digest::hash_parts(parts).short()),
            round: self.rounds,
            why,
            gated,
            since: input.at,
            attempts: 0,
            attempt: None,
        }
    }

    /// Opens a review because a prompt asks for it. An open review without a running reviewer starts a new
    /// round and may hold again.
    fn asked_for(&mut self, cx: &mut GateCx<'_, ReviewGate>) {
        match &mut self.standing {
            ReviewState::Idle | ReviewState::Approved(_) => {
                let case = self.new_case(ReviewTrigger::Asked, None, cx.input);
                self.standing = ReviewState::Wanted { case, late: None };
            }
            ReviewState::InReview { .. } => {}
            ReviewState::Wanted { case, .. } | ReviewState::Rejected { case, .. } => {
                close(case, AttemptOutcome::Superseded, cx);
                self.rounds = self.rounds.saturating_add(1);
                case.round = self.rounds;
            }
        }
    }

    fn requested(&mut self, call: &ToolCall, cx: &mut GateCx<'_, ReviewGate>) -> Option<Reason> {
        if let (ReviewState::InReview { seat, .. }, Actor::Subagent { id, .. }) =
            (&self.standing, &cx.input.actor)
            && seat.is_agent(id)
            && call.effect == ToolEffect::Write
        {
            return Some(messages::reviewer_writes());
        }
        let objection = self.gated(call, cx);
        if let ReviewState::Approved(approval) = &mut self.standing
            && call.effect.changes_the_world()
        {
            approval.is_confirmed = false;
        }
        objection
    }

    /// Handles a prompt without a marker. An open review stays open, because such a prompt approves nothing.
    /// If the agent changed the approved tree, a new review opens.
    fn next_prompt(&mut self, cx: &GateCx<'_, ReviewGate>) {
        let policy = cx.settings;
        if let ReviewState::Approved(approval) = &self.standing
            && approval.binds_stops()
            && !approval.is_confirmed
            && cx.shared.tree.as_ref() != Some(&approval.tree)
        {
            let case = self.new_case(approval.why, None, cx.input);
            self.standing = ReviewState::Wanted { case, late: None };
            return;
        }
        if let (ReviewState::Wanted { case, .. }, ReviewMode::Always) = (&mut self.standing, policy.mode) {
            // The next work is different: releasing the last obligation does not release this one.
            self.rounds = self.rounds.saturating_add(1);
            case.round = self.rounds;
        }
        let ReviewState::Approved(approval) = &mut self.standing else {
            return;
        };
        let keeps_tools = approval.opens_tools() && policy.gates.approval_scope != ApprovalScope::Prompt;
        let keeps_stops = approval.binds_stops() && policy.mode == ReviewMode::Always;
        match (keeps_tools, keeps_stops) {
            (true, true) => {}
            (true, false) => approval.reach = ApprovalUse::Tools,
            (false, true) => approval.reach = ApprovalUse::Stops,
            (false, false) => self.standing = ReviewState::Idle,
        }
    }

    fn stop(&mut self, cx: &mut GateCx<'_, ReviewGate>) -> Vote {
        self.settle(cx);
        let tree = cx.shared.tree.as_ref();
        match &mut self.standing {
            ReviewState::Idle => Vote::Pass,
            ReviewState::Wanted { case, late } => {
                close(case, AttemptOutcome::NotSpawned, cx);
                let text = begin(case, cx);
                let reason = messages::due(case, late.as_ref(), &text, cx.settings, cx.input);
                Vote::Owe(messages::owe(case, None, tree, reason))
            }
            ReviewState::InReview { case, seat } => {
                Vote::Owe(messages::owe(case, None, seat.tree.as_ref(), messages::under_way(seat)))
            }
            ReviewState::Approved(approval) if approval.binds_stops() && tree.is_none() => {
                Vote::Owe(Obligation {
                    duty: Duty::Review,
                    digest: messages::unconfirmed_digest(approval.id.as_str()),
                    reason: messages::unconfirmed(),
                    items: Vec::new(),
                })
            }
            ReviewState::Approved(approval) => {
                approval.is_confirmed = true;
                Vote::Pass
            }
            ReviewState::Rejected { case, tree, finding, is_delivered, .. } => {
                let issues = if *is_delivered { messages::issues_in_short } else { messages::issues_in_full };
                let reason = issues(finding, cx.settings.agent(), &cx.input.session);
                Vote::Owe(messages::owe(case, Some(finding), Some(tree), reason))
            }
        }
    }

    /// Judges the end of the session. An open review becomes a debt.
    fn ended(&mut self, cx: &mut GateCx<'_, ReviewGate>) -> Vote {
        self.settle(cx);
        let is_unsure = matches!(&self.standing, ReviewState::Approved(approval)
            if approval.binds_stops() && cx.shared.tree.is_none());
        match &mut self.standing {
            ReviewState::Wanted { case, .. } => close(case, AttemptOutcome::NotSpawned, cx),
            ReviewState::InReview { case, .. } => close(case, AttemptOutcome::NoDecision, cx),
            ReviewState::Idle | ReviewState::Approved(_) | ReviewState::Rejected { .. } => {}
        }
        match self.open(&cx.input.session) {
            Some(mut owed) => {
                if owed.items.is_empty() {
                    owed.items.extend(cx.shared.tree.as_ref().map(messages::tree_item));
                }
                Vote::Owe(owed)
            }
            None if is_unsure => Vote::Unsure,
            None => Vote::Pass,
        }
    }

    /// Updates the review at the end of a turn: whether one is due, whether its reviewer is gone, and whether
    /// the approved tree changed.
    fn settle(&mut self, cx: &mut GateCx<'_, ReviewGate>) {
        self.standing = match std::mem::take(&mut self.standing) {
            ReviewState::Idle
                if cx.settings.mode == ReviewMode::Always && cx.session.activity.has_worked() =>
            {
                let case = self.new_case(ReviewTrigger::Always, None, cx.input);
                ReviewState::Wanted { case, late: None }
            }
            ReviewState::InReview { mut case, seat } if seat.is_over(cx.input.at) => {
                close(&mut case, AttemptOutcome::NoDecision, cx);
                let stopped = seat.stopped.unwrap_or(cx.input.at);
                ReviewState::Wanted { case, late: Some(ReviewerSeat { stopped: Some(stopped), ..seat }) }
            }
            ReviewState::Approved(approval)
                if approval.binds_stops()
                    && cx.shared.tree.as_ref().is_some_and(|tree| *tree != approval.tree) =>
            {
                let case = self.new_case(approval.why, approval.gated, cx.input);
                ReviewState::Wanted { case, late: None }
            }
            other => other,
        };
    }

    fn is_reviewer(&self, policy: &Settings, input: &Input) -> bool {
        let is_due = match &self.standing {
            ReviewState::Idle => false,
            ReviewState::Approved(approval) => approval.binds_stops(),
            ReviewState::Wanted { .. } | ReviewState::InReview { .. } | ReviewState::Rejected { .. } => true,
        };
        is_due
            && matches!(&input.actor, Actor::Subagent { kind, .. }
                if policy.agents.iter().any(|agent| agent == kind.as_str()))
    }

    fn reviewer_started(&mut self, id: &Text<128>, cx: &mut GateCx<'_, ReviewGate>) -> Vote {
        let (Actor::Subagent { kind, .. }, Some(token)) = (&cx.input.actor, &cx.answer.token) else {
            return Vote::Pass;
        };
        if !self.is_reviewer(cx.settings, cx.input) {
            return Vote::Pass;
        }
        if self.is_unlocked {
            // A token that cannot be stored is useless.
            return Vote::Note(messages::not_begun());
        }
        let reviewer = ReviewerIdentity::Agent { id: id.clone(), kind: kind.clone() };
        if !self.sit_down(reviewer, token.as_str(), cx) {
            return Vote::Pass;
        }
        Vote::Note(messages::brief(token.as_str(), &cx.input.session, &cx.answer.peers))
    }

    /// Starts the review with this reviewer. Reports `false` if there is nothing to review, for example an
    /// unchanged approved tree.
    fn sit_down(&mut self, reviewer: ReviewerIdentity, token: &str, cx: &mut GateCx<'_, ReviewGate>) -> bool {
        let tree = cx.shared.tree.clone();
        let case = match std::mem::take(&mut self.standing) {
            ReviewState::Wanted { case, .. }
            | ReviewState::InReview { case, .. }
            | ReviewState::Rejected { case, .. } => case,
            ReviewState::Approved(approval)
                if approval.binds_stops() && tree.as_ref().is_some_and(|tree| *tree != approval.tree) =>
            {
                self.new_case(approval.why, approval.gated, cx.input)
            }
            other => {
                self.standing = other;
                return false;
            }
        };
        self.standing =
            ReviewState::InReview { case, seat: ReviewerSeat::new(reviewer, token, tree, cx.input.at) };
        true
    }

    /// Holds a reviewer that stops without a decision, within the limits of the breaker.
    fn reviewer_stopped(&mut self, id: &Text<128>, cx: &mut GateCx<'_, ReviewGate>) -> Vote {
        match &mut self.standing {
            ReviewState::InReview { seat, .. } if seat.is_agent(id) => {
                seat.stopped = Some(cx.input.at);
                Vote::Owe(messages::no_verdict(seat, &cx.input.session))
            }
            _ => Vote::Pass,
        }
    }

    fn process_started(&mut self, client: &Text<32>, token: &str, cx: &mut GateCx<'_, ReviewGate>) -> Vote {
        if self.is_unlocked {
            return Vote::Hold(messages::busy());
        }
        let reviewer = ReviewerIdentity::Process { client: client.clone() };
        let is_due = case::is_token(token) && self.sit_down(reviewer, token, cx);
        if is_due { Vote::Pass } else { Vote::Hold(messages::no_review()) }
    }

    fn process_ended(&mut self, token: &str, cx: &mut GateCx<'_, ReviewGate>) {
        if !self.knows(token) {
            return;
        }
        self.standing = match std::mem::take(&mut self.standing) {
            ReviewState::InReview { mut case, seat } if seat.is_process() => {
                close(&mut case, AttemptOutcome::NoDecision, cx);
                ReviewState::Wanted { case, late: None }
            }
            other => other,
        };
    }

    /// Notes that the reviewer named another session than the one of its token.
    fn misdirected(&mut self, token: &str, cx: &mut GateCx<'_, ReviewGate>) {
        if !self.knows(token) {
            return;
        }
        if let ReviewState::InReview { case, .. } | ReviewState::Wanted { case, .. } = &mut self.standing {
            close(case, AttemptOutcome::BadSession, cx);
        }
    }
}

/// Starts an attempt and returns the text of its template.
fn begin(case: &mut ReviewCase, cx: &GateCx<'_, ReviewGate>) -> String {
    case.attempts = case.attempts.saturating_add(1);
    let seed = Digest::hash_parts([
        cx.input.session.as_str(),
        case.id.as_str(),
        &case.round.to_string(),
        &case.attempts.to_string(),
    ]);
    let (id, text) = template::choose(cx.settings, seed);
    case.attempt = Some(ReviewAttempt { template: Text::from(id), at: cx.input.at, is_told: false });
    text.to_owned()
}

/// Closes an attempt and records its one outcome, if the agent read the request.
fn close(case: &mut ReviewCase, outcome: AttemptOutcome, cx: &mut GateCx<'_, ReviewGate>) {
    if let Some(attempt) = case.attempt.take().filter(|attempt| attempt.is_told) {
        let ReviewAttempt { template, at: since, .. } = attempt;
        let case = case.id.clone();
        cx.log(GateRecord::ReviewAttempt(ReviewAttemptRecord { template, outcome, since, case }));
    }
}
