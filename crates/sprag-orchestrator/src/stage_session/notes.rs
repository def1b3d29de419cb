//! The notes of a run: one append-only file per stage. Only the agent of a stage can write its file, so no
//! agent can write in the name of another stage.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_host::store::{AppendFile, new_record};
use sprag_host::sys::disk::{self, Disk};
use sprag_plan::ids::StageId;
use sprag_plan::notes::{NoteBody, PER_STAGE, StageNote};

use crate::layout::notes_path;

/// Time limit for the file lock; a longer wait means a stuck process.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum size of a stage's notes.
const BYTES: u64 = 16 * 1024 * 1024;
/// Maximum size of the former shared file.
const ALL_BYTES: u64 = 256 * 1024 * 1024;

/// The result of writing a note.
#[derive(Debug, PartialEq, Eq)]
pub enum NoteOutcome {
    Written,
    /// The stage has the maximum number of notes.
    Full,
}

/// Returns the path of the former shared file of all stages. New notes do not go there.
pub fn old_path(run: &Path, plan: &str) -> PathBuf {
    run.join("notes").join(format!("{plan}.jsonl"))
}

/// Builds a note with its secrets removed.
pub fn note(stage: &StageId, session: Option<String>, said: NoteBody, now: Timestamp) -> StageNote {
    StageNote {
        v: 1,
        id: Text::new(new_record::new_id(now)),
        at: now,
        stage: stage.clone(),
        session: session.map(Text::new),
        said: said.redacted(),
    }
}

/// Appends a note and syncs it to disk.
pub fn append(run: &Path, plan: &str, disk: &dyn Disk, note: &StageNote) -> io::Result<NoteOutcome> {
    let path = notes_path(run, plan, &note.stage);
    let mut lines = AppendFile::open(disk, &path, PATIENCE)?;
    if !lines.is_locked {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    if of_stage(run, plan, &note.stage)?.len() >= PER_STAGE {
        return Ok(NoteOutcome::Full);
    }
    let mut bytes = serde_json::to_vec(note).map_err(io::Error::other)?;
    bytes.push(b'\n');
    lines.append_sealed(disk, &bytes)?;
    lines.unlock_and_sync(disk)?;
    Ok(NoteOutcome::Written)
}

/// Returns all notes of a stage, oldest first. Skips notes that its agent wrote in the name of another stage.
pub fn of_stage(run: &Path, plan: &str, stage: &StageId) -> io::Result<Vec<StageNote>> {
    // A sandboxed agent cannot read the notes of other stages.
    let old = read(&old_path(run, plan), ALL_BYTES).or_else(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => Ok(Vec::new()),
        _ => Err(error),
    })?;
    let own = read(&notes_path(run, plan, stage), BYTES)?;
    let all = old.into_iter().chain(own).filter(|note| note.stage == *stage);
    Ok(all.take(PER_STAGE).collect())
}

/// Reads notes; skips lines that are incomplete or of another version.
fn read(path: &Path, most: u64) -> io::Result<Vec<StageNote>> {
    let text = match disk::read_regular(path, most) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    Ok(text.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use sprag_host::sys::disk::RealDisk;

    use super::*;
    use crate::layout::notes_dir;

    fn said(text: &str) -> NoteBody {
        NoteBody::Note { text: Text::from(text) }
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
                    (0..10)
                        .for_each(|n| assert_eq!(write(stage, &format!("note {n}")), NoteOutcome::Written));
                });
            }
        });
        let of = |stage: &str| of_stage(dir.path(), "p", &StageId::new(stage)).unwrap();
        assert_eq!(["a", "b", "c"].map(|stage| of(stage).len()), [10, 10, 10]);
        let own = notes_path(dir.path(), "p", &StageId::new("a"));
        let mut file = std::fs::File::options().append(true).open(own).unwrap();
        file.write_all(b"{\"v\":1,\"to").unwrap();
        write("a", "after the fall");
        let kept = of("a");
        assert_eq!((kept.len(), kept[10].said.text()), (11, "after the fall"));
    }

    #[test]
    fn a_stage_that_talks_without_end_is_told_so() {
        let dir = tempfile::tempdir().unwrap();
        let now = Timestamp::from_millis(1_700_000_000_000);
        let one = note(&StageId::new("a"), None, said("again and again"), now);
        let line = format!("{}\n", serde_json::to_string(&one).unwrap());
        std::fs::create_dir_all(notes_dir(dir.path(), "p")).unwrap();
        std::fs::write(notes_path(dir.path(), "p", &one.stage), line.repeat(PER_STAGE)).unwrap();
        assert_eq!(append(dir.path(), "p", &RealDisk, &one).unwrap(), NoteOutcome::Full);
        let other = note(&StageId::new("b"), None, said("another stage may"), now);
        assert_eq!(append(dir.path(), "p", &RealDisk, &other).unwrap(), NoteOutcome::Written);
    }

    #[test]
    fn a_note_counts_for_the_stage_whose_file_it_is_in_and_notes_of_old_runs_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let now = Timestamp::from_millis(1_700_000_000_000);
        let line = |stage: &str, text: &str| {
            let note = note(&StageId::new(stage), None, said(text), now);
            format!("{}\n", serde_json::to_string(&note).unwrap())
        };
        std::fs::create_dir_all(notes_dir(dir.path(), "p")).unwrap();
        std::fs::write(old_path(dir.path(), "p"), line("a", "early") + &line("b", "of another")).unwrap();
        let own = notes_path(dir.path(), "p", &StageId::new("a"));
        std::fs::write(own, line("b", "in the name of another") + &line("a", "late")).unwrap();
        let told = |stage: &str| -> Vec<String> {
            let notes = of_stage(dir.path(), "p", &StageId::new(stage)).unwrap();
            notes.iter().map(|note| note.said.text().to_owned()).collect()
        };
        assert_eq!(told("a"), ["early", "late"]);
        assert_eq!(told("b"), ["of another"]);
    }
}
