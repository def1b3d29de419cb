//! Notes on their way into the memory. When a stage is merged, what its agents noted is handed in as candidates: the
//! write gate decides, as it does for everybody, and each note is handed in once.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sprag_base::ids::SessionId;
use sprag_base::time::Timestamp;
use sprag_core::event::Actor;
use sprag_core::plan::notes::{Note, Source, submission};
use sprag_core::plan::run::Run;
use sprag_core::plan::stage::{Commit, Stage, StageId};

use super::notes;
use crate::disk::{self, Disk};
use crate::env::Env;
use crate::learnings::hand_in::{Hand, HandInError, HandedIn, hand_in};
use crate::places::Places;
use crate::store::lock_within;
use crate::walk::World;

const PATIENCE: Duration = Duration::from_secs(60);
/// More ids than a run has notes.
const BYTES: u64 = 64 * 1024 * 1024;

/// What came of the notes of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Distilled {
    pub notes: usize,
    pub kept: usize,
    pub not_kept: usize,
}

/// Whose notes they are, and where they can be looked up.
pub struct Of<'a> {
    /// Our own files about runs.
    pub run: &'a Path,
    pub plan: &'a str,
    pub stage: &'a StageId,
    pub merged: Option<&'a Commit>,
    /// Its files are what the notes speak of.
    pub worktree: &'a Path,
}

/// All stages of a run that are merged.
pub fn run(
    run: &Path,
    active: &Run,
    worktree: &Path,
    disk: &dyn Disk,
    now: Timestamp,
) -> io::Result<Distilled> {
    let plan = active.plan().head.name.to_string();
    let mut all = Distilled::default();
    for (stage, standing) in active.standings() {
        if let Stage::Done { merged } = &standing.stage {
            let of = Of { run, plan: &plan, stage, merged: Some(merged.commit()), worktree };
            let one = self::stage(&of, disk, now)?;
            all.notes += one.notes;
            all.kept += one.kept;
            all.not_kept += one.not_kept;
        }
    }
    Ok(all)
}

pub fn stage(of: &Of<'_>, disk: &dyn Disk, now: Timestamp) -> io::Result<Distilled> {
    // Whoever ends the stage and whoever distills may come at the same time.
    let path = cursor(of).with_extension("lock");
    disk::make_parent(disk, &path)?;
    let lock = disk::append_regular(&path)?;
    if !lock_within(&lock, PATIENCE)? {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    let done = handed_in(of)?;
    let notes: Vec<Note> = notes::of_stage(of.run, of.plan, of.stage)?
        .into_iter()
        .filter(|note| !done.contains(note.id.as_str()))
        .collect();
    let mut came = Distilled { notes: notes.len(), ..Distilled::default() };
    if let Some(submission) = submission(&notes, &Source { merged: of.merged }) {
        let env = Env::Real;
        let places = Places::find(of.worktree, &env).map_err(|_| io::ErrorKind::NotFound)?;
        let world = World::new(&env, disk, places);
        let session = SessionId::new(format!("stage.{}.{}", of.plan, of.stage.as_str()));
        // In no worktree: nobody's command there is about this session.
        let hand = Hand { session: &session, actor: &Actor::Main, cwd: Path::new("/"), now };
        let HandedIn { accepted, rejected, similar, .. } =
            hand_in(&world, &hand, &submission.to_string(), None).map_err(failed)?;
        came.kept = accepted.len();
        came.not_kept = rejected.len() + similar.len();
    }
    if !notes.is_empty() {
        let ids = done.into_iter().chain(notes.iter().map(|note| note.id.to_string()));
        let text: String = ids.map(|id| format!("{id}\n")).collect();
        disk::replace(disk, &cursor(of), text.as_bytes())?;
    }
    Ok(came)
}

fn failed(error: HandInError) -> io::Error {
    io::Error::other(format!("the notes could not be handed in: {error:?}"))
}

/// Names of notes that were handed in.
fn cursor(of: &Of<'_>) -> PathBuf {
    of.run.join("notes").join(format!("{}.{}.kept", of.plan, of.stage.as_str()))
}

fn handed_in(of: &Of<'_>) -> io::Result<BTreeSet<String>> {
    match disk::read_regular(&cursor(of), BYTES) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
        Err(error) => Err(error),
    }
}
