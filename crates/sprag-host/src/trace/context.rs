//! The context of a trace: the root of its paths, and the facts of the session.

use std::fs;
use std::path::{Path, PathBuf};

use sprag_base::digest::Digest;
use sprag_base::text::Text;
use sprag_govern::event::Input;
use sprag_govern::gates::trace::{Settings, TraceMode};
use sprag_govern::session_facts::SessionFacts;
use sprag_trace::{ChangeSource, Contributor, Finality, RecordedClassification, TraceRecord};

use super::classify::{self, TreeAfter};
use super::file_cache;
use super::file_state::{self, FileContent};
use crate::clients::transcript;
use crate::git::name_search::SearchTree;
use crate::git::private;
use crate::store::Store;
use crate::world::World;

pub(crate) struct TraceContext<'a> {
    pub world: &'a World<'a>,
    pub input: &'a Input,
    pub session: &'a SessionFacts,
    pub store: Store,
    /// Root with its links resolved.
    pub root: PathBuf,
    /// Name of the worktree; the main worktree has none.
    pub place: Option<Text<16>>,
    pub head: Option<Text<64>>,
}

/// One file on both sides.
pub(crate) struct FileChange {
    pub path: String,
    pub before: FileContent,
    pub after: FileContent,
}

impl FileChange {
    pub(super) fn copy(&self) -> FileChange {
        FileChange { path: self.path.clone(), before: self.before.clone(), after: self.after.clone() }
    }
}

impl<'a> TraceContext<'a> {
    /// Returns the context. `None`: tracing is off here.
    pub(super) fn new_if_enabled(
        world: &'a World<'a>,
        input: &'a Input,
        session: &'a SessionFacts,
    ) -> Option<TraceContext<'a>> {
        let is_on = match world.config.settings.govern.gates.trace.mode {
            TraceMode::Off => false,
            TraceMode::Always => true,
            TraceMode::Auto => session.intent.is_some() || is_marked(root(world, session)?),
        };
        if is_on { TraceContext::at(world, input, session) } else { None }
    }

    /// Returns the tree after a change.
    pub(super) fn around<'b>(&'b self, tree: SearchTree<'b>) -> Option<TreeAfter<'b>> {
        Some(TreeAfter { worktree: self.world.places.worktree.as_ref()?, tree })
    }

    /// Returns the context, even if tracing is off.
    pub(super) fn at(
        world: &'a World<'a>,
        input: &'a Input,
        session: &'a SessionFacts,
    ) -> Option<TraceContext<'a>> {
        let places = &world.places;
        let root = root(world, session)?;
        let is_linked = places.worktree.is_some() && places.git_dir != places.common;
        Some(TraceContext {
            world,
            input,
            session,
            store: world.store(),
            place: is_linked
                .then(|| Text::new(Digest::hash_parts([root.as_os_str().as_encoded_bytes()]).short())),
            root: fs::canonicalize(root).ok()?,
            head: places.head().filter(|head| is_commit(head)).map(Text::new),
        })
    }

    pub(super) fn policy(&self) -> &Settings {
        &self.world.config.settings.govern.gates.trace
    }

    pub(super) fn place(&self) -> &str {
        self.place.as_ref().map(Text::as_str).unwrap_or_default()
    }

    /// Returns a path relative to the root, unless it is outside or belongs to Sprag or git.
    pub(super) fn relative(&self, path: &str) -> Option<String> {
        let relative = Path::new(path).strip_prefix(&self.root).ok()?.to_str()?;
        let top = relative.split('/').next().unwrap_or_default();
        (!relative.is_empty() && top != ".git" && top != ".sprag").then(|| relative.to_owned())
    }

    pub(super) fn file(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Returns the agent of the session as contributor.
    pub(super) fn agent(&self) -> Contributor {
        Contributor::ai(transcript::model(self.input))
    }

    /// Keeps the state of a file for the next record, unless git ignores the file or it looks secret.
    fn keep_state(&self, change: &FileChange) {
        let worktree = self.world.places.worktree.as_deref();
        let path = worktree.unwrap_or(Path::new("")).join(&change.path);
        file_cache::keep(&self.store, self.world.disk, &change.after, |text| {
            private::may_copy(worktree, &path, text)
        });
    }

    /// Returns a record of these changes without an intent. Keeps the states for the next record.
    pub(super) fn trace(
        &self,
        source: ChangeSource,
        contributor: Contributor,
        changes: &[FileChange],
    ) -> Option<TraceRecord> {
        let mut files = Vec::new();
        let mut is_cut = changes.len() > sprag_trace::FILES;
        for change in changes.iter().take(sprag_trace::FILES) {
            let Some((mut file, cut)) = file_state::change(&change.path, &change.before, &change.after)
            else {
                continue;
            };
            if let Some(text) = change.after.text() {
                classify::name_units(&mut file, text);
            }
            self.keep_state(change);
            is_cut |= cut;
            files.push(file);
        }
        if files.is_empty() {
            return None;
        }
        Some(TraceRecord {
            stage: Finality::Provisional { base: self.head.clone() },
            source,
            place: self.place.clone(),
            session: None,
            intent: None,
            declared: None,
            contributor,
            verdict: judged(changes, self.policy()),
            files,
            is_cut,
            prev: None,
        })
    }
}

fn judged(changes: &[FileChange], policy: &Settings) -> RecordedClassification {
    let has_bytes = |state: &FileContent| *state == FileContent::Absent || state.bytes().is_some();
    if !changes.iter().all(|change| has_bytes(&change.before) && has_bytes(&change.after)) {
        return RecordedClassification::unproven("binary");
    }
    classify::write(&sides(changes), policy)
}

pub(crate) fn sides(changes: &[FileChange]) -> Vec<classify::FileSides<'_>> {
    let side = |change: &'_ FileChange| {
        let path = |state: &FileContent| (*state != FileContent::Absent).then_some(());
        (path(&change.before), path(&change.after))
    };
    changes
        .iter()
        .map(|change| {
            let (was, is) = side(change);
            classify::FileSides {
                path_before: was.map(|()| change.path.as_str()),
                path_after: is.map(|()| change.path.as_str()),
                before: change.before.bytes(),
                after: change.after.bytes(),
            }
        })
        .collect()
}

fn root<'a>(world: &'a World<'_>, session: &'a SessionFacts) -> Option<&'a Path> {
    let started = Path::new(&session.cwd);
    world.places.worktree.as_deref().or(Some(started).filter(|root| root.is_absolute()))
}

/// Reports whether the project has a directory that enables the trace.
fn is_marked(root: &Path) -> bool {
    root.join(".sprag").is_dir() || root.join(".orchestration").is_dir()
}

pub(super) fn is_commit(name: &str) -> bool {
    matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}
