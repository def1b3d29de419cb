//! Shares final records with other clones: unchanged lines of the log in their order, so that the chain is
//! valid in the file too. Every committed version of the file starts with the version before it.

use std::collections::HashSet;
use std::path::Path;
use std::{fs, io};

use sprag_base::record::Record;
use sprag_trace::chain::{self, ChainName};

use crate::store::journal::lines_of;
use crate::store::projections::each_line;
use crate::store::{AppendFile, LOCK_WAIT, Store};
use crate::sys::disk::Disk;

/// Appends missing lines to the file of this clone. Returns their number.
pub fn publish(store: &Store, project: &Path, disk: &dyn Disk) -> io::Result<usize> {
    let own = lines(store)?;
    if own.is_empty() {
        return Ok(0);
    }
    let path = crate::store::clone::own_file(store, project, disk)?;
    if fs::symlink_metadata(&path).is_ok_and(|found| !found.is_file()) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut file = AppendFile::open(disk, &path, LOCK_WAIT)?;
    if !file.is_locked {
        return Ok(0);
    }
    let there: HashSet<_> = lines_of(&file.tail(u64::MAX)?).map(chain::sum_of).collect();
    let new: Vec<&Vec<u8>> = own.iter().filter(|line| !there.contains(&chain::sum_of(line))).collect();
    if !new.is_empty() {
        let bytes: Vec<u8> = new.iter().flat_map(|line| line.iter().copied()).collect();
        file.append_sealed(disk, &bytes)?;
    }
    file.unlock_and_sync(disk)?;
    Ok(new.len())
}

/// Returns the final lines of the log, unchanged.
pub fn lines(store: &Store) -> io::Result<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    for path in store.log_files() {
        each_line(&path, 0, |line| {
            if is_final(line) {
                found.push(line.to_vec());
            }
        })?;
    }
    Ok(found)
}

pub fn is_final(line: &[u8]) -> bool {
    chain::mentions_trace(line)
        && Record::parse(line)
            .is_ok_and(|record| ChainName::from_kind(&record.kind) == Some(ChainName::Final))
}
