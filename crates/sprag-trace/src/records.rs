//! The records of changes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use sprag_base::record::Record;
use sprag_base::records;
use sprag_base::sha256::Sha256Sum;
use sprag_intent::SelectedIntent;

use super::{ChangeSource, ServedIntent, TraceRecord};

records! {
    /// Records of the trace.
    pub enum ChangeRecord {
        /// A change from one state of files to the next, as it was seen.
        Seen(TraceRecord) = "trace.seen",
        /// All that a session has changed and not committed, judged as a whole.
        Judged(TraceRecord) = "trace.judged",
        /// The part of it that a commit has.
        Final(TraceRecord) = "trace.final",
        /// Commits that took the place of others, as git's hook named them.
        Rewritten(RewrittenCommits) = "trace.rewritten",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewrittenCommits {
    /// Old name and new name.
    pub pairs: Vec<(String, String)>,
}

impl ChangeRecord {
    /// Returns the change, or nothing for a record about commits alone.
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

    /// Signs a change that the session itself has made with the intent it serves. Other changes name their
    /// intent already.
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

/// The name of a line before it that cannot be read.
pub(crate) struct UnreadableLink;

/// Returns the sum of the line that a record was written behind. The body may be one that this version
/// cannot read: its place in the chain counts all the same.
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
