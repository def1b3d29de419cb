//! Renders lessons into the files that agents read first. Sprag does not own these files: it replaces only
//! the text between its marks, in one step, and creates no file. Lessons of other clones are left out,
//! because a repository must not put text into the instructions of an agent.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

use sprag_base::record::Record;
use sprag_base::record_kinds::TypedRecord as _;
use sprag_memory::destination::is_for_all;
use sprag_memory::learnings::Learnings;
use sprag_memory::records::MemoryRecord;
use sprag_memory::{lesson, shared_log};

use crate::store::clone::project_dir;
use crate::store::projections::{self, each_line};
use crate::store::{LOCK_WAIT, Store, lock_within};
use crate::sys::disk::{self, Disk, read_small};
use crate::world::World;

/// Files that agents read first.
const FILES: [&str; 2] = ["CLAUDE.md", "AGENTS.md"];
/// Largest file that Sprag changes.
const FILE_BYTES: u64 = 1024 * 1024;

/// Writes the best lessons into the existing files. Returns a message for each failure.
pub fn render(world: &World<'_>) -> io::Result<Vec<String>> {
    let (Some(worktree), Some(_)) = (&world.places.worktree, project_dir(&world.places)) else {
        return Ok(Vec::new());
    };
    let store = world.store();
    let files: Vec<_> = FILES.iter().map(|name| worktree.join(name)).filter(|path| is_plain(path)).collect();
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let own = own_ids(&store)?;
    let learnings = projections::load::<Learnings>(&store)?.state;
    let shown = learnings.in_use().filter(|entry| {
        let learning = &entry.learning;
        lesson::is_lesson(learning) && own.contains(learning.id.as_str()) && is_for_all(learning)
    });
    let lines: Vec<String> =
        lesson::ranked(shown).into_iter().map(|entry| lesson::line(&entry.learning)).collect();
    let lock = disk::append_regular(&store.dir.join("lessons.lock"))?;
    if !lock_within(&lock, LOCK_WAIT)? {
        return Ok(vec!["another process is writing lessons".to_owned()]);
    }
    let one = |path: &std::path::PathBuf| put(world.disk, path, &lines, &own).err();
    Ok(files.iter().filter_map(one).collect())
}

/// Reports whether the path is a regular file. A link could point anywhere.
fn is_plain(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}

fn put(disk: &dyn Disk, path: &Path, lines: &[String], own: &BTreeSet<String>) -> Result<(), String> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let text = read_small(path, FILE_BYTES).map_err(|error| format!("cannot read `{name}`: {error}"))?;
    let new = lesson::replaced(&text, lines, |id| own.contains(id))
        .map_err(|_| format!("the lesson marks in `{name}` are damaged; the file stays unchanged"))?;
    let Some(new) = new else { return Ok(()) };
    let replace = || {
        let mode = fs::metadata(path)?.permissions();
        disk::replace(disk, path, new.as_bytes())?;
        fs::set_permissions(path, mode)
    };
    replace().map_err(|error: io::Error| format!("cannot write `{name}`: {error}"))
}

/// Returns the ids of learnings that this clone wrote.
fn own_ids(store: &Store) -> io::Result<BTreeSet<String>> {
    let mut own = BTreeSet::new();
    for path in store.log_files() {
        each_line(&path, 0, |line| {
            if memchr::memmem::find(line, b"\"learning.accepted\"").is_some()
                && let Ok(record) = Record::parse(line)
                && !shared_log::is_foreign(&record)
                && let Some(MemoryRecord::Accepted(learning)) = MemoryRecord::read(&record)
            {
                own.insert(learning.id.to_string());
            }
        })?;
    }
    Ok(own)
}
