//! What a person is asked about a stage.

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;

use crate::merge::queue::Verified;

/// Why a person is asked, as records name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewReason {
    /// The plan says that a person merges.
    Merge,
    #[serde(rename = "checks")]
    TooManyFixes,
    /// A check is said to be wrong.
    Disputed,
    /// Nothing was changed, or something was left over.
    NoChange,
    #[serde(rename = "protected")]
    ProtectedFiles,
    #[serde(rename = "conflict")]
    ConflictUnresolved,
    #[serde(rename = "red")]
    MergeFailed,
    #[serde(rename = "held")]
    OnHold,
    /// Its checks passed, and only its author has seen it.
    Unreviewed,
}

/// The question to a person, with the work and the words it is about.
#[derive(Clone, Debug, PartialEq)]
pub enum ReviewQuestion {
    Merge {
        verified: Verified,
    },
    /// `None`: the next agent is on hold, not the merge.
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

/// A check that is said to be wrong.
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

    /// Returns the question that a reason alone asks. `None`: it is about work or words that no record holds; the fold
    /// alone asks it.
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
