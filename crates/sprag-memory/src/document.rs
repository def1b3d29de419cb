//! The documents of the index: the text of a learning, or a text loaded only for search.

use serde::{Deserialize, Serialize};

use sprag_base::record::Record;
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::time::Timestamp;

use crate::learning::{Category, Learning, LearningKind, LearningReaders, LearningScope};
use crate::records::MemoryRecord;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    pub id: String,
    pub summary: String,
    pub detail: String,
    /// The situation in which the learning helps.
    pub when: String,
    /// The situation in which the learning does not apply.
    pub when_not: String,
    pub tags: Vec<String>,
    pub files: Vec<String>,
    pub at: Timestamp,
    /// `None` for a text that was only loaded.
    pub label: Option<DocumentLabel>,
}

/// The properties of a learning in a few bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentLabel {
    pub category: Category,
    pub scope: LearningScope,
    pub kind: LearningKind,
    pub readers: LearningReaders,
}

/// A text for search, as recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadedText {
    pub id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub summary: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
}

/// The number of words that serve as summary for a text without one. Texts usually start with their subject.
const LEAD: usize = 20;

/// Splits a text without a summary into its start and the rest.
pub fn split(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let mut words = 0;
    let mut is_word = false;
    for (at, c) in text.char_indices() {
        if is_word && c.is_whitespace() {
            words += 1;
            if words == LEAD {
                return text.split_at(at);
            }
        }
        is_word = !c.is_whitespace();
    }
    (text, "")
}

impl Document {
    /// Returns the document of a record, if it has one. A malformed learning has none.
    pub fn from_record(record: &Record) -> Option<Document> {
        Document::from_memory(MemoryRecord::read(record)?, record.at)
    }

    /// Returns the document of a parsed record, with its time.
    pub fn from_memory(record: MemoryRecord, at: Timestamp) -> Option<Document> {
        match record {
            MemoryRecord::Loaded(loaded) => {
                Some(Document::loaded(loaded, at)).filter(|document| !document.id.is_empty())
            }
            record => record.into_learning().map(Document::from),
        }
    }

    pub fn loaded(loaded: LoadedText, at: Timestamp) -> Document {
        Document {
            id: loaded.id,
            summary: loaded.summary,
            detail: loaded.detail,
            tags: loaded.tags,
            files: loaded.files,
            at: loaded.created.unwrap_or(at),
            ..Document::default()
        }
    }
}

impl From<Learning> for Document {
    fn from(learning: Learning) -> Document {
        let readers = learning.readers();
        let candidate = learning.candidate;
        let texts = |texts: &[sprag_base::text::Text<300>]| texts.iter().map(ToString::to_string).collect();
        Document {
            id: learning.id.to_string(),
            summary: candidate.summary.to_string(),
            detail: candidate.detail.to_string(),
            when: candidate.trigger.when.to_string(),
            when_not: candidate.trigger.when_not.to_string(),
            tags: candidate.tags.iter().map(ToString::to_string).collect(),
            files: texts(&candidate.context_files),
            at: learning.at,
            label: Some(DocumentLabel {
                category: candidate.category,
                scope: candidate.scope,
                kind: candidate.kind,
                readers,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_summed_up_by_its_beginning() {
        assert_eq!(split("  short"), ("short", ""));
        assert_eq!(split(""), ("", ""));
        let text: String = (0..25).map(|word| format!("w{word} ")).collect();
        let (lead, rest) = split(&text);
        assert!(lead.ends_with("w19") && rest.trim_start().starts_with("w20"), "{lead} / {rest}");
        assert_eq!(format!("{lead}{rest}"), text);
    }
}
