//! Why a change is made, and where it may be made.

use serde::{Deserialize, Serialize};

use crate::text::Text;

/// What an agent says of the changes it is about to make. It is kept beside what is found out of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Class {
    #[serde(rename = "AST_REFACTOR")]
    Refactor,
    #[default]
    #[serde(rename = "INTENT_EVOLUTION")]
    Evolution,
}

impl Class {
    pub fn name(self) -> &'static str {
        match self {
            Class::Refactor => "AST_REFACTOR",
            Class::Evolution => "INTENT_EVOLUTION",
        }
    }
}

/// The intent a session serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    pub id: Text<64>,
    /// What the intent meant when it was chosen.
    pub fingerprint: Text<64>,
    pub class: Class,
}
