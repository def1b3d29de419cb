//! Why a change is made, and where it may be made.

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

/// What an agent says of the changes it is about to make. It is kept beside what is found out of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeclaredClass {
    #[serde(rename = "AST_REFACTOR")]
    Refactor,
    #[default]
    #[serde(rename = "INTENT_EVOLUTION")]
    Evolution,
}

impl DeclaredClass {
    pub const ALL: [DeclaredClass; 2] = [DeclaredClass::Refactor, DeclaredClass::Evolution];

    pub fn name(self) -> &'static str {
        match self {
            DeclaredClass::Refactor => "AST_REFACTOR",
            DeclaredClass::Evolution => "INTENT_EVOLUTION",
        }
    }

    pub fn read(name: &str) -> Option<DeclaredClass> {
        DeclaredClass::ALL.into_iter().find(|class| class.name() == name)
    }
}

/// The intent a session serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelectedIntent {
    pub id: Text<64>,
    /// What the intent meant when it was chosen.
    pub fingerprint: Text<64>,
    pub class: DeclaredClass,
}

/// How far an intent has come. A file tells where it starts, the records where it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum IntentStatus {
    #[default]
    NotStarted,
    InProgress,
    Done,
}

impl IntentStatus {
    pub const ALL: [IntentStatus; 3] =
        [IntentStatus::NotStarted, IntentStatus::InProgress, IntentStatus::Done];

    pub fn name(self) -> &'static str {
        match self {
            IntentStatus::NotStarted => "NOT_STARTED",
            IntentStatus::InProgress => "IN_PROGRESS",
            IntentStatus::Done => "DONE",
        }
    }

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
    /// Where it starts; where it is by now is in the records.
    pub status: IntentStatus,
    pub owned: Ownership,
    pub criteria: Vec<Criterion>,
    pub sharing: IntentSharing,
    /// Of everything above but the status: the same fingerprint is the same meaning.
    pub fingerprint: Text<64>,
    pub origin: IntentOrigin,
    /// Where in its file, from 1.
    pub line: u32,
    /// Keys that mean nothing to us, as JSON.
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

/// Which file an intent is from, the one that wins first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IntentOrigin {
    Sprag,
    Orchestration,
}

impl IntentOrigin {
    pub const ALL: [IntentOrigin; 2] = [IntentOrigin::Sprag, IntentOrigin::Orchestration];

    /// Relative to the worktree.
    pub fn path(self) -> &'static str {
        match self {
            IntentOrigin::Sprag => ".sprag/intents.yaml",
            IntentOrigin::Orchestration => ".orchestration/active_intents.yaml",
        }
    }
}

/// When an intent is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Criterion {
    /// By which it is named: its own id, or its place in the list.
    pub key: Text<64>,
    pub text: Text<500>,
    pub proof: CriterionProof,
    /// Of its text: a person's word counts for what was read.
    pub digest: Digest,
}

/// What shows that a criterion is met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CriterionProof {
    /// A command that succeeds.
    Check(String),
    /// A person's word.
    Word,
}

/// An entry as it is written, nothing cut: what its meaning is made from.
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
                // Who wrote that file knew nothing of us, and meant what its own tools make of it.
                (None, IntentOrigin::Orchestration) => Ownership::Everything,
            },
            sharing: self.sharing,
            fingerprint: Text::new(fingerprint),
            origin,
            line: self.line,
            rest: Value::Object(self.rest).to_string(),
        }
    }

    /// The SHA-256 of canonical JSON: members in order of their names, no blanks.
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

/// Written member by member: another crate may ask the JSON library to keep the order of a file.
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
