//! Intents: why a change is made, and where it may be made.

mod context;
mod ignore;
mod ownership;
pub mod records;
mod served;
pub mod set;
pub mod status;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use sprag_base::digest::Digest;
use sprag_base::text::Text;

pub use context::{Earlier, IntentContext, IntentSurroundings, context};
pub use ignore::IgnoredIntents;
pub use ownership::{Ownership, WILD, WriteReach};
pub use records::IntentRecord;
pub use served::{LinkState, Linked, ServedLink, link_state, links};
pub use set::{Holder, IntentFileError, IntentFiles, IntentSet, ScopeFacts, ScopedPath};
pub use status::{IntentHistories, IntentHistory};

/// The class of change that an agent announces. Sprag keeps it beside the class that it finds itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeclaredClass {
    #[serde(rename = "AST_REFACTOR")]
    Refactor,
    #[default]
    #[serde(rename = "INTENT_EVOLUTION")]
    Evolution,
}

sprag_base::names! {
    pub const ALL, pub fn name(DeclaredClass):
    Refactor = "AST_REFACTOR", Evolution = "INTENT_EVOLUTION"
}

impl DeclaredClass {
    pub fn read(name: &str) -> Option<DeclaredClass> {
        DeclaredClass::ALL.into_iter().find(|class| class.name() == name)
    }
}

/// The intent that a session works for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelectedIntent {
    pub id: Text<64>,
    /// The fingerprint of the intent at the time of the choice.
    pub fingerprint: Text<64>,
    pub class: DeclaredClass,
}

/// The progress of an intent. Its file gives the first status, the records give the current one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum IntentStatus {
    #[default]
    NotStarted,
    InProgress,
    Done,
}

sprag_base::names! {
    pub const ALL, pub fn name(IntentStatus):
    NotStarted = "NOT_STARTED", InProgress = "IN_PROGRESS", Done = "DONE"
}

impl IntentStatus {
    pub fn read(name: &str) -> Option<IntentStatus> {
        IntentStatus::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// One entry of a file of intents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    pub id: Text<64>,
    pub name: Text<200>,
    pub constraints: Vec<Text<500>>,
    /// The status at the start. The records give the current one.
    pub status: IntentStatus,
    pub owned: Ownership,
    pub criteria: Vec<Criterion>,
    pub sharing: IntentSharing,
    /// A hash of all fields above except the status. Equal fingerprints mean equal intents.
    pub fingerprint: Text<64>,
    pub origin: IntentOrigin,
    /// The line in the file, from 1.
    pub line: u32,
    /// Keys that Sprag does not know, as JSON.
    pub rest: String,
}

/// How many sessions may work on an intent at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IntentSharing {
    #[default]
    Shared,
    Exclusive,
}

/// The file that an intent comes from. The file that wins is listed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IntentOrigin {
    Sprag,
    Orchestration,
}

sprag_base::names! {
    pub const ALL,
    /// Returns the path of the file, relative to the worktree.
    pub fn path(IntentOrigin):
    Sprag = ".sprag/intents.yaml", Orchestration = ".orchestration/active_intents.yaml"
}

/// One condition for a finished intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Criterion {
    /// The name of the criterion: its id, or its position in the list.
    pub key: Text<64>,
    pub text: Text<500>,
    pub proof: CriterionProof,
    /// A digest of the text. The approval of a person counts only for the text that the person read.
    pub digest: Digest,
}

/// The evidence that a criterion is met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CriterionProof {
    /// A command that must succeed.
    Check(String),
    /// The approval of a person.
    Word,
}

/// An entry of the file, uncut. Sprag computes the fingerprint from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntentDraft {
    pub id: String,
    pub name: String,
    pub constraints: Vec<String>,
    pub status: IntentStatus,
    pub owned: Option<Vec<String>>,
    pub criteria: Vec<DraftCriterion>,
    pub sharing: IntentSharing,
    pub line: u32,
    pub rest: serde_json::Map<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DraftCriterion {
    pub id: Option<String>,
    pub text: String,
    pub check: Option<String>,
}

impl IntentDraft {
    pub fn intent(self, origin: IntentOrigin) -> Intent {
        let fingerprint = self.fingerprint();
        let criteria = self.criteria.iter().enumerate().map(|(at, criterion)| criterion.read(at));
        Intent {
            criteria: criteria.collect(),
            id: Text::new(self.id),
            name: Text::new(self.name),
            constraints: self.constraints.into_iter().map(Text::new).collect(),
            status: self.status,
            owned: match (self.owned, origin) {
                (Some(globs), _) => Ownership::Globs(globs),
                (None, IntentOrigin::Sprag) => Ownership::Nothing,
                // The author of that file did not write it for Sprag; its own tools put no limit on such an
                // intent.
                (None, IntentOrigin::Orchestration) => Ownership::Everything,
            },
            sharing: self.sharing,
            fingerprint: Text::new(fingerprint),
            origin,
            line: self.line,
            rest: Value::Object(self.rest).to_string(),
        }
    }

    /// Returns the SHA-256 of canonical JSON: members sorted by name, no blanks.
    fn fingerprint(&self) -> String {
        let criterion = |criterion: &DraftCriterion| match (&criterion.id, &criterion.check) {
            (None, None) => json!(criterion.text),
            (id, check) => {
                let mut members = serde_json::Map::new();
                members.insert("text".to_owned(), json!(criterion.text));
                let given = [("id", id), ("check", check)];
                members.extend(
                    given
                        .into_iter()
                        .filter_map(|(name, value)| Some((name.to_owned(), json!(value.as_ref()?)))),
                );
                Value::Object(members)
            }
        };
        let meaning = json!({
            "acceptance_criteria": self.criteria.iter().map(criterion).collect::<Vec<_>>(),
            "constraints": self.constraints,
            "id": self.id,
            "name": self.name,
            "owned_scope": self.owned,
        });
        let bytes = Sha256::digest(canonical(&meaning).as_bytes());
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl DraftCriterion {
    fn read(&self, at: usize) -> Criterion {
        Criterion {
            key: Text::new(self.id.clone().unwrap_or_else(|| (at + 1).to_string())),
            text: Text::from(self.text.as_str()),
            proof: self.check.clone().map_or(CriterionProof::Word, CriterionProof::Check),
            digest: Digest::hash_parts([&self.text]),
        }
    }
}

/// Writes JSON with sorted members. Sprag cannot rely on the JSON library for the order: another crate may
/// enable the feature that keeps the order of the source.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            let members = members.iter().map(|(name, value)| format!("{}:{}", json!(name), canonical(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(","))
        }
        plain => plain.to_string(),
    }
}

impl Intent {
    pub fn is_id(text: &str) -> bool {
        (1..=64).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    }
}

#[cfg(test)]
mod tests;
