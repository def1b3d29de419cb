//! The kinds of records of the trace.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use sprag_base::record::Record;
use sprag_base::records;
use sprag_base::sha256::Sha256Sum;
use sprag_intent::SelectedIntent;

use super::{ChangeSource, ServedIntent, TraceRecord};

records! {
    pub enum ChangeRecord {
        /// A change from one state of files to the next.
        Seen(TraceRecord) = "trace.seen",
        /// All uncommitted changes of a session, classified as a whole.
        Judged(TraceRecord) = "trace.judged",
        /// The part of the changes that a commit holds.
        Final(TraceRecord) = "trace.final",
        /// Commits that replaced others, as reported by git's hook.
        Rewritten(RewrittenCommits) = "trace.rewritten",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewrittenCommits {
    /// Pairs of old and new commit.
    pub pairs: Vec<(String, String)>,
}

impl ChangeRecord {
    /// Returns the change, or nothing for a record about commits only.
    pub fn change(&self) -> Option<&TraceRecord> {
        match self {
            ChangeRecord::Seen(change) | ChangeRecord::Judged(change) | ChangeRecord::Final(change) => {
                Some(change)
            }
            ChangeRecord::Rewritten(_) => None,
        }
    }

    pub fn into_change(self) -> Option<TraceRecord> {
        match self {
            ChangeRecord::Seen(change) | ChangeRecord::Judged(change) | ChangeRecord::Final(change) => {
                Some(change)
            }
            ChangeRecord::Rewritten(_) => None,
        }
    }

    /// Adds the intent of the session to a change that the session made. Other changes name their intent
    /// already.
    pub fn signed(mut self, chosen: Option<&SelectedIntent>) -> ChangeRecord {
        if let (
            ChangeRecord::Seen(change) | ChangeRecord::Judged(change) | ChangeRecord::Final(change),
            Some(chosen),
        ) = (&mut self, chosen)
            && let ChangeSource::Call { .. } | ChangeSource::Command = change.source
        {
            change.intent = Some(ServedIntent::from(chosen));
            change.declared = Some(chosen.class);
        }
        self
    }
}

/// Error: the link to the line before cannot be read.
pub(crate) struct UnreadableLink;

/// Returns the hash of the line before this record. This also works for a body that this version cannot read,
/// because its place in the chain still counts.
pub(crate) fn chain_link(record: &Record) -> Result<Option<Sha256Sum>, UnreadableLink> {
    let Some(link) = record.body.get(LINK) else { return Ok(None) };
    link.as_str().and_then(Sha256Sum::parse).map(Some).ok_or(UnreadableLink)
}

pub(crate) fn set_chain_link(record: &mut Record, link: Option<Sha256Sum>) {
    if let Value::Object(body) = &mut record.body {
        body.remove(LINK);
        body.extend(link.map(|link| (LINK.to_owned(), Value::String(link.to_string()))));
    }
}

/// The member `prev` of a [`TraceRecord`].
const LINK: &str = "prev";
