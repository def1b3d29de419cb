//! Shares records between clones of a project, through committed files. Each clone only appends to its own
//! file, so two clones never write to the same one. Records of other clones enter the log once, under their
//! id, and are folded like all others.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::json;

use sprag_base::record::{self, Record};
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_memory::destination::{is_content, is_for_all, is_shareable};
use sprag_memory::records::MemoryRecord;
use sprag_memory::shared_log::{self, FROM, SETTLED};

use crate::store::clone::{clone_id, own_file};
use crate::store::journal::lines_of;
use crate::store::projections::each_line;
use crate::store::{AppendFile, LOCK_WAIT, Store, files_with_ending, new_record};
use crate::sys::disk::{Disk, open_regular};
use crate::sys::exec::read_capped;

/// Most files of other clones that are read.
const CLONES: usize = 500;
/// Most bytes of each file.
const BYTES: u64 = 64 * 1024 * 1024;

/// Appends missing records to the file of this clone. Returns their number.
pub fn publish(store: &Store, project: &Path, disk: &dyn Disk) -> io::Result<usize> {
    let own = content(store)?;
    let shared: BTreeSet<Text<64>> =
        own.iter().filter(|record| is_shareable(record)).filter_map(learning_id).collect();
    let mut wanted: Vec<Record> = own
        .iter()
        .filter(|record| !shared_log::is_foreign(record))
        .filter_map(|it| public(it, &shared))
        .collect();
    if wanted.is_empty() {
        return Ok(0);
    }
    let path = own_file(store, project, disk)?;
    if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut lines = AppendFile::open(disk, &path, LOCK_WAIT)?;
    if !lines.is_locked {
        return Ok(0);
    }
    let there = lines.tail(u64::MAX)?;
    let there: BTreeSet<String> =
        lines_of(&there).filter_map(|line| Record::parse(line).ok()).map(|it| it.id).collect();
    wanted.retain(|record| !there.contains(&record.id));
    wanted.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
    if !wanted.is_empty() {
        lines.append_sealed(disk, &record::lines(&wanted))?;
    }
    lines.unlock_and_sync(disk)?;
    Ok(wanted.len())
}

/// Appends new records of other clones to the log. Returns their number.
pub fn take_in(store: &Store, project: &Path, disk: &dyn Disk, now: Timestamp) -> io::Result<usize> {
    let own = format!("{}.jsonl", clone_id(store, disk)?);
    let files: Vec<PathBuf> = files_with_ending(&project.join("share"), "jsonl")
        .into_iter()
        .filter(|path| path.file_name().is_some_and(|name| name != own.as_str()))
        .take(CLONES)
        .collect();
    if files.is_empty() {
        return Ok(0);
    }
    let mut known = content(store)?;
    let mut ids: BTreeSet<String> = known.iter().map(|record| record.id.clone()).collect();
    let mut new = Vec::new();
    for path in files {
        let clone: String = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().chars().take(64).collect())
            .unwrap_or_default();
        // Skip an unreadable file; its clone must fix it.
        let Ok(bytes) = open_regular(&path).and_then(|file| read_capped(file, BYTES)) else { continue };
        let records = lines_of(&bytes).filter_map(|line| Record::parse(line).ok());
        new.extend(
            records
                .filter_map(|record| shared_log::taken(&record, &clone, now))
                .filter(|record| ids.insert(record.id.clone())),
        );
    }
    if new.is_empty() {
        return Ok(0);
    }
    new.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
    shared_log::retain_honest(&known, &mut new);
    if new.is_empty() {
        return Ok(0);
    }
    let about = new.iter().flat_map(shared_log::ids).collect();
    known.extend(new.iter().cloned());
    let settling = shared_log::settling(&known, &about).into_iter().map(|settled| {
        let mut record = new_record::record(&settled, now, None, None);
        record.rest.insert(FROM.to_owned(), json!(SETTLED));
        record
    });
    let count = new.len();
    new.extend(settling);
    store.log(disk, &new)?;
    Ok(count)
}

/// Returns the records of learnings in the log, in their order.
fn content(store: &Store) -> io::Result<Vec<Record>> {
    let mut found = Vec::new();
    for path in store.log_files() {
        each_line(&path, 0, |line| {
            if memchr::memmem::find(line, b"\"learning.").is_some()
                && let Ok(record) = Record::parse(line)
                && is_content(&record.kind)
            {
                found.push(record);
            }
        })?;
    }
    Ok(found)
}

fn learning_id(record: &Record) -> Option<Text<64>> {
    MemoryRecord::read(record)?.into_learning().map(|learning| learning.id)
}

/// Returns the public form of a record. `None`: it concerns no shared learning.
fn public(record: &Record, shared: &BTreeSet<Text<64>>) -> Option<Record> {
    let mut public = Record { set: None, ..record.clone() };
    let mut told = MemoryRecord::read(record)?;
    let is_public = match &mut told {
        MemoryRecord::Accepted(learning) | MemoryRecord::Corrected(learning) => is_for_all(learning),
        MemoryRecord::Superseded(superseded) => shared.contains(&superseded.id),
        about => {
            let ids = about.ids_mut()?;
            ids.retain(|id| shared.contains(id));
            let is_any = !ids.is_empty();
            public.body = told.body();
            is_any
        }
    };
    is_public.then_some(public)
}
