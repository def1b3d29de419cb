//! Checks and applies a review decision.

use sprag_base::digest::Digest;
use sprag_base::redact;
use sprag_base::text::Text;

use crate::gates::GateCx;
use crate::gates::records::{DecidedReview, GateRecord, ReviewCause};
use crate::gates::review::case::{
    self, Approval, ApprovalUse, AttemptOutcome, Objection, ReviewCase, ReviewFinding, ReviewerIdentity,
};
use crate::gates::review::history::ReviewDecisionRecord;
use crate::gates::review::{ReviewGate, ReviewState, close, messages};
use crate::obligation::records::DebtRecord;
use crate::obligation::{Debt, DebtCause, Duty};
use crate::reason::Reason;
use crate::report::{ReviewDecision, ReviewResult};
use crate::verdict::Vote;

impl ReviewGate {
    pub(super) fn decided(&mut self, decided: &ReviewDecision, cx: &mut GateCx<'_, ReviewGate>) -> Vote {
        if self.is_unlocked {
            return Vote::Hold(messages::busy());
        }
        let checked = match &decided.token {
            Some(token) => self.by_reviewer(decided, token.as_str(), cx),
            None => self.by_person(cx),
        };
        match checked {
            Ok((by, tree)) => {
                self.apply_decision(decided, by, tree, cx);
                Vote::Pass
            }
            Err(reason) => Vote::Hold(reason),
        }
    }

    /// Checks a decision with a token: the sender must be the known reviewer, and the tree must be unchanged.
    fn by_reviewer(
        &mut self,
        decided: &ReviewDecision,
        token: &str,
        cx: &GateCx<'_, ReviewGate>,
    ) -> Result<(DecidedBy, Text<64>), Reason> {
        let (now, session) = (cx.input.at, &cx.input.session);
        let is_known = self.knows(token);
        let (ReviewState::InReview { seat, .. } | ReviewState::Wanted { late: Some(seat), .. }) =
            &mut self.standing
        else {
            return Err(match case::is_token(token) && self.case().is_some() {
                true => messages::bad_token(session),
                false if case::is_token(token) => messages::no_review(),
                false => messages::bad_token(session),
            });
        };
        if !is_known || seat.is_too_late(now) {
            return Err(messages::bad_token(session));
        }
        if !seat.is_process() {
            // One permit is valid for one command.
            let permit = seat.permit.take().filter(|permit| now <= permit.until);
            let fits = permit.is_some_and(|permit| permit.word.is_none_or(|word| word == decided.word));
            if !fits {
                return Err(messages::unseen(cx.settings.agent()));
            }
        }
        let Some(tree) = &cx.shared.tree else {
            return Err(messages::no_tree());
        };
        if seat.tree.as_ref() != Some(tree) {
            // The reviewer only has to look again and decide again.
            seat.tree = Some(tree.clone());
            return Err(messages::stale(session));
        }
        Ok((DecidedBy::Reviewer(seat.reviewer.clone()), tree.clone()))
    }

    /// Checks a decision of a person. The command already verified that the sender is a person.
    fn by_person(&self, cx: &GateCx<'_, ReviewGate>) -> Result<(DecidedBy, Text<64>), Reason> {
        if self.case().is_none() {
            return Err(messages::no_review());
        }
        let tree = cx.shared.tree.clone().ok_or_else(messages::no_tree)?;
        Ok((DecidedBy::Person, tree))
    }

    fn apply_decision(
        &mut self,
        decided: &ReviewDecision,
        by: DecidedBy,
        tree: Text<64>,
        cx: &mut GateCx<'_, ReviewGate>,
    ) {
        let mut case = match std::mem::take(&mut self.standing) {
            ReviewState::Wanted { case, .. }
            | ReviewState::InReview { case, .. }
            | ReviewState::Rejected { case, .. } => case,
            other => {
                self.standing = other;
                return;
            }
        };
        close(&mut case, by.outcome(), cx);
        let id = id_of(&case, decided, cx);
        let name = by.name();
        let decision = ReviewDecisionRecord {
            id: id.clone(),
            word: decided.word,
            summary: decided.summary.clone(),
            message: decided.message.clone(),
            opinions: decided.opinions.clone(),
            by: Text::from(name.as_str()),
            tree: tree.clone(),
        };
        let (why, gated, round, since) = (case.why, case.gated.clone(), case.round, case.since);
        let trigger = ReviewCause { why, gated, round, since };
        cx.log(GateRecord::ReviewDecided(DecidedReview { decision, trigger }));
        self.standing = match decided.word {
            ReviewResult::Complete => {
                let met = met(&tree, &by, cx);
                cx.debts(DebtRecord::Met, met);
                if let Some(objection) = self.objection.take() {
                    self.dispute(objection, &by, &tree, cx);
                }
                ReviewState::Approved(Approval {
                    id,
                    tree,
                    by: Text::new(name),
                    at: cx.input.at,
                    why: case.why,
                    gated: case.gated,
                    reach: ApprovalUse::Both,
                    is_confirmed: false,
                })
            }
            ReviewResult::Issues => {
                self.objection = Some(Objection { tree: tree.clone(), by: Text::new(name) });
                ReviewState::Rejected {
                    case,
                    tree,
                    // The finding is stored and shown, so it must not contain secrets.
                    finding: ReviewFinding {
                        id,
                        summary: redact::short(decided.summary.as_str()),
                        message: redact::short(decided.message.as_str()),
                    },
                    is_delivered: false,
                    at: cx.input.at,
                }
            }
        };
    }

    /// Opens a debt if a reviewer approves the tree in which another one found issues. The approval counts, so
    /// the agent can continue, and a person sees both names. The decision of a person settles the matter.
    fn dispute(
        &mut self,
        objection: Objection,
        by: &DecidedBy,
        tree: &Text<64>,
        cx: &mut GateCx<'_, ReviewGate>,
    ) {
        if objection.tree != *tree || matches!(by, DecidedBy::Person) {
            return;
        }
        let owed = messages::disputed(objection.by.as_str(), &by.name(), tree);
        let debt =
            Debt::new("review", &owed, &cx.input.session, &cx.input.root, DebtCause::Disputed, cx.input.at);
        cx.log(DebtRecord::Opened(debt));
        // A third reviewer does not settle it either.
        self.objection = Some(objection);
    }
}

/// The author of a decision.
enum DecidedBy {
    Reviewer(ReviewerIdentity),
    Person,
}

impl DecidedBy {
    fn name(&self) -> String {
        match self {
            DecidedBy::Reviewer(reviewer) => reviewer.name(),
            DecidedBy::Person => "person".to_owned(),
        }
    }

    /// Returns the outcome of the attempt. A decision of a person supersedes the request to the agent.
    fn outcome(&self) -> AttemptOutcome {
        match self {
            DecidedBy::Reviewer(_) => AttemptOutcome::Success,
            DecidedBy::Person => AttemptOutcome::Superseded,
        }
    }
}

fn id_of(case: &ReviewCase, decided: &ReviewDecision, cx: &GateCx<'_, ReviewGate>) -> Text<16> {
    let at = cx.input.at.to_string();
    let parts =
        [case.id.as_str(), &case.round.to_string(), decided.word.name(), decided.summary.as_str(), &at];
    Text::new(Digest::hash_parts(parts).short())
}

/// Returns the review debts that the decision meets: of this session, or of this tree. Only a person settles
/// a dispute about an unchanged tree.
fn met(tree: &Text<64>, by: &DecidedBy, cx: &GateCx<'_, ReviewGate>) -> Vec<String> {
    let item = messages::tree_item(tree);
    let debts = cx.shared.debts.iter().flatten().map(|open| &open.debt);
    let debts = debts.filter(|debt| debt.duty == Duty::Review);
    debts
        .filter(|debt| {
            let is_same_work = debt.root.as_str() == cx.input.root && debt.items.contains(&item);
            let is_settled = debt.cause != DebtCause::Disputed
                || matches!(by, DecidedBy::Person)
                || !debt.items.contains(&item);
            (debt.session == cx.input.session || is_same_work) && is_settled
        })
        .map(|debt| debt.id.to_string())
        .collect()
}
