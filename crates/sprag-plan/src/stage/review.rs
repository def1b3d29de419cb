//! Questions to a person about a stage.

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;

use crate::merge::queue::Verified;

/// Reason of a question, in the form of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewReason {
    /// The plan requires a person to merge.
    Merge,
    #[serde(rename = "checks")]
    TooManyFixes,
    /// An agent disputes a check.
    Disputed,
    /// There is no change, or uncommitted files are left.
    NoChange,
    #[serde(rename = "protected")]
    ProtectedFiles,
    #[serde(rename = "conflict")]
    ConflictUnresolved,
    #[serde(rename = "red")]
    MergeFailed,
    #[serde(rename = "held")]
    OnHold,
    /// The checks passed, and only the author has seen the work.
    Unreviewed,
}

/// The question to a person, with its work and texts.
#[derive(Clone, Debug, PartialEq)]
pub enum ReviewQuestion {
    Merge {
        verified: Verified,
    },
    /// `None` if the next agent is on hold, not the merge.
    OnHold {
        verified: Option<Verified>,
    },
    Unreviewed {
        verified: Verified,
        why: Text<300>,
    },
    Disputed(Dispute),
    TooManyFixes,
    NoChange,
    ProtectedFiles,
    ConflictUnresolved,
    MergeFailed,
}

/// A disputed check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispute {
    pub check: Text<300>,
    pub why: Text<1000>,
}

impl ReviewQuestion {
    pub fn reason(&self) -> ReviewReason {
        match self {
            ReviewQuestion::Merge { .. } => ReviewReason::Merge,
            ReviewQuestion::OnHold { .. } => ReviewReason::OnHold,
            ReviewQuestion::Unreviewed { .. } => ReviewReason::Unreviewed,
            ReviewQuestion::Disputed(_) => ReviewReason::Disputed,
            ReviewQuestion::TooManyFixes => ReviewReason::TooManyFixes,
            ReviewQuestion::NoChange => ReviewReason::NoChange,
            ReviewQuestion::ProtectedFiles => ReviewReason::ProtectedFiles,
            ReviewQuestion::ConflictUnresolved => ReviewReason::ConflictUnresolved,
            ReviewQuestion::MergeFailed => ReviewReason::MergeFailed,
        }
    }

    /// Returns the question for a reason. `None` for reasons that need work or texts that no record holds:
    /// only the fold asks them.
    pub(super) fn from_reason(reason: ReviewReason) -> Option<ReviewQuestion> {
        match reason {
            ReviewReason::Merge | ReviewReason::Disputed | ReviewReason::Unreviewed => None,
            ReviewReason::OnHold => Some(ReviewQuestion::OnHold { verified: None }),
            ReviewReason::TooManyFixes => Some(ReviewQuestion::TooManyFixes),
            ReviewReason::NoChange => Some(ReviewQuestion::NoChange),
            ReviewReason::ProtectedFiles => Some(ReviewQuestion::ProtectedFiles),
            ReviewReason::ConflictUnresolved => Some(ReviewQuestion::ConflictUnresolved),
            ReviewReason::MergeFailed => Some(ReviewQuestion::MergeFailed),
        }
    }

    /// Returns the work that passed its checks and waits for a person.
    pub fn verified(&self) -> Option<&Verified> {
        match self {
            ReviewQuestion::Merge { verified } | ReviewQuestion::Unreviewed { verified, .. } => {
                Some(verified)
            }
            ReviewQuestion::OnHold { verified } => verified.as_ref(),
            _ => None,
        }
    }
}
