//! Backends that mirror learnings for other programs. A backend is one file with a table of functions, and
//! one line in the list below.
//!
//! The log comes first. Entries that a backend refused wait in the outbox; Sprag tries them again later, and
//! no session waits for that. A backend looks for the id first, so it writes nothing twice.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::record::Record;
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::result::Discard as _;
use sprag_base::text::{Text, one_line};
use sprag_base::time::Timestamp;
use sprag_memory::document::LoadedText;
use sprag_memory::learning::{Learning, LearningStatus};
use sprag_memory::learnings::{LearningEntry as FoldEntry, Learnings};
use sprag_memory::mirror::{MirrorAck, MirrorSettings, Mirrored, concerns, is_shared};
use sprag_memory::records::MemoryRecord;

use crate::store::outbox::{self, OutboxEntry};
use crate::store::{Store, new_record, projections};
use crate::sys::disk::Disk;
use crate::sys::env::Env;
use crate::world::World;

backends! {
    total_recall,
    mcp,
    markdown,
}

pub(crate) mod deliver;
#[cfg(test)]
pub mod in_memory;
#[cfg(test)]
mod tests;

/// A kind of backend.
pub struct Backend {
    pub name: &'static str,
    pub about: &'static str,
    /// Reports whether the backend is used here, from a few directory entries or settings.
    pub probe: fn(&MirrorContext<'_>) -> bool,
    pub open: fn(&MirrorContext<'_>) -> io::Result<Box<dyn Mirror>>,
}

/// Context in which backends are found.
pub struct MirrorContext<'a> {
    pub worktree: Option<PathBuf>,
    pub store: Store,
    pub disk: &'a dyn Disk,
    pub env: &'a Env,
    pub policy: &'a MirrorSettings,
}

/// An open backend. All operations are idempotent.
pub trait Mirror {
    fn ping(&mut self) -> io::Result<()>;
    /// Writes a learning, or updates it.
    fn write(&mut self, learning: &Learning) -> io::Result<()>;
    /// Archives a learning. An unknown id is ignored.
    fn archive(&mut self, id: &str) -> io::Result<()>;
    fn restore(&mut self, id: &str) -> io::Result<()>;
    /// Searches the backend. The caller ranks the hits again.
    fn search(&mut self, query: &str, limit: usize) -> io::Result<Vec<BackendHit>>;
}

/// An entry of a backend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackendHit {
    /// Id of the learning, or the backend's own name for a foreign entry.
    pub id: String,
    pub summary: String,
    pub detail: String,
    pub tags: Vec<String>,
}

/// An operation for a backend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MirrorOrder {
    Write(Box<Learning>),
    Archive(String),
    Restore(String),
}

impl MirrorOrder {
    /// Returns the operation that brings a backend up to date with a learning.
    fn for_entry(entry: &FoldEntry) -> MirrorOrder {
        match entry.status() {
            LearningStatus::Active | LearningStatus::Stale => {
                MirrorOrder::Write(Box::new(entry.learning.clone()))
            }
            LearningStatus::Archived | LearningStatus::Superseded => {
                MirrorOrder::Archive(entry.learning.id.to_string())
            }
        }
    }

    fn digest(&self) -> Digest {
        // Serialization cannot fail: a learning is plain data with text keys.
        Digest::hash_parts([serde_json::to_vec(self).unwrap_or_default()])
    }

    fn about(&self) -> &str {
        match self {
            MirrorOrder::Write(learning) => learning.id.as_str(),
            MirrorOrder::Archive(id) | MirrorOrder::Restore(id) => id,
        }
    }

    pub fn perform(&self, mirror: &mut dyn Mirror) -> io::Result<()> {
        match self {
            MirrorOrder::Write(learning) => mirror.write(learning),
            MirrorOrder::Archive(id) => mirror.archive(id),
            MirrorOrder::Restore(id) => mirror.restore(id),
        }
    }
}

impl<'a> MirrorContext<'a> {
    pub fn from_world(world: &'a World<'_>) -> MirrorContext<'a> {
        MirrorContext {
            worktree: world.places.worktree.clone(),
            store: world.store(),
            disk: world.disk,
            env: world.env,
            policy: &world.config.settings.backends,
        }
    }
}

pub fn find(name: &str) -> Option<&'static Backend> {
    BACKENDS.iter().find(|backend| backend.name == name).copied()
}

/// Returns the backends in use here, in the order of discovery.
pub fn in_use(site: &MirrorContext<'_>) -> Vec<&'static Backend> {
    let mut found: Vec<&'static Backend> = Vec::new();
    for name in &site.policy.discovery {
        let named = match name.as_ref() {
            "config" => site.policy.always.iter().filter_map(|name| find(name)).collect(),
            name => find(name).into_iter().filter(|backend| (backend.probe)(site)).collect::<Vec<_>>(),
        };
        for backend in named {
            let is_known = found.iter().any(|known| known.name == backend.name);
            if site.policy.overrides.is_on(backend.name) && !is_known {
                found.push(backend);
            }
        }
    }
    found
}

/// Returns the backend operations for these records. Personal and ephemeral learnings are left out.
fn orders(records: &[Record], learnings: impl Fn(&str) -> Option<Learning>) -> Vec<MirrorOrder> {
    let mut orders = Vec::new();
    let is_kept = |id: &str| learnings(id).is_some_and(|learning| is_shared(&learning));
    for record in records {
        let kept = |ids: &[Text<64>]| -> Vec<String> {
            ids.iter().map(ToString::to_string).filter(|id| is_kept(id)).collect()
        };
        match MemoryRecord::read(record) {
            Some(MemoryRecord::Accepted(learning) | MemoryRecord::Corrected(learning)) => {
                orders.extend(Some(learning).filter(|learning| is_shared(learning)).map(MirrorOrder::Write));
            }
            Some(MemoryRecord::Superseded(it)) => {
                orders.extend(kept(&[it.id]).into_iter().map(MirrorOrder::Archive));
            }
            Some(MemoryRecord::Archived(about)) => {
                orders.extend(kept(&about.ids).into_iter().map(MirrorOrder::Archive));
            }
            Some(MemoryRecord::Restored(about)) => {
                orders.extend(kept(&about.ids).into_iter().map(MirrorOrder::Restore));
            }
            _ => {}
        }
    }
    orders
}

/// Puts new records into the outbox for every backend in use. Reports whether there are any.
pub fn enqueue(world: &World<'_>, records: &[Record], now: Timestamp) -> io::Result<bool> {
    let site = MirrorContext::from_world(world);
    let backends = in_use(&site);
    if backends.is_empty() || !records.iter().any(concerns) {
        return Ok(false);
    }
    let is_text =
        |record: &Record| matches!(record.kind.as_str(), "learning.accepted" | "learning.corrected");
    // Only records about older learnings need the known ones.
    let known = if records.iter().filter(|record| concerns(record)).all(is_text) {
        Learnings::default()
    } else {
        projections::load::<Learnings>(&site.store)?.state
    };
    let orders = orders(records, |id| known.get(id).map(|entry| entry.learning.clone()));
    put_all(world, &backends, &orders, now)?;
    Ok(!orders.is_empty())
}

/// Puts operations into the outbox.
pub fn put_all(
    world: &World<'_>,
    backends: &[&Backend],
    orders: &[MirrorOrder],
    now: Timestamp,
) -> io::Result<()> {
    let store = world.store();
    for order in orders {
        for backend in backends {
            let payload = serde_json::to_value(order).map_err(io::Error::other)?;
            // Ids sort by time and order of creation, so the newest operation goes last.
            let id = format!("{}-{}", new_record::new_id(now), backend.name);
            let entry = OutboxEntry { id, to: backend.name.to_owned(), payload, tries: 0, next_at: now };
            outbox::put(&store, world.disk, &entry)?;
        }
    }
    Ok(())
}

/// Mirrors new records. Failed deliveries stay in the outbox; returns a warning for each.
pub fn mirror(world: &World<'_>, records: &[Record], now: Timestamp) -> Vec<String> {
    match enqueue(world, records, now) {
        Ok(false) => Vec::new(),
        Ok(true) => match crate::memory::mirrors::deliver::replay(world, now, outbox::PER_HOOK) {
            Ok(replayed) => replayed.warnings,
            Err(error) => vec![format!("backends: {error}; the learnings are in the log")],
        },
        Err(error) => vec![format!("backends: {error}; the learnings are in the log")],
    }
}

/// Delivers entries to one backend. Stops at the first failure, because the other entries would fail too.
pub fn deliver(world: &World<'_>, name: &str, entries: &[OutboxEntry], now: Timestamp) -> Delivered {
    let site = MirrorContext::from_world(world);
    let Some(backend) = in_use(&site).into_iter().find(|backend| backend.name == name) else {
        // The backend is not in use any more. If it returns, a synchronisation finds the missing entries.
        return Delivered { taken: entries.len(), trouble: None };
    };
    let mut taken = 0;
    let mut took: Vec<(Text<64>, Digest)> = Vec::new();
    let mut orders = Vec::new();
    for entry in entries {
        orders.push(serde_json::from_value::<MirrorOrder>(entry.payload.clone()).ok());
    }
    let trouble = (backend.open)(&site).and_then(|mut mirror| {
        for order in &orders {
            // Unreadable entries would stay unreadable.
            if let Some(order) = order {
                order.perform(mirror.as_mut())?;
                took.push((Text::from(order.about()), order.digest()));
            }
            taken += 1;
        }
        Ok(())
    });
    if !took.is_empty() {
        let acked = MemoryRecord::Acked(MirrorAck { backend: Text::from(name), took });
        let acked = new_record::record(&acked, now, None, None);
        site.store
            .log(site.disk, &[acked])
            .discard("the next synchronisation delivers the same records again");
    }
    Delivered { taken, trouble: trouble.err() }
}

/// Result of a delivery.
pub struct Delivered {
    pub taken: usize,
    pub trouble: Option<io::Error>,
}

/// Returns the operations that each backend in use lacks and that do not wait in the outbox.
pub fn missing(world: &World<'_>) -> io::Result<Vec<(&'static Backend, Vec<MirrorOrder>)>> {
    let backends = in_use(&MirrorContext::from_world(world));
    if backends.is_empty() {
        return Ok(Vec::new());
    }
    let learnings = projections::load::<Learnings>(&world.store())?.state;
    let mirrored = projections::load::<Mirrored>(&world.store())?.state;
    let orders: Vec<MirrorOrder> =
        learnings.all().filter(|entry| is_shared(&entry.learning)).map(MirrorOrder::for_entry).collect();
    let waiting = outbox::entries(&world.store());
    let missing = |name: &str| {
        let of_backend = waiting.iter().filter(|entry| entry.to == name);
        let ordered: Vec<MirrorOrder> =
            of_backend.filter_map(|entry| serde_json::from_value(entry.payload.clone()).ok()).collect();
        let is_new = |order: &&MirrorOrder| {
            !mirrored.has(name, order.about(), order.digest()) && !ordered.contains(order)
        };
        orders.iter().filter(is_new).cloned().collect()
    };
    Ok(backends.into_iter().map(|backend| (backend, missing(backend.name))).collect())
}

/// Returns hits of the backends that this memory does not have, and the warnings. The hits become a store in
/// a temporary directory, so that one ranking covers all.
pub fn foreign(
    world: &World<'_>,
    query: &str,
    dir: &Path,
    now: Timestamp,
) -> io::Result<(Store, Vec<String>)> {
    let site = MirrorContext::from_world(world);
    let known = projections::load::<Learnings>(&site.store)?.state;
    let (mut records, mut warnings) = (Vec::new(), Vec::new());
    for backend in in_use(&site) {
        match (backend.open)(&site).and_then(|mut mirror| mirror.search(query, FOREIGN)) {
            Ok(hits) => {
                for hit in hits.into_iter().filter(|hit| known.get(&hit.id).is_none()) {
                    let id = format!("{}:{}", backend.name, one_line(&hit.id));
                    let loaded = LoadedText {
                        id,
                        summary: hit.summary,
                        detail: hit.detail,
                        tags: hit.tags,
                        ..LoadedText::default()
                    };
                    records.push(new_record::record(&MemoryRecord::Loaded(loaded), now, None, None));
                }
            }
            Err(error) => warnings.push(format!("backend `{}`: {error}", backend.name)),
        }
    }
    let store = Store::at(dir);
    store.log(site.disk, &records)?;
    Ok((store, warnings))
}

/// Most hits of one backend.
const FOREIGN: usize = 50;

/// Registers the backends; the only list of them.
macro_rules! backends {
    ($($name:ident),+ $(,)?) => {
        $(pub mod $name;)+

        /// All backends, in the order of display.
        pub const BACKENDS: &[&Backend] = &[$(&$name::BACKEND),+];
    };
}
use backends;

/// Returns the words of a query, for backends that can only search words.
fn in_words(query: &str) -> Vec<String> {
    let words = query.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    words.filter(|word| word.chars().count() > 2).take(32).collect()
}

/// Reports whether a hit contains at least a third of the words.
fn is_about(hit: &BackendHit, words: &[String]) -> bool {
    let text = format!("{} {} {}", hit.summary, hit.detail, hit.tags.join(" ")).to_lowercase();
    let found = words.iter().filter(|word| text.contains(word.as_str())).count();
    found > 0 && found * 3 >= words.len()
}
