//! Backends: where learnings are mirrored to, so that other programs can read them. A backend is one file
//! with a row of functions, and one line in the list below.
//!
//! The log comes first. What a backend could not take waits in the outbox and is tried again; nobody's work
//! waits for it. What is already there is not written twice: a backend looks for the id first.

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
    /// Whether it is used here, by looking at a few directory entries or settings.
    pub probe: fn(&MirrorContext<'_>) -> bool,
    pub open: fn(&MirrorContext<'_>) -> io::Result<Box<dyn Mirror>>,
}

/// Where backends are looked for.
pub struct MirrorContext<'a> {
    pub worktree: Option<PathBuf>,
    pub store: Store,
    pub disk: &'a dyn Disk,
    pub env: &'a Env,
    pub policy: &'a MirrorSettings,
}

/// An open backend. Each of these may be repeated without doing anything twice.
pub trait Mirror {
    fn ping(&mut self) -> io::Result<()>;
    /// Takes a learning in, or what it says now.
    fn write(&mut self, learning: &Learning) -> io::Result<()>;
    /// An id it does not have is no error.
    fn archive(&mut self, id: &str) -> io::Result<()>;
    fn restore(&mut self, id: &str) -> io::Result<()>;
    /// What it has to say about this. The order is its own; whoever asks ranks anew.
    fn search(&mut self, query: &str, limit: usize) -> io::Result<Vec<BackendHit>>;
}

/// Something a backend has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackendHit {
    /// Ours, where it is a learning of ours; otherwise the backend's own name for it.
    pub id: String,
    pub summary: String,
    pub detail: String,
    pub tags: Vec<String>,
}

/// What is to be done at a backend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MirrorOrder {
    Write(Box<Learning>),
    Archive(String),
    Restore(String),
}

impl MirrorOrder {
    /// What a backend should be told of a learning as it stands.
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
        // A learning is plain data with text keys.
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

/// The backends in use here, in the order of discovery.
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

/// What records of the memory mean for a backend. What is personal or a session's alone means nothing.
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

/// Puts what was just logged into the outbox for every backend in use. Says whether there is anything.
pub fn enqueue(world: &World<'_>, records: &[Record], now: Timestamp) -> io::Result<bool> {
    let site = MirrorContext::from_world(world);
    let backends = in_use(&site);
    if backends.is_empty() || !records.iter().any(concerns) {
        return Ok(false);
    }
    let is_text =
        |record: &Record| matches!(record.kind.as_str(), "learning.accepted" | "learning.corrected");
    // Only what is said of older ones needs them.
    let known = if records.iter().filter(|record| concerns(record)).all(is_text) {
        Learnings::default()
    } else {
        projections::load::<Learnings>(&site.store)?.state
    };
    let orders = orders(records, |id| known.get(id).map(|entry| entry.learning.clone()));
    put_all(world, &backends, &orders, now)?;
    Ok(!orders.is_empty())
}

/// Puts orders into the outbox.
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
            // The newest word on a learning goes last: ids sort by time, and within it as they are made.
            let id = format!("{}-{}", new_record::new_id(now), backend.name);
            let entry = OutboxEntry { id, to: backend.name.to_owned(), payload, tries: 0, next_at: now };
            outbox::put(&store, world.disk, &entry)?;
        }
    }
    Ok(())
}

/// Mirrors what was just logged. What does not succeed stays in the outbox and is told.
pub fn mirror(world: &World<'_>, records: &[Record], now: Timestamp) -> Vec<String> {
    match enqueue(world, records, now) {
        Ok(false) => Vec::new(),
        Ok(true) => match crate::memory::mirrors::deliver::replay(world, now, outbox::PER_HOOK) {
            Ok(replayed) => replayed.warnings,
            Err(error) => vec![format!("backends: {error}; what was learned is in the log")],
        },
        Err(error) => vec![format!("backends: {error}; what was learned is in the log")],
    }
}

/// Delivers entries to one backend; each with whether it was taken. The first failure ends it: the others
/// would only wait for the same.
pub fn deliver(world: &World<'_>, name: &str, entries: &[OutboxEntry], now: Timestamp) -> Delivered {
    let site = MirrorContext::from_world(world);
    let Some(backend) = in_use(&site).into_iter().find(|backend| backend.name == name) else {
        // Nobody mirrors there any more. If it comes back, a synchronisation finds what is missing.
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
            // What cannot be read will not become readable.
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

/// How far a delivery came.
pub struct Delivered {
    pub taken: usize,
    pub trouble: Option<io::Error>,
}

/// What each backend in use should have and does not, as far as the log knows, and nobody has ordered yet.
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

/// What backends have to say about something and our own memory does not: as a store of texts, below a
/// directory that is thrown away, so that one ranking judges them all. With what went wrong.
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

/// Hits that one backend is asked for.
const FOREIGN: usize = 50;

/// The one registration of a backend.
macro_rules! backends {
    ($($name:ident),+ $(,)?) => {
        $(pub mod $name;)+

        /// Every backend, in the order in which they are shown.
        pub const BACKENDS: &[&Backend] = &[$(&$name::BACKEND),+];
    };
}
use backends;

/// The words of a query, for backends that have nothing better than looking for them.
fn in_words(query: &str) -> Vec<String> {
    let words = query.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    words.filter(|word| word.chars().count() > 2).take(32).collect()
}

/// Whether at least a third of the words are in it.
fn is_about(hit: &BackendHit, words: &[String]) -> bool {
    let text = format!("{} {} {}", hit.summary, hit.detail, hit.tags.join(" ")).to_lowercase();
    let found = words.iter().filter(|word| text.contains(word.as_str())).count();
    found > 0 && found * 3 >= words.len()
}
