//! The notes of a run, in one file that only grows. Agents of all its stages write to it at once.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sprag_core::plan::notes::{Note, PER_STAGE, Said};
use sprag_core::plan::stage::StageId;
use sprag_core::text::Text;
use sprag_core::time::Timestamp;

use crate::disk::{self, Disk};
use crate::records;
use crate::store::Lines;

/// Whoever holds the file longer is stuck.
const PATIENCE: Duration = Duration::from_secs(10);
/// More than ten thousand stages note.
const BYTES: u64 = 256 * 1024 * 1024;

/// What became of a note.
#[derive(Debug, PartialEq, Eq)]
pub enum Kept {
    Written,
    /// The stage has as many as it may have.
    Full,
}

pub fn path(run: &Path, plan: &str) -> PathBuf {
    run.join("notes").join(format!("{plan}.jsonl"))
}

/// A note without its secrets.
pub fn note(stage: &StageId, session: Option<String>, said: Said, now: Timestamp) -> Note {
    Note {
        v: 1,
        id: Text::new(records::new_id(now)),
        at: now,
        stage: stage.clone(),
        session: session.map(Text::new),
        said: said.redacted(),
    }
}

/// On the disk when this returns.
pub fn append(run: &Path, plan: &str, disk: &dyn Disk, note: &Note) -> io::Result<Kept> {
    let path = path(run, plan);
    let mut lines = Lines::open(disk, &path, PATIENCE)?;
    if !lines.is_locked {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    if of_stage(run, plan, &note.stage)?.len() >= PER_STAGE {
        return Ok(Kept::Full);
    }
    let mut bytes = serde_json::to_vec(note).map_err(io::Error::other)?;
    bytes.push(b'\n');
    lines.append_sealed(disk, &bytes)?;
    lines.unlock_and_sync(disk)?;
    Ok(Kept::Written)
}

/// All notes of a run, the oldest first. A line that cannot be read is another version's, or torn.
pub fn all(run: &Path, plan: &str) -> io::Result<Vec<Note>> {
    let text = match disk::read_regular(&path(run, plan), BYTES) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    Ok(text.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

pub fn of_stage(run: &Path, plan: &str, stage: &StageId) -> io::Result<Vec<Note>> {
    Ok(all(run, plan)?.into_iter().filter(|note| note.stage == *stage).collect())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::disk::RealDisk;

    fn said(text: &str) -> Said {
        Said::Note { text: Text::from(text) }
    }

    #[test]
    fn notes_of_many_at_once_are_all_kept_and_a_torn_line_swallows_none() {
        let dir = tempfile::tempdir().unwrap();
        let now = Timestamp::from_millis(1_700_000_000_000);
        let write = |stage: &str, text: &str| {
            let note = note(&StageId::new(stage), None, said(text), now);
            append(dir.path(), "p", &RealDisk, &note).unwrap()
        };
        std::thread::scope(|scope| {
            for stage in ["a", "b", "c"] {
                scope.spawn(move || {
                    (0..10).for_each(|n| assert_eq!(write(stage, &format!("note {n}")), Kept::Written));
                });
            }
        });
        assert_eq!(all(dir.path(), "p").unwrap().len(), 30);
        let mut file = std::fs::File::options().append(true).open(path(dir.path(), "p")).unwrap();
        file.write_all(b"{\"v\":1,\"to").unwrap();
        write("a", "after the fall");
        let kept = of_stage(dir.path(), "p", &StageId::new("a")).unwrap();
        assert_eq!((kept.len(), kept[10].said.text()), (11, "after the fall"));
    }

    #[test]
    fn a_stage_that_talks_without_end_is_told_so() {
        let dir = tempfile::tempdir().unwrap();
        let now = Timestamp::from_millis(1_700_000_000_000);
        let one = note(&StageId::new("a"), None, said("again and again"), now);
        let line = format!("{}\n", serde_json::to_string(&one).unwrap());
        std::fs::create_dir_all(dir.path().join("notes")).unwrap();
        std::fs::write(path(dir.path(), "p"), line.repeat(PER_STAGE)).unwrap();
        assert_eq!(append(dir.path(), "p", &RealDisk, &one).unwrap(), Kept::Full);
        let other = note(&StageId::new("b"), None, said("another stage may"), now);
        assert_eq!(append(dir.path(), "p", &RealDisk, &other).unwrap(), Kept::Written);
    }
}
