//! The rendered files of a project. They are made from the log as a whole, so there is nothing to write one
//! by one: a change marks them as out of date, and what can be found in them is what the log has.

use std::io;
use std::path::{Path, PathBuf};

use sprag_core::backends::is_shared;
use sprag_core::memory::fold::Learnings;
use sprag_core::memory::learning::Learning;

use super::{Backend, Hit, Mirror, Site};
use crate::disk::{self, RealDisk};
use crate::projections;
use crate::store::Store;

pub const BACKEND: Backend =
    Backend { name: "markdown", about: "the rendered files below `.sprag`", probe, open };

/// Files appear only where the project wants some.
fn probe(site: &Site<'_>) -> bool {
    site.worktree.as_ref().is_some_and(|worktree| worktree.join(".sprag").is_dir())
}

fn open(site: &Site<'_>) -> io::Result<Box<dyn Mirror>> {
    Ok(Box::new(Markdown { store: site.store.clone() }))
}

struct Markdown {
    store: Store,
}

/// What says that the rendered files are out of date. Whoever renders removes it first.
pub fn mark(store: &Store) -> PathBuf {
    store.dir.join("cache").join("render.due")
}

impl Markdown {
    fn is_due(&self) -> io::Result<()> {
        let mark = mark(&self.store);
        disk::make_parent(&RealDisk, &mark)?;
        touch(&mark)
    }
}

fn touch(path: &Path) -> io::Result<()> {
    disk::replace_derived(&RealDisk, path, b"")
}

impl Mirror for Markdown {
    fn ping(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn write(&mut self, _: &Learning) -> io::Result<()> {
        self.is_due()
    }

    fn archive(&mut self, _: &str) -> io::Result<()> {
        self.is_due()
    }

    fn restore(&mut self, _: &str) -> io::Result<()> {
        self.is_due()
    }

    fn search(&mut self, query: &str, limit: usize) -> io::Result<Vec<Hit>> {
        let learnings = projections::load::<Learnings>(&self.store)?.state;
        let words = super::in_words(query);
        let shared = learnings.in_use().map(|entry| &entry.learning).filter(|learning| is_shared(learning));
        Ok(shared.map(Hit::from).filter(|hit| super::is_about(hit, &words)).take(limit).collect())
    }
}

impl From<&Learning> for Hit {
    fn from(learning: &Learning) -> Hit {
        let candidate = &learning.candidate;
        Hit {
            id: learning.id.to_string(),
            summary: candidate.summary.to_string(),
            detail: candidate.detail.to_string(),
            tags: candidate.tags.iter().map(ToString::to_string).collect(),
        }
    }
}
