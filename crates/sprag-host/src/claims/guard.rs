//! Whether there is anybody to guard a file against. It is asked with every write and every read, so it costs
//! two looks for a file and one into the directory of journals.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;

use memchr::memmem;
use sprag_core::event::SessionId;
use sprag_core::gates::stale::Mode;
use sprag_core::gates::stale::look::Guard;
use sprag_core::time::Timestamp;

use crate::journal;
use crate::walk::World;

/// A session that was heard of in this time may be at work.
pub const LIVE_SECONDS: i64 = 30 * 60;
/// Journals that are looked at; whoever has more of them sweeps too little.
const JOURNALS: usize = 500;
/// Bytes of a journal's end in which it stands whether its session has ended.
const TAIL: u64 = 32 * 1024;

/// Files that say what changes are for.
const INTENTS: &[&str] = &[".sprag/intents.yaml", ".orchestration/active_intents.yaml"];

pub fn guard(world: &World<'_>, session: &SessionId, now: Timestamp) -> Guard {
    let root = world.places.worktree.as_ref();
    if root.is_some_and(|root| INTENTS.iter().any(|name| fs::symlink_metadata(root.join(name)).is_ok())) {
        return Guard::Intents;
    }
    let is_always = world.config.policy.gates.stale.mode == Mode::Always;
    if is_always || is_other_live(&world.places.store, session, now) { Guard::Sessions } else { Guard::Off }
}

fn is_other_live(store: &Path, session: &SessionId, now: Timestamp) -> bool {
    let own = format!("{}.jsonl", journal::stem(session));
    let entries = fs::read_dir(store.join("journal")).into_iter().flatten().flatten();
    let others = entries.filter(|entry| {
        let name = entry.file_name();
        name.as_encoded_bytes().ends_with(b".jsonl") && name.as_encoded_bytes() != own.as_bytes()
    });
    others
        .take(JOURNALS)
        .any(|entry| is_recent(&entry.path(), now) && !has_ended(&entry.path()).unwrap_or(false))
}

fn is_recent(path: &Path, now: Timestamp) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|found| found.is_file() && (now.millis() / 1000 - found.mtime()).abs() < LIVE_SECONDS)
}

/// The last word of a journal on that. In a text the quotes would be escaped.
fn has_ended(path: &Path) -> io::Result<bool> {
    let file = File::open(path)?;
    let len = file.metadata()?.len();
    let mut tail = vec![0; usize::try_from(len.min(TAIL)).unwrap_or(0)];
    file.read_exact_at(&mut tail, len.saturating_sub(TAIL))?;
    let word = br#""ended":"#;
    let at = memmem::rfind(&tail, word).map(|at| at + word.len());
    Ok(at.is_some_and(|at| tail[at..].starts_with(b"true")))
}
