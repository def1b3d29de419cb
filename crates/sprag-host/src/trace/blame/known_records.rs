//! Loads the records for blame: those of this clone, and those that other clones committed. Of other clones
//! only records of commits count, because their uncommitted work is not here.

use std::io;
use std::path::Path;

use sprag_base::record::Record;
use sprag_base::text::Text;
use sprag_trace::anchor::index::{AnchorRecord, Anchors, RecordOrigin};
use sprag_trace::uncommitted::UncommittedLines;
use sprag_trace::{Finality, KIND, TraceRecord};

use super::rewrite_map::RewriteMap;
use crate::store::clone::project_dir;
use crate::store::journal::lines_of;
use crate::store::projections::{self, each_line};
use crate::store::{Store, files_with_ending};
use crate::sys::disk::{open_regular, read_small};
use crate::sys::exec::read_capped;
use crate::sys::locations::Locations;

/// Most files of other clones.
const CLONES: usize = 500;
/// Most bytes of each file.
const BYTES: u64 = 64 * 1024 * 1024;

#[derive(Debug, Default)]
pub struct KnownRecords {
    pub anchors: Anchors,
    pub told: RewriteMap,
    pub open: UncommittedLines,
}

impl KnownRecords {
    pub fn load(places: &Locations) -> io::Result<KnownRecords> {
        let store = Store::at(&places.store);
        let mut sources = Vec::new();
        for path in store.log_files() {
            each_line(&path, 0, |line| sources.extend(source(line, &RecordOrigin::Own)))?;
        }
        if let Some(project) = project_dir(places) {
            // Reading must not create a clone id.
            let own = read_small(&store.dir.join("clone"), 4096).unwrap_or_default();
            sources.extend(of_others(&project, own.lines().last().unwrap_or_default()));
        }
        let open = projections::load::<UncommittedLines>(&store).map(|it| it.state).unwrap_or_default();
        Ok(KnownRecords { anchors: Anchors::from_records(sources), told: RewriteMap::load(places)?, open })
    }
}

fn of_others(project: &Path, own: &str) -> Vec<AnchorRecord> {
    let mut found = Vec::new();
    for path in files_with_ending(&project.join("share"), "jsonl").into_iter().take(CLONES) {
        let clone = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if clone == own {
            continue;
        }
        let Ok(bytes) = open_regular(&path).and_then(|file| read_capped(file, BYTES)) else { continue };
        let origin = RecordOrigin::Clone(Text::from(clone));
        let all = lines_of(&bytes).filter_map(|line| source(line, &origin));
        found.extend(all.filter(|it| matches!(it.trace.stage, Finality::Final { .. })));
    }
    found
}

fn source(line: &[u8], origin: &RecordOrigin) -> Option<AnchorRecord> {
    memchr::memmem::find(line, KIND.as_bytes())?;
    let record = Record::parse(line).ok()?;
    let trace = TraceRecord::from_record(&record)?;
    Some(AnchorRecord { record: Text::from(record.id), origin: origin.clone(), trace })
}
