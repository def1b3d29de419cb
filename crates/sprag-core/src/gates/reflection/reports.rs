//! What an agent says about what it has learned.

use serde_json::json;

use super::{Known, Policy, Reflection, SKIPPED, Standing};
use crate::event::Decider;
use crate::gates::Cx;
use crate::memory::kinds;
use crate::memory::learning::{self, Learning};
use crate::obligation::{DEBT_MET, Duty};
use crate::text::Text;
use crate::verdict::{Reason, Vote};

/// Contents remembered as accepted; a session that learned more may store one of them twice.
const KNOWN: usize = 200;

impl Reflection {
    /// The name under which this content was accepted before.
    pub fn known(&self, digest: crate::digest::Digest) -> Option<&str> {
        self.known.iter().find(|known| known.digest == digest).map(|known| known.id.as_str())
    }

    pub(super) fn reflected(&mut self, text: &str, ids: &[Text<64>], cx: &mut Cx<'_, Policy>) -> Vote {
        let submission = match learning::submission(text) {
            Ok(submission) => submission,
            Err(unreadable) => return refuse("unreadable", unreadable.to_string()),
        };
        if submission.accepted.is_empty() {
            let reasons: Vec<String> = submission
                .rejected
                .iter()
                .map(|rejected| format!("candidate {}: {}", rejected.index, rejected.reason))
                .collect();
            return refuse(
                "no_candidate",
                format!("no candidate has the form of a learning: {}", reasons.join("; ")),
            );
        }
        let ticket = self.ticket().map(|ticket| ticket.id.clone());
        for (index, candidate) in submission.accepted {
            let digest = candidate.digest();
            let (Some(id), None) = (ids.get(index), self.known(digest)) else {
                continue;
            };
            if self.known.len() >= KNOWN {
                self.known.remove(0);
            }
            self.known.push(Known { digest, id: id.clone() });
            let learning =
                Learning::new(id.as_str(), candidate, &cx.input.session, ticket.clone(), cx.input.at);
            cx.log(kinds::ACCEPTED, json!(learning));
        }
        self.standing = Standing::Reflected { at: cx.input.at };
        self.settle_debts(cx);
        Vote::Pass
    }

    pub(super) fn skipped(&mut self, reason: &Text<500>, decider: Decider, cx: &mut Cx<'_, Policy>) -> Vote {
        if reason.as_str().trim().is_empty() {
            return Vote::Hold(Reason::new(
                "no_reason",
                "a skip needs a reason",
                format!("sprag skip REASON --session {}", cx.input.session.as_str()),
            ));
        }
        cx.log(SKIPPED, json!({"why": reason, "decider": decider, "ticket": self.ticket()}));
        self.standing = Standing::Skipped { reason: reason.clone(), decider, at: cx.input.at };
        self.settle_debts(cx);
        Vote::Pass
    }

    /// A closed ticket with next to no change.
    pub(super) fn skip_silently(&mut self, lines: u64, cx: &mut Cx<'_, Policy>) -> Vote {
        let reason = Text::new(format!("auto: {lines} lines changed"));
        self.skipped(&reason, Decider::Auto, cx)
    }

    /// Saying it late is saying it. And who has said something is not asked about the session as such.
    fn settle_debts(&mut self, cx: &mut Cx<'_, Policy>) {
        self.asked = true;
        if let Some(changes) = &cx.facts.changes {
            self.size = Some(changes.size);
        }
        let debts = cx.facts.debts.as_deref().unwrap_or_default().iter().map(|open| &open.debt);
        let met = debts.filter(|debt| debt.duty == Duty::Reflect && debt.session == cx.input.session);
        let met = met.map(|debt| debt.id.to_string()).collect();
        cx.debts(DEBT_MET, met);
    }
}

fn refuse(code: &str, why: String) -> Vote {
    Vote::Hold(Reason::new(code, why, "sprag reflect --schema"))
}
