//! Reports that a person or an agent makes through a command.

use serde::{Deserialize, Serialize};

use sprag_base::redact;
use sprag_base::text::Text;
use sprag_intent::DeclaredClass;
use sprag_memory::answers::AnsweredQuestion;
use sprag_memory::learning::{self, Submission, SubmissionError};
use sprag_memory::records::{Decider, SimilarLearning};
use sprag_memory::write_gate::SimilarResolution;

/// A report that a person or an agent sends through a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    Observed {
        note: Text<2000>,
    },
    /// A person allows a refused call once.
    Approved {
        code: Text<16>,
    },
    /// A person rejects a refused call and wants another solution.
    Rejected {
        code: Text<16>,
    },
    /// An agent selects the intent that it works for.
    IntentSelected {
        id: Text<64>,
        class: DeclaredClass,
    },
    /// An intent is done: the sender ran its checks, and they passed.
    IntentDone {
        id: Text<64>,
        /// The fingerprint of the intent when the checks ran.
        fingerprint: Text<64>,
    },
    /// A submission of candidates. The gate parses it again, for every sender.
    Reflected {
        submission: ReportedSubmission,
        /// Ids for accepted candidates, one for each candidate.
        ids: Vec<Text<64>>,
        /// The decision about candidates that resemble a learning. Without a submission it applies to the
        /// waiting candidates.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resolution: Option<SimilarResolution>,
    },
    /// The work teaches nothing.
    Skipped {
        reason: Text<500>,
        decider: Decider,
    },
    /// Learnings that were useful.
    Referred {
        ids: Vec<Text<64>>,
        how: Text<500>,
    },
    /// Whether work that used learnings succeeded.
    Went {
        ids: Vec<Text<64>>,
        is_success: bool,
        what: Text<500>,
    },
    /// A question and its answer.
    Answered(AnswerReport),
    /// The user or the agent ran the checks. The gate looks up the results itself.
    Verified,
    /// The decision of a reviewer.
    Decided(ReviewDecision),
    /// A reviewer named the wrong session. This is the session that owns the token.
    Misdirected {
        token: Text<80>,
    },
    /// Sprag started the process of a reviewer with this client.
    ReviewerStarted {
        client: Text<32>,
        /// The journal stores only its hash.
        token: Text<80>,
    },
    /// The process of the reviewer ended.
    ReviewerEnded {
        token: Text<80>,
    },
}

/// A submission of candidates, parsed once. Serialization writes the original JSON text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct ReportedSubmission {
    text: String,
    read: Result<Submission, SubmissionError>,
}

impl From<String> for ReportedSubmission {
    fn from(text: String) -> ReportedSubmission {
        ReportedSubmission { read: learning::submission(&text), text }
    }
}

impl From<ReportedSubmission> for String {
    fn from(submission: ReportedSubmission) -> String {
        submission.text
    }
}

impl ReportedSubmission {
    /// Reads a submission and removes its secrets.
    pub fn redacted(text: &str) -> Result<ReportedSubmission, SubmissionError> {
        let (submission, text) = learning::redacted_submission(text)?;
        Ok(ReportedSubmission { text, read: Ok(submission) })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Reports whether the submission is empty.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    pub fn read(&self) -> Result<&Submission, &SubmissionError> {
        self.read.as_ref()
    }
}

/// The result of a report, for the command that sent it.
#[derive(Clone, Debug, PartialEq)]
pub enum ReportOutcome {
    Reflected(Reflected),
}

/// The results for the candidates of a submission.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reflected {
    /// New learnings, and learnings that a candidate was merged into.
    pub kept: Vec<KeptLearning>,
    pub rejected: Vec<RejectedItem>,
    /// Candidates that wait for a decision, with the learnings that they resemble.
    pub similar: Vec<SimilarLearning>,
    /// Candidates that were submitted before, with the id of their learning.
    pub repeated: Vec<RepeatedCandidate>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeptLearning {
    pub id: Text<64>,
    pub summary: Text<200>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RejectedItem {
    pub index: u32,
    pub stage: Text<32>,
    pub reason: Text<1000>,
}

/// A candidate that equals an existing learning.
#[derive(Clone, Debug, PartialEq)]
pub struct RepeatedCandidate {
    pub index: u32,
    pub learning: KeptLearning,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerReport {
    pub question: Text<1000>,
    pub answer: Text<2000>,
    /// Source of the answer: `user`, a file, a command.
    pub source: Text<300>,
    /// From 0 to 1.
    pub confidence: f32,
}

impl From<&AnswerReport> for AnsweredQuestion {
    fn from(report: &AnswerReport) -> AnsweredQuestion {
        AnsweredQuestion {
            question: report.question.clone(),
            answer: report.answer.clone(),
            source: report.source.clone(),
            confidence: report.confidence,
            ttl_days: None,
            evidence: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewDecision {
    pub word: ReviewResult,
    pub summary: Text<500>,
    /// Message for the author.
    pub message: Text<4000>,
    /// Opinions of other agents.
    pub opinions: Vec<Text<1000>>,
    /// The token that identifies the reviewer. `None` for a person at a terminal.
    pub token: Option<Text<80>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ReviewResult {
    Complete,
    Issues,
}

sprag_base::names! { pub fn name(ReviewResult): Complete = "COMPLETE", Issues = "ISSUES" }

impl Report {
    /// Returns the report with secrets redacted, because the session state stores parts of it. Tokens stay,
    /// because gates compare them. A submission stays unchanged: its parser redacts the candidates.
    #[must_use]
    pub fn redacted(self) -> Report {
        fn clean<const N: usize>(text: &mut Text<N>) {
            *text = redact::short(text.as_str());
        }
        let mut report = self;
        match &mut report {
            Report::Observed { note } => clean(note),
            Report::Skipped { reason, .. } => clean(reason),
            Report::Referred { how, .. } => clean(how),
            Report::Went { what, .. } => clean(what),
            Report::Answered(answered) => {
                clean(&mut answered.question);
                clean(&mut answered.answer);
                clean(&mut answered.source);
            }
            Report::Decided(decided) => {
                clean(&mut decided.summary);
                clean(&mut decided.message);
                decided.opinions.iter_mut().for_each(clean);
            }
            Report::Approved { .. }
            | Report::Rejected { .. }
            | Report::IntentSelected { .. }
            | Report::IntentDone { .. }
            | Report::Reflected { .. }
            | Report::Verified
            | Report::Misdirected { .. }
            | Report::ReviewerStarted { .. }
            | Report::ReviewerEnded { .. } => {}
        }
        report
    }

    /// Reports whether an agent may send this report too.
    pub fn is_anyones(&self) -> bool {
        match self {
            Report::Observed { .. }
            | Report::Reflected { .. }
            | Report::Skipped { .. }
            | Report::Referred { .. }
            | Report::Went { .. }
            | Report::Answered(_)
            | Report::IntentSelected { .. }
            | Report::Misdirected { .. } => true,
            // The review gate checks the token.
            Report::Decided(decided) => decided.token.is_some(),
            // Sprag does not run checks for a file in the inbox; the next stop runs them.
            Report::Verified | Report::IntentDone { .. } => false,
            Report::Approved { .. }
            | Report::Rejected { .. }
            | Report::ReviewerStarted { .. }
            | Report::ReviewerEnded { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The form in which version 0.1 left it in an inbox.
    #[test]
    fn a_report_of_an_older_version_is_read_and_written_alike() {
        let left = r#"{"reflected":{"submission":"{\"candidates\":[{\"summary\":3}]}","ids":["l-1"]}}"#;
        let report: Report = serde_json::from_str(left).unwrap();
        assert!(matches!(&report, Report::Reflected { submission, .. }
            if submission.read().is_ok_and(|read| read.rejected.len() == 1)));
        assert_eq!(serde_json::to_string(&report).unwrap(), left);
        let unreadable = r#"{"reflected":{"submission":"no","ids":[]}}"#;
        let report: Report = serde_json::from_str(unreadable).unwrap();
        assert!(matches!(&report, Report::Reflected { submission, .. } if submission.read().is_err()));
    }
}
