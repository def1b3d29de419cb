//! Delivers waiting entries of the outbox to memory backends.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use sprag_base::time::Timestamp;

use crate::memory::mirrors;
use crate::store::files_with_ending;
use crate::store::outbox::{DeliveryReport, LOG, OutboxEntry, deliver, read, settle};
use crate::world::World;

/// Delivers due entries, at most `most`. Entries of one backend keep their order: an undelivered entry delays
/// the ones behind it.
pub(crate) fn replay(world: &World<'_>, now: Timestamp, most: usize) -> io::Result<DeliveryReport> {
    replay_with(world, now, most, |entry| entry.next_at <= now)
}

/// Delivers all entries now, for a command that waits.
pub(crate) fn replay_all(world: &World<'_>, now: Timestamp) -> io::Result<DeliveryReport> {
    replay_with(world, now, usize::MAX, |_| true)
}

fn replay_with(
    world: &World<'_>,
    now: Timestamp,
    most: usize,
    is_due: impl Fn(&OutboxEntry) -> bool,
) -> io::Result<DeliveryReport> {
    let (store, disk) = (world.store(), world.disk);
    let mut due: BTreeMap<String, Vec<(PathBuf, OutboxEntry)>> = BTreeMap::new();
    let mut held_back: Vec<String> = Vec::new();
    let mut count = 0;
    for path in files_with_ending(&store.dir.join("outbox"), "json") {
        let Some(entry) = read(&path) else {
            continue;
        };
        if !is_due(&entry) {
            held_back.push(entry.to);
        } else if count < most && (entry.to == LOG || !held_back.contains(&entry.to)) {
            due.entry(entry.to.clone()).or_default().push((path, entry));
            count += 1;
        }
    }
    let mut done = DeliveryReport::default();
    for (to, entries) in due {
        if to == LOG {
            for (path, entry) in entries {
                settle(&store, disk, now, &mut done, path, entry, |entry| deliver(&store, disk, entry))?;
            }
            continue;
        }
        let (paths, entries): (Vec<PathBuf>, Vec<OutboxEntry>) = entries.into_iter().unzip();
        let delivered = mirrors::deliver(world, &to, &entries, now);
        if let Some(trouble) = delivered.trouble {
            let waiting = entries.len() - delivered.taken;
            done.warnings.push(format!("backend `{to}`: {trouble}; {waiting} wait in the outbox"));
        }
        for (at, (path, entry)) in paths.into_iter().zip(entries).enumerate() {
            settle(&store, disk, now, &mut done, path, entry, |_| Ok(at < delivered.taken))?;
        }
    }
    Ok(done)
}
