//! Reports that a person or an agent makes through a command.

use serde::{Deserialize, Serialize};

use sprag_base::redact;
use sprag_base::text::Text;
use sprag_intent::DeclaredClass;
use sprag_memory::answers::AnsweredQuestion;
use sprag_memory::learning::{self, Submission, SubmissionError};
use sprag_memory::records::{Decider, SimilarLearning};
use sprag_memory::write_gate::SimilarResolution;

/// What somebody told us through a command of ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    Observed {
        note: Text<2000>,
    },
    /// A person lets a refused call through, once.
    Approved {
        code: Text<16>,
    },
    /// A person does not, and wants it done in another way.
    Rejected {
        code: Text<16>,
    },
    /// An agent says what it works for from here on.
    IntentSelected {
        id: Text<64>,
        class: DeclaredClass,
    },
    /// An intent is reached: its checks were run, and passed. Whoever says so has run them.
    IntentDone {
        id: Text<64>,
        /// What it meant when they were.
        fingerprint: Text<64>,
    },
    /// What was learned: a submission of candidates. It is read again here, whoever sent it.
    Reflected {
        submission: ReportedSubmission,
        /// Names for what is accepted, one for each candidate.
        ids: Vec<Text<64>>,
        /// What to do with those that resemble something known. With no submission: with those that wait.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resolution: Option<SimilarResolution>,
    },
    /// There is nothing to learn from this.
    Skipped {
        reason: Text<500>,
        decider: Decider,
    },
    /// Learnings that were of use.
    Referred {
        ids: Vec<Text<64>>,
        how: Text<500>,
    },
    /// Whether work that used learnings went well.
    Went {
        ids: Vec<Text<64>>,
        is_success: bool,
        what: Text<500>,
    },
    /// A question that came up, and what answers it.
    Answered(AnswerReport),
    /// The checks were run by hand. What came of them is looked up, whoever says so.
    Verified,
    /// A reviewer's verdict.
    Decided(ReviewDecision),
    /// A reviewer named the wrong session; this is the one whose token it has.
    Misdirected {
        token: Text<80>,
    },
    /// A reviewer's process was started, as one of this client.
    ReviewerStarted {
        client: Text<32>,
        /// Only its hash is kept.
        token: Text<80>,
    },
    /// That process has ended.
    ReviewerEnded {
        token: Text<80>,
    },
}

/// A submission of candidates, read once. It is written as the JSON text that it came as.
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
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Reports whether it brings nothing at all.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    pub fn read(&self) -> Result<&Submission, &SubmissionError> {
        self.read.as_ref()
    }
}

/// What came of a report, for the command that sent it.
#[derive(Clone, Debug, PartialEq)]
pub enum ReportOutcome {
    Reflected(Reflected),
}

/// What became of the candidates of a submission.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reflected {
    /// New learnings, and those that a candidate became part of.
    pub kept: Vec<KeptLearning>,
    pub rejected: Vec<RejectedItem>,
    /// Candidates that wait for a word, with what they resemble.
    pub similar: Vec<SimilarLearning>,
    /// What was handed in before, under the name that it has.
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

/// A candidate that says what a learning says already.
#[derive(Clone, Debug, PartialEq)]
pub struct RepeatedCandidate {
    pub index: u32,
    pub learning: KeptLearning,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerReport {
    pub question: Text<1000>,
    pub answer: Text<2000>,
    /// Where the answer is from: `user`, a file, a command.
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
    /// For the author.
    pub message: Text<4000>,
    /// What other agents thought of it.
    pub opinions: Vec<Text<1000>>,
    /// What tells the reviewer from everybody else. `None`: a person at a terminal.
    pub token: Option<Text<80>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ReviewResult {
    Complete,
    Issues,
}

impl ReviewResult {
    pub fn name(self) -> &'static str {
        match self {
            ReviewResult::Complete => "COMPLETE",
            ReviewResult::Issues => "ISSUES",
        }
    }
}

impl Report {
    /// Without secrets in what is said: parts of it are kept in the state of a session. What a secret is there for
    /// stays, and a submission is read as it is, to be redacted when it is known what is in it.
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

    /// Whether an agent may say it too.
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
            // With a token it is the gate that tells.
            Report::Decided(decided) => decided.token.is_some(),
            // Checks are not run for a file that somebody left: the next stop does that.
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

    /// As version 0.1 left it in an inbox.
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
