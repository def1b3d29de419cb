//! Returns all trace records: those of this clone from the log, and those that other clones committed. A
//! record of another clone supersedes no record of this clone.

use std::collections::BTreeSet;
use std::io;

use sprag_base::record::Record;
use sprag_base::text::Text;
use sprag_trace::chain::ChainName;
use sprag_trace::{KIND, TraceRecord};

use crate::store::journal::lines_of;
use crate::store::projections::each_line;
use crate::store::{Store, files_with_ending};
use crate::sys::disk::open_regular;
use crate::sys::exec::read_capped;
use crate::world::World;

/// Most files of other clones.
const CLONES: usize = 500;
/// Most bytes of each file.
const BYTES: u64 = 64 * 1024 * 1024;

/// A trace record with its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct AttributedRecord {
    pub record: Record,
    pub trace: TraceRecord,
    pub origin: RecordSource,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordSource {
    Own,
    /// Another clone, by the name of its file.
    Clone(Text<64>),
}

/// Returns all records, own ones first, each in the order of writing.
pub fn all(world: &World<'_>) -> io::Result<Vec<AttributedRecord>> {
    let mut found = own(&world.store())?;
    let own_name =
        format!("{}.jsonl", crate::store::clone::known_clone_id(&world.store()).unwrap_or_default());
    let Some(project) = world.places.project() else {
        return Ok(found);
    };
    for path in files_with_ending(&project.join("share"), "jsonl").into_iter().take(CLONES) {
        if path.file_name().is_some_and(|name| name == own_name.as_str()) {
            continue;
        }
        let Ok(bytes) = open_regular(&path).and_then(|file| read_capped(file, BYTES)) else { continue };
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let origin = RecordSource::Clone(Text::new(stem));
        let records = lines_of(&bytes).filter_map(|line| Record::parse(line).ok());
        found.extend(
            records
                .filter(|record| ChainName::from_kind(&record.kind) == Some(ChainName::Final))
                .filter_map(|it| attribute_record(it, origin.clone())),
        );
    }
    Ok(found)
}

/// Returns the records of this clone.
pub fn own(store: &Store) -> io::Result<Vec<AttributedRecord>> {
    let mut found = Vec::new();
    for path in store.log_files() {
        each_line(&path, 0, |line| {
            if memchr::memmem::find(line, KIND.as_bytes()).is_some()
                && let Ok(record) = Record::parse(line)
            {
                found.extend(attribute_record(record, RecordSource::Own));
            }
        })?;
    }
    Ok(found)
}

fn attribute_record(record: Record, origin: RecordSource) -> Option<AttributedRecord> {
    let trace = TraceRecord::from_record(&record)?;
    Some(AttributedRecord { record, trace, origin })
}

/// Records and files that no later record superseded.
pub struct CurrentRecords {
    superseded: BTreeSet<(RecordSource, String, String)>,
}

impl CurrentRecords {
    pub fn from_records(all: &[AttributedRecord]) -> CurrentRecords {
        let mut superseded = BTreeSet::new();
        for found in all {
            for file in &found.trace.files {
                let paths = [Some(&file.path), file.from.as_ref()];
                for (id, path) in
                    file.supersedes.iter().flat_map(|id| paths.iter().flatten().map(move |it| (id, it)))
                {
                    superseded.insert((found.origin.clone(), id.to_string(), (*path).clone()));
                }
            }
        }
        CurrentRecords { superseded }
    }

    /// Reports whether a record is current for a file.
    pub fn holds(&self, found: &AttributedRecord, path: &str) -> bool {
        !self.superseded.contains(&(found.origin.clone(), found.record.id.clone(), path.to_owned()))
    }

    /// Reports whether a record is current for any file.
    pub fn is_any(&self, found: &AttributedRecord) -> bool {
        found.trace.files.iter().any(|file| self.holds(found, &file.path))
    }
}
