//! Submits candidates for commands and for the MCP server: removes secrets and reports the result of each
//! candidate.

use std::path::Path;

use sprag_base::ids::SessionId;
use sprag_base::text::{Text, one_line};
use sprag_base::time::Timestamp;
use sprag_govern::event::Actor;
use sprag_govern::report::{
    KeptLearning, Reflected, RejectedItem, RepeatedCandidate, Report, ReportOutcome, ReportedSubmission,
};
use sprag_memory::learning::{Submission, SubmissionError};
use sprag_memory::records::SimilarLearning;
use sprag_memory::write_gate::SimilarResolution;

use crate::memory;
use crate::report::{self, Delivery, ReportError, ReportReceipt};
use crate::store::new_record;
use crate::world::World;

/// Author, directory and time of a submission.
pub struct Submitter<'a> {
    pub session: &'a SessionId,
    pub actor: &'a Actor,
    pub cwd: &'a Path,
    pub now: Timestamp,
}

#[derive(Debug)]
pub enum SubmitError {
    Unreadable(SubmissionError),
    Report(ReportError),
}

/// Result of a submission.
#[derive(Debug)]
pub struct SubmissionResult {
    pub delivery: Delivery,
    pub accepted: Vec<KeptLearning>,
    pub rejected: Vec<RejectedItem>,
    pub similar: Vec<SimilarLearning>,
    pub notes: Vec<String>,
}

/// Submits candidates. Without candidates, a resolution applies to the candidates that wait.
pub fn hand_in(
    world: &World<'_>,
    hand: &Submitter<'_>,
    text: &str,
    resolution: Option<SimilarResolution>,
) -> Result<SubmissionResult, SubmitError> {
    let reported = if text.trim().is_empty() && resolution.is_some() {
        ReportedSubmission::from(String::new())
    } else {
        ReportedSubmission::redacted(text).map_err(SubmitError::Unreadable)?
    };
    let submission = reported.read().cloned().unwrap_or_default();
    let count = submission.accepted.len() + submission.rejected.len();
    let ids: Vec<Text<64>> = (0..count).map(|_| Text::new(new_record::new_id(hand.now))).collect();
    let report = Report::Reflected { submission: reported, ids: ids.clone(), resolution };
    let told = report::tell(world, hand.session, hand.actor, report, hand.cwd, hand.now)
        .map_err(SubmitError::Report)?;
    if told.delivery == Delivery::Recorded {
        memory::after_change(world, hand.now);
    }
    Ok(SubmissionResult::from_receipt(&submission, &ids, told))
}

impl SubmissionResult {
    fn from_receipt(submission: &Submission, ids: &[Text<64>], told: ReportReceipt) -> SubmissionResult {
        let ReportReceipt { delivery, outcome, notes } = told;
        let Reflected { kept, rejected, similar, repeated } = match (&delivery, outcome) {
            (Delivery::Left(_), _) => left(submission, ids),
            (Delivery::Recorded | Delivery::Refused(_), Some(ReportOutcome::Reflected(reflected))) => {
                reflected
            }
            (Delivery::Recorded | Delivery::Refused(_), None) => Reflected::default(),
        };
        let mut accepted = kept;
        // A candidate that this session submitted before keeps its id.
        for RepeatedCandidate { index, learning } in repeated {
            if !rejected.iter().any(|rejected| rejected.index == index) {
                accepted.push(learning);
            }
        }
        SubmissionResult { delivery, accepted, rejected, similar, notes }
    }

    /// Returns the lines for the submitter.
    pub fn lines(&self, how: &str) -> Vec<String> {
        let kept = self
            .accepted
            .iter()
            .map(|it| format!("kept `{}` ({how}): {}", it.id, one_line(it.summary.as_str())));
        let not = self
            .rejected
            .iter()
            .map(|it| format!("candidate {} is not kept: {}", it.index, one_line(it.reason.as_str())));
        let mut lines: Vec<String> = kept.chain(not).chain(self.notes.iter().cloned()).collect();
        if self.rejected.iter().any(|it| it.stage.as_str() != "duplicate") {
            lines.push("  next: fix these candidates and submit them again".to_owned());
        }
        lines
    }
}

/// Predicts the result of a submission that waits in the inbox, from its form alone.
fn left(submission: &Submission, ids: &[Text<64>]) -> Reflected {
    let kept = submission.accepted.iter().filter_map(|(index, it)| {
        Some(KeptLearning { id: ids.get(*index)?.clone(), summary: it.summary.clone() })
    });
    let rejected = submission.rejected.iter().cloned().map(|it| RejectedItem {
        index: u32::try_from(it.index).unwrap_or(u32::MAX),
        stage: it.stage,
        reason: it.reason,
    });
    Reflected { kept: kept.collect(), rejected: rejected.collect(), ..Reflected::default() }
}
