//! Finds and removes leftovers of interrupted runs. Changes nothing while a daemon runs, and removes nothing
//! that holds work.

use std::path::{Path, PathBuf};
use std::{fs, io};

use sprag_govern::session_facts::Process;
use sprag_host::git::refs::{self, GitError, RefUpdate};
use sprag_host::git::worktrees;
use sprag_host::sys::disk::{self, Disk};
use sprag_host::sys::processes;

use crate::layout::socket;
use crate::session_dir::{SessionDir, SessionProbe};
use crate::{agent, lock};

/// One leftover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepairItem {
    /// The socket of a daemon that is gone.
    Socket { path: PathBuf },
    /// A worktree that git lists and whose folder is gone.
    Prunable { path: PathBuf },
    /// A worktree in which Sprag checked a merge candidate.
    Gate { path: PathBuf },
    /// A session that was requested and that no supervisor claimed.
    HalfMade { folder: PathBuf },
    /// Processes of a session whose supervisor is gone.
    Orphans { session: String, processes: Vec<Process> },
    /// A reference of a plan without a run. Sprag removes candidates; other references may hold work and
    /// stay.
    Reference { name: String, at: String },
}

impl RepairItem {
    /// Reports whether Sprag can remove it without losing work.
    pub fn can_be_mended(&self) -> bool {
        match self {
            RepairItem::Reference { name, .. } => name.split('/').nth(3) == Some("cand"),
            RepairItem::Socket { .. }
            | RepairItem::Prunable { .. }
            | RepairItem::Gate { .. }
            | RepairItem::HalfMade { .. }
            | RepairItem::Orphans { .. } => true,
        }
    }
}

#[derive(Debug)]
pub enum NotRepaired {
    /// A daemon runs.
    AtWork {
        pid: u32,
    },
    Git(String),
    Io(io::Error),
}

impl From<GitError> for NotRepaired {
    fn from(GitError(why): GitError) -> NotRepaired {
        NotRepaired::Git(why)
    }
}

impl From<io::Error> for NotRepaired {
    fn from(error: io::Error) -> NotRepaired {
        NotRepaired::Io(error)
    }
}

/// Lists the leftovers. Refuses while a daemon runs, because leftovers could belong to its run.
pub fn find_damage(root: &Path, run: &Path) -> Result<Vec<RepairItem>, NotRepaired> {
    if let Some(pid) = lock::ruler(run)? {
        return Err(NotRepaired::AtWork { pid });
    }
    let mut found = Vec::new();
    let path = socket(run);
    if fs::symlink_metadata(&path).is_ok() {
        found.push(RepairItem::Socket { path });
    }
    for it in worktrees::list(root)? {
        let is_ours = it.path.starts_with(root.join(".worktrees")) || it.path.starts_with(run.join("gates"));
        match (is_ours, it.is_prunable || !it.path.exists()) {
            (true, true) => found.push(RepairItem::Prunable { path: it.path }),
            (true, false) if it.path.starts_with(run.join("gates")) => {
                found.push(RepairItem::Gate { path: it.path });
            }
            _ => {}
        }
    }
    for folder in fs::read_dir(run.join("s")).into_iter().flatten().flatten() {
        let site = SessionDir::at(&folder.path());
        match site.probe()? {
            SessionProbe::Nothing => found.push(RepairItem::HalfMade { folder: folder.path() }),
            SessionProbe::Died => {
                let left = processes::with_variable(crate::layout::SESSION_VARIABLE, &site.id());
                if !left.is_empty() {
                    found.push(RepairItem::Orphans { session: site.id(), processes: left });
                }
            }
            SessionProbe::Running | SessionProbe::Ended(_) => {}
        }
    }
    let known = crate::run_log::known(run);
    for (name, at) in refs::references(root, "refs/sprag/")? {
        let plan = name.split('/').nth(2).unwrap_or_default();
        if !known.iter().any(|it| it == plan) {
            found.push(RepairItem::Reference { name, at });
        }
    }
    Ok(found)
}

/// Removes the leftovers that hold no work; returns them.
pub fn mend(root: &Path, run: &Path, disk: &dyn Disk) -> Result<Vec<RepairItem>, NotRepaired> {
    let found = find_damage(root, run)?;
    // While the lock is held, no new run can create something that looks like a leftover.
    let Some(_reign) = lock::begin(run, disk)? else {
        return Err(NotRepaired::AtWork { pid: lock::ruler(run)?.unwrap_or(0) });
    };
    let mut mended = Vec::new();
    for damage in found.into_iter().filter(RepairItem::can_be_mended) {
        match &damage {
            RepairItem::Socket { path } => disk.remove(path)?,
            RepairItem::Prunable { path } | RepairItem::Gate { path } => worktrees::remove(root, path)?,
            // No agent was started there. A run that needs the session requests it again.
            RepairItem::HalfMade { folder } => disk::remove_all(disk, folder, 2)?,
            RepairItem::Orphans { session, .. } => {
                agent::sweep(session);
            }
            RepairItem::Reference { name, at } => {
                if let RefUpdate::Moved { .. } = refs::drop_reference(root, name, at)? {
                    continue;
                }
            }
        }
        mended.push(damage);
    }
    Ok(mended)
}
