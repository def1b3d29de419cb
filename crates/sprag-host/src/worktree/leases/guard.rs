//! Finds whether other sessions may write the same files. This runs for every read and write, so it checks
//! only two files and the directory of journals.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use memchr::memmem;
use rustix::fs::{AtFlags, FileType, Mode as RawMode, OFlags};

use sprag_base::ids::SessionId;
use sprag_base::time::Timestamp;
use sprag_govern::event::Input;
use sprag_govern::gates::stale::StaleMode;
use sprag_govern::gates::stale::facts::GuardLevel;
use sprag_govern::session_facts::SessionFacts;

use crate::store::journal;
use crate::world::World;

/// Seconds after its last event during which a session may be at work.
pub(crate) const LIVE_SECONDS: i64 = 30 * 60;
/// Most journals that are checked; more of them need `sprag store clean`.
const JOURNALS: usize = 500;
/// Bytes at the end of a journal that show whether its session has ended.
const TAIL: u64 = 32 * 1024;

/// Files with intents.
const INTENTS: &[&str] = &[".sprag/intents.yaml", ".orchestration/active_intents.yaml"];

pub(crate) fn guard(world: &World<'_>, session: &SessionFacts, input: &Input) -> GuardLevel {
    let root = world.places.worktree.as_ref();
    if root.is_some_and(|root| INTENTS.iter().any(|name| fs::symlink_metadata(root.join(name)).is_ok())) {
        return GuardLevel::Intents;
    }
    let is_always = world.config.settings.govern.gates.stale.mode == StaleMode::Always;
    // Stages work in parallel by design, in worktrees of one clone.
    let is_stage = input.stage.is_some() || session.stage.is_some();
    let is_guarded = is_always || is_stage || is_other_live(&world.places.store, &input.session, input.at);
    if is_guarded { GuardLevel::Sessions } else { GuardLevel::Off }
}

fn is_other_live(store: &Path, session: &SessionId, now: Timestamp) -> bool {
    let own = journal::stem(session);
    find_live(&store.join("journal"), &own, now).unwrap_or(false)
        || journal::folders(store).iter().any(|folder| find_live(folder, &own, now).unwrap_or(false))
}

/// Reports whether another session is live. Reads the directory once and each entry once, because there may
/// be hundreds.
fn find_live(path: &Path, own: &str, now: Timestamp) -> rustix::io::Result<bool> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
    let dir = rustix::fs::open(path, flags, RawMode::empty())?;
    for entry in rustix::fs::Dir::read_from(&dir)?.take(JOURNALS) {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name.strip_suffix(b".jsonl").is_none_or(|stem| stem == own.as_bytes()) {
            continue;
        }
        let found = rustix::fs::statat(&dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?;
        let is_file = FileType::from_raw_mode(found.st_mode).is_file();
        let is_recent = (now.millis() / 1000 - found.st_mtime).abs() < LIVE_SECONDS;
        if is_file && is_recent && !has_ended(&path.join(OsStr::from_bytes(name))).unwrap_or(false) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Reports whether the last `ended` mark of a journal is true. In a text its quotes would be escaped.
fn has_ended(path: &Path) -> io::Result<bool> {
    let file = File::open(path)?;
    let len = file.metadata()?.len();
    let mut tail = vec![0; usize::try_from(len.min(TAIL)).unwrap_or(0)];
    file.read_exact_at(&mut tail, len.saturating_sub(TAIL))?;
    let word = br#""ended":"#;
    let at = memmem::rfind(&tail, word).map(|at| at + word.len());
    Ok(at.is_some_and(|at| tail[at..].starts_with(b"true")))
}
