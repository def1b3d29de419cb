//! The rendered files of a project as a backend. Sprag renders them as a whole after each change of the log,
//! so `write` has nothing to do. A search reads the log.

use std::io;
use std::path::PathBuf;

use sprag_memory::learning::Learning;
use sprag_memory::learnings::Learnings;
use sprag_memory::mirror::is_shared;

use super::{Backend, BackendHit, Mirror, MirrorContext};
use crate::store::{Store, projections};

pub const BACKEND: Backend =
    Backend { name: "markdown", about: "the rendered files below `.sprag`", probe, open };

/// Reports whether the project has a `.sprag` directory; only then files are rendered.
fn probe(site: &MirrorContext<'_>) -> bool {
    site.worktree.as_ref().is_some_and(|worktree| worktree.join(".sprag").is_dir())
}

fn open(site: &MirrorContext<'_>) -> io::Result<Box<dyn Mirror>> {
    let dir =
        site.worktree.as_ref().map(|worktree| worktree.join(".sprag")).ok_or(io::ErrorKind::NotFound)?;
    Ok(Box::new(Markdown { dir, store: site.store.clone() }))
}

struct Markdown {
    dir: PathBuf,
    store: Store,
}

impl Mirror for Markdown {
    fn ping(&mut self) -> io::Result<()> {
        self.dir.metadata().map(drop)
    }

    // `memory::after_change` renders the files after each change of the log.
    fn write(&mut self, _: &Learning) -> io::Result<()> {
        self.ping()
    }

    fn archive(&mut self, _: &str) -> io::Result<()> {
        self.ping()
    }

    fn restore(&mut self, _: &str) -> io::Result<()> {
        self.ping()
    }

    fn search(&mut self, query: &str, limit: usize) -> io::Result<Vec<BackendHit>> {
        let learnings = projections::load::<Learnings>(&self.store)?.state;
        let words = super::in_words(query);
        let shared = learnings.in_use().map(|entry| &entry.learning).filter(|learning| is_shared(learning));
        Ok(shared.map(BackendHit::from).filter(|hit| super::is_about(hit, &words)).take(limit).collect())
    }
}

impl From<&Learning> for BackendHit {
    fn from(learning: &Learning) -> BackendHit {
        let candidate = &learning.candidate;
        BackendHit {
            id: learning.id.to_string(),
            summary: candidate.summary.to_string(),
            detail: candidate.detail.to_string(),
            tags: candidate.tags.iter().map(ToString::to_string).collect(),
        }
    }
}
