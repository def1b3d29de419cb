//! Selects records and prints them.

use serde_json::{Value, json};

use sprag_host::trace::records::{self, AttributedRecord, CurrentRecords, RecordSource};
use sprag_host::world::World;
use sprag_trace::export::{self, ExportTool};
use sprag_trace::{ChangeSource, Finality};

use crate::failure::Failure;

/// Options that select records
#[derive(clap::Args)]
pub(crate) struct RecordArgs {
    /// Only records of this intent
    #[arg(long, value_name = "ID")]
    intent: Option<String>,
    /// Only records of this file, or of files below this directory
    #[arg(long)]
    path: Option<String>,
    /// Only records of this session (full id)
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only records of committed changes
    #[arg(long = "final")]
    is_final: bool,
    /// Include records that later records replaced
    #[arg(long)]
    all: bool,
}

impl RecordArgs {
    /// Returns the selected records, in the order in which they were written.
    pub(super) fn select(&self, world: &World<'_>) -> Result<Vec<AttributedRecord>, Failure> {
        let all = records::all(world)?;
        let standing = CurrentRecords::from_records(&all);
        Ok(all.into_iter().filter(|found| self.has(found, &standing)).collect())
    }

    fn has(&self, found: &AttributedRecord, standing: &CurrentRecords) -> bool {
        let AttributedRecord { record, trace, .. } = found;
        let serves = |id: &String| trace.intent.as_ref().is_some_and(|served| served.id.as_str() == id);
        let is_at = |path: &String| {
            let below = format!("{}/", path.trim_end_matches('/'));
            trace.files.iter().any(|file| file.path == *path || file.path.starts_with(&below))
        };
        let is_of = |id: &String| trace.session(record).is_some_and(|session| session.as_str() == id);
        self.intent.as_ref().is_none_or(serves)
            && self.path.as_ref().is_none_or(is_at)
            && self.session.as_ref().is_none_or(is_of)
            && (!self.is_final || matches!(trace.stage, Finality::Final { .. }))
            && (self.all || standing.is_any(found))
    }
}

/// Returns a record in the Agent Trace format.
pub(crate) fn rendered(found: &AttributedRecord) -> Value {
    let tool = ExportTool { name: "sprag", version: env!("CARGO_PKG_VERSION") };
    export::render(&found.record, &tool).unwrap_or_default()
}

/// Returns a short form of a record.
pub(crate) fn row(found: &AttributedRecord) -> Value {
    let AttributedRecord { record, trace, origin } = found;
    let paths: Vec<&str> = trace.files.iter().map(|file| file.path.as_str()).collect();
    json!({
        "id": record.id,
        "at": record.at,
        "intent": trace.intent.as_ref().map(|served| &served.id),
        "session": trace.session(record),
        "contributor": trace.contributor.kind.name(),
        "source": source(&trace.source),
        "revision": trace.stage.revision(),
        "provisional": matches!(trace.stage, Finality::Provisional { .. }),
        "verdict": trace.verdict.name(),
        "mutation_class": trace.verdict.class(),
        "declared_class": trace.declared,
        "clone": clone(origin),
        "paths": paths,
    })
}

pub(crate) fn source(source: &ChangeSource) -> &'static str {
    match source {
        ChangeSource::Call { .. } => "call",
        ChangeSource::Command => "command",
        ChangeSource::Found => "found",
        ChangeSource::Stop => "stop",
        ChangeSource::Commit => "commit",
        ChangeSource::Rewrite => "rewrite",
    }
}

fn clone(origin: &RecordSource) -> Option<&str> {
    match origin {
        RecordSource::Own => None,
        RecordSource::Clone(name) => Some(name.as_str()),
    }
}

/// Returns the commit of a record, or `provisional`.
pub(crate) fn stage(stage: &Finality) -> String {
    match stage.revision() {
        Some(revision) => revision.chars().take(10).collect(),
        None => "provisional".to_owned(),
    }
}
