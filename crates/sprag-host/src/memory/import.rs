//! Imports the memory of another program: finds its files, selects new learnings and writes them. Sprag
//! recognises earlier imports by their origin.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use sprag_base::ids::SessionId;
use sprag_base::record::{Record, RecordAuthor};
use sprag_base::text::{Text, one_line};
use sprag_base::time::Timestamp;
use sprag_memory::destination::{Destination, place};
use sprag_memory::import::{
    ImportText, ImportedFate, ImportedMemory, ImportedUse, ImportedUseKind, LearningDraft, MemoryImporter,
};
use sprag_memory::learning::{Learning, LearningOrigin, LearningScope};
use sprag_memory::records::{LearningIds, MemoryRecord, ShownRecord, Surfaced};

use crate::memory;
use crate::store::{Store, new_record};
use crate::sys::disk::{self, read_small};
use crate::world::World;

/// Most bytes of one file.
const FILE: u64 = 16 * 1024 * 1024;
const FILES: usize = 500;
/// Most skipped items that Sprag reports.
const TOLD: usize = 1000;

/// Planned result of an import.
#[derive(Debug, Default)]
pub struct ImportPreview {
    pub files: Vec<PathBuf>,
    pub new: Vec<Learning>,
    /// Number of learnings that an earlier import took.
    pub known: usize,
    pub uses: usize,
    /// Skipped items, each with the reason.
    pub passed: Vec<(String, String)>,
    /// Records with their destination.
    records: Vec<(Destination, Record)>,
}

/// Returns the files of a source at this path. The path may be one such file.
pub fn files(importer: &MemoryImporter, path: &Path) -> io::Result<Vec<PathBuf>> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found: Vec<PathBuf> = Vec::new();
    for pattern in importer.files {
        // Patterns without a folder apply to a folder that is the memory itself.
        if pattern.contains('/')
            || found.is_empty()
            || importer.files.iter().all(|known| !known.contains('/'))
        {
            found.extend(matching(path, pattern));
        }
    }
    found.sort();
    found.dedup();
    found.truncate(FILES);
    Ok(found)
}

fn matching(below: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut dirs = vec![below.to_owned()];
    let parts: Vec<&str> = pattern.split('/').collect();
    for part in parts {
        let next = |dir: &PathBuf| match part.split_once('*') {
            None => vec![dir.join(part)],
            Some((start, end)) => {
                let fits =
                    |name: &str| name.starts_with(start) && name.ends_with(end) && !name.starts_with('.');
                let entries = fs::read_dir(dir).into_iter().flatten().flatten();
                entries
                    .filter(|entry| fits(&entry.file_name().to_string_lossy()))
                    .map(|it| it.path())
                    .collect()
            }
        };
        dirs = dirs.iter().flat_map(next).filter(|path| path.exists()).collect();
    }
    dirs.into_iter().filter(|path| path.is_file()).collect()
}

/// Plans the import of these files and leaves out known learnings.
pub fn plan(
    world: &World<'_>,
    importer: &MemoryImporter,
    files: Vec<PathBuf>,
    now: Timestamp,
) -> io::Result<ImportPreview> {
    let mut read = ImportedMemory::default();
    for path in &files {
        let text = read_small(path, FILE)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let part = (importer.read)(&ImportText { name: &name, text: &text });
        read.drafts.extend(part.drafts);
        read.uses.extend(part.uses);
        read.passed.extend(part.passed);
    }
    let mut plan = ImportPreview { files, passed: read.passed, ..ImportPreview::default() };
    let mut known = known(&world.store())?;
    if let Some(own) = memory::personal(&world.places) {
        known.extend(self::known(&own)?);
    }
    let mut fresh: HashMap<String, (Destination, String)> = HashMap::new();
    for draft in &read.drafts {
        let idem = draft.idem(importer);
        if known.contains(&idem) {
            plan.known += 1;
            continue;
        }
        match learning(importer, draft, now) {
            Ok(learning) => {
                let (id, place) = (learning.id.to_string(), place(learning.candidate.scope));
                let kept = Record {
                    idem: Some(idem.clone()),
                    ..record(MemoryRecord::Accepted(Box::new(learning.clone())), now)
                };
                plan.records.push((place, kept));
                if draft.fate == ImportedFate::Archived {
                    let archived = about(MemoryRecord::Archived, &id, "it was, where it comes from", now);
                    plan.records.push((place, archived));
                }
                known.insert(idem);
                fresh.insert(draft.origin.clone(), (place, id));
                plan.new.push(learning);
            }
            Err(why) => {
                let summary = draft.fields.get("summary").and_then(|it| it.as_str()).unwrap_or_default();
                plan.passed.push((one_line(summary).chars().take(80).collect(), why));
            }
        }
    }
    // Uses of learnings that were imported before are counted already.
    for used in &read.uses {
        if let Some((place, id)) = fresh.get(&used.origin) {
            plan.records.push((*place, use_record(used, id, now)));
            plan.uses += 1;
        }
    }
    plan.passed.truncate(TOLD);
    Ok(plan)
}

/// Writes a plan to the log. Backends get it now or from the outbox.
pub fn apply(world: &World<'_>, plan: &ImportPreview, now: Timestamp) -> io::Result<()> {
    for place in [Destination::Project, Destination::Personal] {
        let of_place = plan.records.iter().filter(|(its, _)| *its == place);
        let records: Vec<Record> = of_place.map(|(_, record)| record.clone()).collect();
        if !records.is_empty() {
            memory::write(world, place, &records, now)?;
        }
    }
    Ok(())
}

fn learning(importer: &MemoryImporter, draft: &LearningDraft, now: Timestamp) -> Result<Learning, String> {
    let candidate = draft.candidate(importer)?;
    match candidate.scope {
        LearningScope::Project | LearningScope::Team | LearningScope::Personal => {}
        LearningScope::Ephemeral => return Err("an ephemeral learning ends with its session".to_owned()),
    }
    let at = draft.at.unwrap_or(now).min(now);
    let mut learning =
        Learning::new(&new_record::new_id(now), candidate, &SessionId::new("import"), None, at);
    learning.origin =
        LearningOrigin { via: Text::new(format!("import {}", importer.name)), ..LearningOrigin::default() };
    Ok(learning)
}

fn record(record: MemoryRecord, now: Timestamp) -> Record {
    new_record::record(&record, now, None, Some(RecordAuthor::reporter()))
}

fn about(kind: fn(LearningIds) -> MemoryRecord, id: &str, how: &str, now: Timestamp) -> Record {
    record(kind(LearningIds { ids: vec![Text::from(id)], how: Text::from(how) }), now)
}

fn use_record(used: &ImportedUse, id: &str, now: Timestamp) -> Record {
    let how = used.at.map_or("imported".to_owned(), |at| format!("imported, of {at}"));
    match used.what {
        ImportedUseKind::Surfaced => {
            let shown = vec![ShownRecord { id: Text::from(id), score: 0.0, why: None, tokens: None }];
            record(MemoryRecord::Surfaced(Surfaced { occasion: Text::from("imported"), shown }), now)
        }
        ImportedUseKind::Referred => about(MemoryRecord::Referred, id, &how, now),
        ImportedUseKind::Dismissed => about(MemoryRecord::Dismissed, id, &how, now),
        ImportedUseKind::Archived => about(MemoryRecord::Archived, id, &how, now),
        ImportedUseKind::Restored => about(MemoryRecord::Restored, id, &how, now),
    }
}

/// Returns the origins of all learnings that were ever imported.
fn known(store: &Store) -> io::Result<HashSet<String>> {
    let mut known = HashSet::new();
    for path in store.log_files() {
        let bytes = disk::read_regular(&path, u64::MAX - 1)?;
        for line in crate::store::journal::lines_of(&bytes) {
            if memchr::memmem::find(line, b"\"idem\":\"import:").is_none() {
                continue;
            }
            if let Ok(Record { idem: Some(idem), .. }) = Record::parse(line) {
                known.insert(idem);
            }
        }
    }
    Ok(known)
}
