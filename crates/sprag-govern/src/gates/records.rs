//! Records of the gates. Records of other domains are defined there.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::records;
use sprag_base::text::{Text, one_line};
use sprag_base::time::Timestamp;
use sprag_check::{CheckStatus, Profile};
use sprag_intent::IntentRecord;
use sprag_memory::records::MemoryRecord;
use sprag_trace::ChangeRecord;

use crate::facts::ProtectedDamage;
use crate::gates::review::case::{AttemptOutcome, GatedCall, ReviewTrigger};
use crate::gates::review::history::ReviewDecisionRecord;
use crate::judge::JudgeRecord;
use crate::obligation::records::DebtRecord;

/// A record of any domain that a gate writes.
#[derive(Clone, Debug, PartialEq)]
pub enum GateEffect {
    Gate(GateRecord),
    Judge(JudgeRecord),
    Debt(DebtRecord),
    Intent(IntentRecord),
    Memory(MemoryRecord),
    Change(Box<ChangeRecord>),
}

impl GateEffect {
    pub fn kind(&self) -> &'static str {
        match self {
            GateEffect::Gate(record) => record.kind(),
            GateEffect::Judge(record) => record.kind(),
            GateEffect::Debt(record) => record.kind(),
            GateEffect::Intent(record) => record.kind(),
            GateEffect::Memory(record) => record.kind(),
            GateEffect::Change(record) => record.kind(),
        }
    }

    pub fn body(&self) -> Value {
        match self {
            GateEffect::Gate(record) => record.body(),
            GateEffect::Judge(record) => record.body(),
            GateEffect::Debt(record) => record.body(),
            GateEffect::Intent(record) => record.body(),
            GateEffect::Memory(record) => record.body(),
            GateEffect::Change(record) => record.body(),
        }
    }
}

/// Conversions from the records of the domains.
macro_rules! effects {
    ($($record:ident => $variant:ident),+ $(,)?) => {
        $(impl From<$record> for GateEffect {
            fn from(record: $record) -> GateEffect {
                GateEffect::$variant(record)
            }
        })+
    };
}

effects! { GateRecord => Gate, JudgeRecord => Judge, DebtRecord => Debt, IntentRecord => Intent, MemoryRecord => Memory }

impl From<ChangeRecord> for GateEffect {
    fn from(record: ChangeRecord) -> GateEffect {
        GateEffect::Change(Box::new(record))
    }
}

records! {
    /// Records of the gates.
    pub enum GateRecord {
        ReviewDecided(DecidedReview) = "review.decided",
        /// How one request for a review ended.
        ReviewAttempt(ReviewAttemptRecord) = "review.attempt",
        /// A call passed because of an approval.
        ReviewUsed(UsedApproval) = "review.used",
        /// A call changed protected files.
        Damaged(DamagedFiles) = "protection.damaged",
        /// The checks ran.
        Verified(VerifiedChecks) = "verified",
        /// The last message of a sub-agent that wrote no note.
        Observed(LastWords) = "observed",
        Warned(WarningRecord) = "warned",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecidedReview {
    #[serde(flatten)]
    pub decision: ReviewDecisionRecord,
    pub trigger: ReviewCause,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewCause {
    pub why: ReviewTrigger,
    pub gated: Option<GatedCall>,
    pub round: u32,
    pub since: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewAttemptRecord {
    pub template: Text<64>,
    pub outcome: AttemptOutcome,
    pub since: Timestamp,
    pub case: Text<16>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UsedApproval {
    pub tool: Text<128>,
    pub rule: String,
    pub review: Text<16>,
    pub tree: Text<64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DamagedFiles {
    pub files: Vec<ProtectedDamage>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerifiedChecks {
    pub status: CheckStatus,
    pub profile: Profile,
    pub tree: Option<Text<64>>,
    pub checks: Vec<VerifiedCheck>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerifiedCheck {
    pub name: Text<64>,
    pub outcome: Text<32>,
    pub mandatory: bool,
    /// The end of its output.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tail: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LastWords {
    pub note: Text<500>,
    /// Distinguishes it from a note in the journal of a session.
    pub from: Text<32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WarningRecord {
    pub what: String,
}

impl GateRecord {
    /// Returns a sentence for `sprag session explain` about the action of `who`.
    pub fn describe(&self, who: &str) -> String {
        match self {
            GateRecord::ReviewDecided(DecidedReview { decision, .. }) => {
                let by = one_line(decision.by.as_str());
                format!("{by} decided the review: {}", decision.word.name())
            }
            GateRecord::ReviewAttempt(attempt) => format!(
                "result of a review request (template `{}`): {}",
                one_line(attempt.template.as_str()),
                attempt.outcome.name()
            ),
            GateRecord::ReviewUsed(used) => {
                let (tool, rule) = (one_line(used.tool.as_str()), one_line(&used.rule));
                format!("an approval allowed `{tool}` under rule `{rule}`")
            }
            GateRecord::Verified(verified) => verified.describe(),
            GateRecord::Observed(words) => format!("{who} noted: {}", one_line(words.note.as_str())),
            GateRecord::Warned(warning) => format!("sprag warned: {}", one_line(&warning.what)),
            GateRecord::Damaged(_) => format!("`{}`", self.kind()),
        }
    }
}

impl VerifiedChecks {
    fn describe(&self) -> String {
        let unmet = self.checks.iter().filter(|check| check.outcome.as_str() != "passed");
        let unmet: Vec<String> =
            unmet.map(|check| format!("`{}` {}", one_line(check.name.as_str()), check.outcome)).collect();
        let status = match self.status {
            CheckStatus::Passed => "passed",
            CheckStatus::Failed => "failed",
            CheckStatus::Skipped => "skipped",
        };
        let status = format!("the checks ({}) ended: {status}", self.profile.name());
        if unmet.is_empty() { status } else { format!("{status}: {}", unmet.join(", ")) }
    }
}
