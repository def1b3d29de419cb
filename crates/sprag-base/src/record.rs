//! Records and projections. The log is the source of truth; every other state is a [`Projection`] that Sprag
//! can rebuild from it.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::SessionId;
use crate::text::Text;
use crate::time::Timestamp;

/// The record version that this program writes. Readers keep records of newer versions unchanged.
pub const VERSION: u32 = 1;

/// One written line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub v: u32,
    pub kind: String,
    pub id: String,
    pub at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<RecordAuthor>,
    /// Key that makes a second write of the same record a no-op.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idem: Option<String>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub body: Value,
    /// Parts of the session's state that this record changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<Map<String, Value>>,
    /// Unknown fields of another version, kept unchanged.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The client, agent and role that a record comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordAuthor {
    pub client: Text<32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Text<128>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Text<128>>,
}

impl RecordAuthor {
    /// Returns the author of a report that a command of Sprag sends.
    pub fn reporter() -> RecordAuthor {
        RecordAuthor { client: Text::from(REPORTER), agent: None, role: None }
    }
}

impl Record {
    /// Creates a record without session, author and id. The writer sets them.
    pub fn new(kind: &str, at: Timestamp, body: Value) -> Record {
        Record {
            v: VERSION,
            kind: kind.to_owned(),
            id: String::new(),
            at,
            session: None,
            actor: None,
            idem: None,
            body,
            set: None,
            rest: Map::new(),
        }
    }

    pub fn parse(line: &[u8]) -> Result<Record, serde_json::Error> {
        serde_json::from_slice(line)
    }

    /// Returns the record as one line with its line feed.
    pub fn line(&self) -> Vec<u8> {
        lines([self])
    }
}

/// Returns records as lines, for one write.
pub fn lines<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<u8> {
    let mut lines = Vec::with_capacity(1024);
    for record in records {
        serde_json::to_writer(&mut lines, record).expect("a record is plain data with text keys");
        lines.push(b'\n');
    }
    lines
}

/// A state that Sprag computes from records. It is never the only copy of any data.
pub trait Projection: Default + Serialize + DeserializeOwned {
    const NAME: &'static str;
    /// Raise this number when `apply` changes: Sprag drops stored projections of another version.
    const VERSION: u32;
    /// Prefixes of the record kinds that `apply` handles; the store need not read others.
    const KINDS: &'static [&'static str];

    fn apply(&mut self, record: &Record);
}

/// Name in place of a client, for records that come from a command of Sprag.
pub const REPORTER: &str = "cli";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_another_version_survive_a_rewrite() {
        let line = br#"{"v":7,"kind":"x.y","id":"1","at":"2026-11-15T09:01:01.000Z","colour":"blue","body":{"a":[1]}}"#;
        let record = Record::parse(line).unwrap();
        assert_eq!(Record::parse(&record.line()).unwrap(), record);
        assert_eq!(record.rest["colour"], "blue");
    }

    #[test]
    fn the_kind_stands_where_a_reader_looks_for_it() {
        let line = br#"{"id":"1","at":"2026-11-15T09:01:01.000Z","kind":"snapshot","v":1}"#;
        let record = Record::parse(line).unwrap();
        assert!(record.line().starts_with(br#"{"v":1,"kind":"snapshot","id":"#));
    }
}
