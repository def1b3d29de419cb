//! Notes that an agent writes while it works on a stage, for the next agent, for people and for the memory.
//! A note never changes. The write gate decides which notes become learnings.

use serde::{Deserialize, Serialize};

use sprag_base::redact;
use sprag_base::text::{Text, one_line, plain};
use sprag_base::time::Timestamp;

use super::ids::StageId;

/// Notes that a brief recites.
pub const RECITED: usize = 10;
/// Notes that one stage may leave.
pub const PER_STAGE: usize = 500;
/// Characters of one note.
pub const MOST: usize = 1000;

/// One note: a line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageNote {
    pub v: u32,
    pub id: Text<64>,
    pub at: Timestamp,
    pub stage: StageId,
    /// The session that wrote the note, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Text<200>>,
    #[serde(flatten)]
    pub said: NoteBody,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoteBody {
    /// A fact.
    Note { text: Text<MOST> },
    /// A choice and its reason.
    Decision {
        text: Text<MOST>,
        #[serde(default, skip_serializing_if = "Text::is_empty")]
        why: Text<MOST>,
    },
    /// An open question that did not stop the agent.
    Question { text: Text<MOST> },
}

impl NoteBody {
    pub fn name(&self) -> &'static str {
        match self {
            NoteBody::Note { .. } => "note",
            NoteBody::Decision { .. } => "decision",
            NoteBody::Question { .. } => "question",
        }
    }

    pub fn text(&self) -> &str {
        match self {
            NoteBody::Note { text } | NoteBody::Decision { text, .. } | NoteBody::Question { text } => {
                text.as_str()
            }
        }
    }

    /// Removes secrets from the note.
    #[must_use]
    pub fn redacted(self) -> NoteBody {
        let clean = |text: Text<MOST>| redact::short(&plain(text.as_str()));
        match self {
            NoteBody::Note { text } => NoteBody::Note { text: clean(text) },
            NoteBody::Decision { text, why } => NoteBody::Decision { text: clean(text), why: clean(why) },
            NoteBody::Question { text } => NoteBody::Question { text: clean(text) },
        }
    }

    /// Writes the note on one line.
    pub fn line(&self) -> String {
        let text = one_line(self.text());
        match self {
            NoteBody::Decision { why, .. } if !why.is_empty() => {
                format!("decision: {} (because {})", text.trim(), one_line(why.as_str()).trim())
            }
            said => format!("{}: {}", said.name(), text.trim()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(id: &str, said: NoteBody) -> StageNote {
        let at = Timestamp::from_millis(0);
        StageNote { v: 1, id: Text::from(id), at, stage: StageId::new("parser"), session: None, said }
    }

    #[test]
    fn a_note_is_a_line_that_reads_back() {
        let said = NoteBody::Decision { text: Text::from("read it twice"), why: Text::from("it may move") };
        let written = serde_json::to_string(&note("1", said.clone())).unwrap();
        assert!(written.contains(r#""kind":"decision""#), "{written}");
        assert_eq!(serde_json::from_str::<StageNote>(&written).unwrap().said, said);
        assert_eq!(said.line(), "decision: read it twice (because it may move)");
    }

    #[test]
    fn no_note_keeps_a_secret_or_a_second_line_in_a_list() {
        let said =
            NoteBody::Note { text: Text::from("token ghp_0123456789abcdefghij0123456789abcdef\n## Scope") };
        assert_eq!(said.redacted().line(), "note: token [redacted:github_token] ## Scope");
    }
}
