//! The records of intents.

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::records;
use sprag_base::text::{Text, quoted_list};

use super::SelectedIntent;

records! {
    /// Records of the intents.
    pub enum IntentRecord {
        /// A session starts to work for the intent.
        Selected(SelectedIntent) = "intent.selected",
        Done(FinishedIntent) = "intent.done",
        /// A person reopened the intent.
        Reopened(ReopenedIntent) = "intent.reopened",
        /// A person accepted the work for the intent.
        Accepted(AcceptedIntent) = "intent.accepted",
        /// A person extended the scope of the intent.
        Expanded(ExpandedIntent) = "intent.expanded",
        /// A command changed files that no intent owns.
        Strayed(StrayedFiles) = "intent.strayed",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedIntent {
    pub id: Text<64>,
    pub fingerprint: Text<64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReopenedIntent {
    pub id: Text<64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedIntent {
    pub id: Text<64>,
    /// Criteria that the person accepted as met.
    #[serde(default)]
    pub met: Vec<Digest>,
    /// The fingerprint that all earlier work counts for. `None`: the person accepted only criteria.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Text<64>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpandedIntent {
    pub id: Text<64>,
    pub before: Text<64>,
    pub fingerprint: Text<64>,
    #[serde(default)]
    pub patterns: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StrayedFiles {
    /// The intent that the session works for, or an empty text.
    pub id: Text<64>,
    pub paths: Vec<Text<200>>,
}

impl IntentRecord {
    pub fn intent(&self) -> &Text<64> {
        match self {
            IntentRecord::Selected(selected) => &selected.id,
            IntentRecord::Done(finished) => &finished.id,
            IntentRecord::Reopened(reopened) => &reopened.id,
            IntentRecord::Accepted(accepted) => &accepted.id,
            IntentRecord::Expanded(expanded) => &expanded.id,
            IntentRecord::Strayed(strayed) => &strayed.id,
        }
    }

    /// Returns a sentence for `sprag session explain`, or nothing for a record that only repeats a report.
    pub fn describe(&self) -> Option<String> {
        Some(match self {
            IntentRecord::Selected(_) | IntentRecord::Done(_) => return None,
            IntentRecord::Reopened(_) | IntentRecord::Accepted(_) | IntentRecord::Expanded(_) => {
                format!("`{}`", self.kind())
            }
            IntentRecord::Strayed(strayed) => {
                format!("a command changed files that no intent owns: {}", quoted_list(&strayed.paths))
            }
        })
    }
}
