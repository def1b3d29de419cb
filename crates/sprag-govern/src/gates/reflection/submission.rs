//! Handles submitted candidates and skips.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::record::REPORTER;
use sprag_base::text::{Text, shell_word};
use sprag_memory::destination::{Destination, place};
use sprag_memory::learning::{
    Candidate, Evidence, Learning, LearningOrigin, LearningStatus, RejectedCandidate, Submission,
    SubmissionError,
};
use sprag_memory::records::{
    Decider, LearningIds, MemoryRecord, ReflectionSummary, Rejection, SimilarLearning, SkippedReflection,
    SkippedTicket, Superseded, WriteGateMiss,
};
use sprag_memory::write_gate::{
    self, CandidateFacts, CandidateFate, DuplicateOf, JudgedCandidate, SimilarResolution, WriteGateStep,
};

use super::{Candidates, ReflectionGate, ReflectionState};
use crate::event::Actor;
use crate::gates::GateCx;
use crate::obligation::Duty;
use crate::obligation::records::DebtRecord;
use crate::reason::Reason;
use crate::report::{
    KeptLearning, Reflected, RejectedItem, RepeatedCandidate, ReportOutcome, ReportedSubmission,
};
use crate::trackers::Ticket;
use crate::verdict::Vote;

/// Maximum number of remembered digests. With more, a candidate may be stored twice.
const KNOWN: usize = 200;
/// Maximum number of candidates that wait for a decision. Every snapshot repeats them.
const PARKED: usize = 8;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct AcceptedDigest {
    digest: Digest,
    id: Text<64>,
}

/// A candidate that resembles a learning. Only candidates for the project wait here: the journal of a project
/// must not store personal ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Parked {
    id: Text<64>,
    candidate: Candidate,
}

impl ReflectionGate {
    /// Returns the id under which this content was accepted before.
    fn known(&self, digest: Digest) -> Option<&str> {
        self.known.iter().find(|known| known.digest == digest).map(|known| known.id.as_str())
    }

    /// Returns the candidates of a report: those in its submission, or else the waiting ones.
    fn handed_in(
        &self,
        submission: &ReportedSubmission,
        resolution: Option<&SimilarResolution>,
    ) -> Result<Submission, SubmissionError> {
        if !submission.is_empty() || resolution.is_none() {
            return submission.read().cloned().map_err(SubmissionError::clone);
        }
        let parked = self.parked.iter().map(|parked| parked.candidate.clone());
        if self.parked.is_empty() {
            Err(SubmissionError::Empty)
        } else {
            Ok(Submission { accepted: parked.enumerate().collect(), rejected: Vec::new() })
        }
    }

    /// Returns the candidates for which the host looks up facts, or `None` if none could be read.
    pub(super) fn candidates(
        &self,
        submission: &ReportedSubmission,
        resolution: Option<&SimilarResolution>,
    ) -> Option<Candidates> {
        let list = self.handed_in(submission, resolution).ok()?.accepted;
        Some(Candidates { list, named: resolution.and_then(SimilarResolution::names).map(Text::from) })
    }

    pub(super) fn reflected(
        &mut self,
        reported: &ReportedSubmission,
        ids: &[Text<64>],
        resolution: Option<&SimilarResolution>,
        cx: &mut GateCx<'_, ReflectionGate>,
    ) -> Vote {
        if cx.input.actor != Actor::Main {
            let why = "only the session's own agent may reflect";
            return Vote::Hold(Reason::new("not_yours", why, "sprag observe NOTE"));
        }
        let submission = match self.handed_in(reported, resolution) {
            Ok(submission) => submission,
            Err(unreadable) => return refuse("unreadable", unreadable.to_string()),
        };
        let empty = CandidateFacts::default();
        let around = cx.answer.candidates.as_ref().unwrap_or(&empty);
        if let Some(named) = resolution.and_then(SimilarResolution::names)
            && around.named.is_none()
        {
            let why = format!("learning `{}` does not exist", sprag_base::text::quoted(named));
            return Vote::Hold(Reason::new("not_found", why, "sprag memory list"));
        }
        let is_parked = reported.is_empty();
        let parked: Vec<Text<64>> = self.parked.iter().map(|parked| parked.id.clone()).collect();
        if is_parked {
            self.parked.clear();
        }
        let mut sieved = Sieved::new(&submission, resolution);
        for rejected in &submission.rejected {
            sieved.out_of_form(rejected, cx);
        }
        let is_any_in_form = !submission.accepted.is_empty();
        let (again, new): (Vec<_>, Vec<_>) = submission
            .accepted
            .into_iter()
            .partition(|(_, candidate)| self.known(candidate.digest()).is_some());
        for (index, candidate) in again {
            let id = Text::from(self.known(candidate.digest()).unwrap_or_default());
            sieved.repeated(index, id, &candidate);
            sieved.is_met = true;
        }
        let asked = write_gate::GateRequest {
            policy: cx.settings.write_gate,
            was_asked_for: self.was_asked_for,
            resolution,
            around,
        };
        for judged in write_gate::judge(new, &asked) {
            let id = if is_parked { parked.get(judged.index) } else { ids.get(judged.index) };
            let Some(id) = id else { continue };
            self.conclude(judged, id, around, &mut sieved, cx);
        }
        let Sieved { done, told, warnings, is_met, mut reflected } = sieved;
        reflected.similar.clone_from(&done.similar);
        cx.log(MemoryRecord::Reflected(done));
        cx.set_outcome(ReportOutcome::Reflected(reflected));
        if !is_met {
            let (code, what) = if is_any_in_form {
                ("not_kept", "no candidate was kept")
            } else {
                ("no_candidate", "no candidate is well-formed")
            };
            return refuse(code, format!("{what}: {}", told.join("; ")));
        }
        self.standing = ReflectionState::Reflected { at: cx.input.at };
        self.settle_debts(cx);
        if warnings.is_empty() { Vote::Pass } else { Vote::Note(Text::new(warnings.join("\n"))) }
    }

    /// Records the result for one candidate.
    fn conclude(
        &mut self,
        judged: JudgedCandidate,
        id: &Text<64>,
        around: &CandidateFacts,
        sieved: &mut Sieved,
        cx: &mut GateCx<'_, ReflectionGate>,
    ) {
        let JudgedCandidate { index, candidate, fate, warning } = judged;
        let to = place(candidate.scope);
        sieved.warnings.extend(warning.map(|warning| format!("candidate {index}: {warning}")));
        sieved.is_met |= !matches!(fate, CandidateFate::Rejected { .. });
        match fate {
            CandidateFate::Kept { misses, supersedes } => {
                self.remember(candidate.digest(), id);
                sieved.kept(id, &candidate, &candidate.summary);
                let miss = |(stage, score)| WriteGateMiss { id: id.clone(), stage, score };
                sieved.done.misses.extend(misses.into_iter().map(miss));
                let ticket = self.ticket().map(|ticket| ticket.id.clone());
                let new = Learning::new(id.as_str(), candidate, &cx.input.session, ticket, cx.input.at);
                let learning = Learning {
                    seen: around.seen.get(&index).cloned().unwrap_or_default(),
                    supersedes: supersedes.iter().cloned().collect(),
                    origin: origin(cx),
                    ..new
                };
                cx.keep(to, MemoryRecord::Accepted(Box::new(learning)));
                if let Some(old) = supersedes {
                    let why = Text::from("replaced in a reflection");
                    cx.keep(to, MemoryRecord::Superseded(Superseded { id: old, by: id.clone(), why }));
                }
            }
            CandidateFate::Merged { into } => {
                self.remember(candidate.digest(), &into.id);
                sieved.kept(&into.id, &candidate, &into.candidate.summary);
                let seen = merged_evidence(&into.seen, around.seen.get(&index));
                cx.keep(to, MemoryRecord::Corrected(Box::new(Learning { seen, ..*into })));
            }
            CandidateFate::Duplicate { of, reason } => {
                if let DuplicateOf::Learning { id, status, place } = of {
                    let how = Text::from("said again in a reflection");
                    let about = LearningIds { ids: vec![id.clone()], how };
                    let record = match status {
                        LearningStatus::Archived => MemoryRecord::Restored(about),
                        _ => MemoryRecord::Verified(about),
                    };
                    cx.keep(place, record);
                    sieved.repeated(index, id, &candidate);
                }
                sieved.rejected(index, &candidate, WriteGateStep::Duplicate, reason, cx);
            }
            CandidateFate::Similar { to: similar, reason } => {
                sieved.count(WriteGateStep::Similar);
                let resembles = |(id, score)| SimilarLearning { index: number(index), id, score };
                sieved.done.similar.extend(similar.into_iter().map(resembles));
                let how = match to {
                    Destination::Project => {
                        if self.parked.len() >= PARKED {
                            self.parked.remove(0);
                        }
                        self.parked.push(Parked { id: id.clone(), candidate });
                        "decide"
                    }
                    Destination::Personal | Destination::Session => "submit it again and decide",
                };
                let session = shell_word(cx.input.session.as_str());
                sieved.warnings.push(format!(
                    "candidate {index} is not kept yet: {reason}; {how}: `sprag reflect --session {session}` \
                     with `--merge ID`, `--supersede ID` or `--distinct WHY`"
                ));
            }
            CandidateFate::Rejected { stage, reason } => {
                sieved.rejected(index, &candidate, stage, reason, cx)
            }
        }
    }

    fn remember(&mut self, digest: Digest, id: &Text<64>) {
        if self.known.len() >= KNOWN {
            self.known.remove(0);
        }
        self.known.push(AcceptedDigest { digest, id: id.clone() });
    }

    pub(super) fn skipped(
        &mut self,
        reason: &Text<500>,
        decider: Decider,
        cx: &mut GateCx<'_, ReflectionGate>,
    ) -> Vote {
        if reason.as_str().trim().is_empty() {
            return Vote::Hold(Reason::new(
                "no_reason",
                "a skip needs a reason",
                format!("sprag skip REASON --session {}", cx.input.session.as_str()),
            ));
        }
        let ticket = self.ticket().cloned();
        let ticket = ticket.map(|Ticket { id, tracker }| SkippedTicket { id, tracker });
        cx.log(MemoryRecord::Skipped(SkippedReflection { why: reason.clone(), decider, ticket }));
        self.standing = ReflectionState::Skipped { reason: reason.clone(), decider, at: cx.input.at };
        self.settle_debts(cx);
        Vote::Pass
    }

    /// Skips the reflection on a closed ticket with a small change.
    pub(super) fn skip_silently(&mut self, lines: u64, cx: &mut GateCx<'_, ReflectionGate>) -> Vote {
        let reason = Text::new(format!("auto: {lines} lines changed"));
        self.skipped(&reason, Decider::Auto, cx)
    }

    /// Marks the reflection debts of the session as met. Sprag does not ask about the session itself any
    /// more.
    fn settle_debts(&mut self, cx: &mut GateCx<'_, ReflectionGate>) {
        self.asked = true;
        if let Some(changes) = &cx.shared.changes {
            self.size = Some(changes.size);
        }
        let debts = cx.shared.debts.as_deref().unwrap_or_default().iter().map(|open| &open.debt);
        let met = debts.filter(|debt| debt.duty == Duty::Reflect && debt.session == cx.input.session);
        let met = met.map(|debt| debt.id.to_string()).collect();
        cx.debts(DebtRecord::Met, met);
    }
}

/// The results of a submission so far.
struct Sieved {
    done: ReflectionSummary,
    /// Corrections for the agent that submits again.
    told: Vec<String>,
    warnings: Vec<String>,
    /// Whether the reflection counts: a candidate was kept or was already known.
    is_met: bool,
    /// The results for the command that submitted the candidates.
    reflected: Reflected,
}

impl Sieved {
    fn new(submission: &Submission, resolution: Option<&SimilarResolution>) -> Sieved {
        let distinct = match resolution {
            Some(SimilarResolution::Distinct(why)) => why.clone(),
            _ => Text::default(),
        };
        let candidates = number(submission.accepted.len() + submission.rejected.len());
        let done = ReflectionSummary {
            candidates,
            distinct,
            stages: BTreeMap::new(),
            ..ReflectionSummary::default()
        };
        Sieved {
            done,
            told: Vec::new(),
            warnings: Vec::new(),
            is_met: false,
            reflected: Reflected::default(),
        }
    }

    fn count(&mut self, stage: WriteGateStep) {
        *self.done.stages.entry(stage.name().to_owned()).or_default() += 1;
    }

    /// Records a candidate that was submitted before or equals a learning, with the id of that learning.
    fn repeated(&mut self, index: usize, id: Text<64>, candidate: &Candidate) {
        let learning = KeptLearning { id: id.clone(), summary: candidate.summary.clone() };
        self.reflected.repeated.push(RepeatedCandidate { index: number(index), learning });
        self.done.repeated.push(SimilarLearning { index: number(index), id, score: 1.0 });
    }

    fn kept(&mut self, id: &Text<64>, candidate: &Candidate, summary: &Text<200>) {
        self.done.accepted.push(id.clone());
        self.reflected.kept.push(KeptLearning { id: id.clone(), summary: summary.clone() });
        for criterion in &candidate.criteria_met {
            *self.done.criteria.entry(criterion.name().to_owned()).or_default() += 1;
        }
    }

    fn rejected(
        &mut self,
        index: usize,
        candidate: &Candidate,
        stage: WriteGateStep,
        reason: Text<1000>,
        cx: &mut GateCx<'_, ReflectionGate>,
    ) {
        self.count(stage);
        self.told.push(format!("candidate {index}: {reason}"));
        let item =
            RejectedItem { index: number(index), stage: Text::from(stage.name()), reason: reason.clone() };
        self.reflected.rejected.push(item);
        let rejection = Rejection {
            summary: candidate.summary.clone(),
            tags: candidate.tags.clone(),
            stage: Text::from(stage.name()),
            reason,
            index: Some(number(index)),
            session: Some(cx.input.session.clone()),
        };
        cx.keep(place(candidate.scope), MemoryRecord::Rejected(rejection));
    }

    fn out_of_form(&mut self, rejected: &RejectedCandidate, cx: &mut GateCx<'_, ReflectionGate>) {
        self.count(WriteGateStep::Schema);
        self.told.push(format!("candidate {}: {}", rejected.index, rejected.reason));
        self.reflected.rejected.push(RejectedItem {
            index: number(rejected.index),
            stage: rejected.stage.clone(),
            reason: rejected.reason.clone(),
        });
        let rejection = Rejection {
            summary: rejected.summary.clone(),
            tags: Vec::new(),
            stage: rejected.stage.clone(),
            reason: rejected.reason.clone(),
            index: Some(number(rejected.index)),
            session: Some(cx.input.session.clone()),
        };
        let to = rejected.scope.map_or(Destination::Project, place);
        cx.keep(to, MemoryRecord::Rejected(rejection));
    }
}

fn origin(cx: &GateCx<'_, ReflectionGate>) -> LearningOrigin {
    let client = cx.input.client.as_str();
    let via = if client.is_empty() || client == REPORTER { "reflect" } else { client };
    LearningOrigin { via: Text::from(via), ..LearningOrigin::default() }
}

/// Returns the evidence of the new text, and the old evidence for other places.
fn merged_evidence(old: &[Evidence], new: Option<&Vec<Evidence>>) -> Vec<Evidence> {
    let mut seen = new.cloned().unwrap_or_default();
    for evidence in old {
        if !seen.iter().any(|known| known.place == evidence.place) {
            seen.push(evidence.clone());
        }
    }
    seen
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

fn refuse(code: &str, why: String) -> Vote {
    Vote::Hold(Reason::new(code, why, "sprag reflect --schema"))
}
