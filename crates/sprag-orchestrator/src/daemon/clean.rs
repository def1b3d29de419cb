//! Removes leftovers of finished runs: records, boards, briefs, session directories, worktrees, branches,
//! references and terminals. Work that is on no branch of the user stays; the report names it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use sprag_base::time::Timestamp;
use sprag_host::git::refs::{self, Dated, GitError, RefUpdate};
use sprag_host::git::{worktree_guard, worktrees};
use sprag_host::store::files_with_ending;
use sprag_host::sys::disk::{self, Disk};
use sprag_plan::ids::StageId;
use sprag_plan::run::Run;
use sprag_plan::run::timed::Timed;
use sprag_plan::spec::values::BranchName;

use super::repair::NotRepaired;
use super::start_run;
use crate::agent::tmux;
use crate::layout::run_log_path;
use crate::session_dir::{SessionDir, SessionProbe};
use crate::view::board_cache;
use crate::{lock, run_log};

/// Maximum folder depth in a session directory, which holds the agent's own folder.
const DEEP: usize = 64;

/// The folders to clean, and the minimum age of what goes.
pub struct CleanScope<'a> {
    /// The user's checkout.
    pub root: &'a Path,
    /// Sprag's folder of runs.
    pub run: &'a Path,
    pub before: Timestamp,
    pub salvage: Salvage,
}

/// Whether salvaged work that is not merged is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Salvage {
    Stays,
    /// Removed if it is old enough.
    Goes,
}

/// Something that can be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// A run that is over and landed: its records and the files beside them.
    Run {
        plan: String,
        id: String,
        files: Vec<PathBuf>,
        folders: Vec<PathBuf>,
    },
    Worktree {
        path: PathBuf,
    },
    Reference {
        name: String,
        at: String,
    },
    /// A tmux server without running sessions.
    Terminals {
        server: String,
    },
}

/// Something that is old enough, but may still be needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptLeftover {
    /// A run that is not over.
    Unfinished { plan: String },
    /// The merged work is not on its target.
    NotLanded { plan: String },
    /// A worktree with uncommitted changes.
    Uncommitted { path: PathBuf },
    /// A worktree whose commits are on no branch.
    Unnamed { path: PathBuf, head: String },
    /// A worktree that Sprag cannot inspect.
    Unreadable { path: PathBuf, why: String },
    /// A stage branch that was not merged.
    Unmerged { branch: String },
    /// Work under a `refs/sprag/` name that is on no branch.
    Salvaged { name: String },
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct CleanCandidates {
    pub leftovers: Vec<Leftover>,
    pub wanted: Vec<KeptLeftover>,
}

/// The removed leftovers, and those that could not be removed.
#[derive(Debug, Default)]
pub struct RunCleanReport {
    pub gone: Vec<Leftover>,
    pub failed: Vec<(Leftover, String)>,
}

/// Lists the leftovers. Refuses while a daemon runs, because leftovers could belong to its run.
pub fn find_candidates(place: &CleanScope<'_>) -> Result<CleanCandidates, NotRepaired> {
    match lock::ruler(place.run)? {
        Some(pid) => Err(NotRepaired::AtWork { pid }),
        None => found(place),
    }
}

fn found(place: &CleanScope<'_>) -> Result<CleanCandidates, NotRepaired> {
    let mut found = CleanCandidates::default();
    if !place.run.exists() {
        return Ok(found);
    }
    // The stages of unfinished runs, whose worktrees and branches are in use, and the plans that keep a run.
    let (mut in_use, mut plans) = (BTreeSet::new(), BTreeSet::new());
    for (plan, path) in logs(place.run) {
        let Some((timed, _)) = run_log::read_to_end(&path)? else { continue };
        let standing = if is_anybody_at(&sessions(place.run, timed.run().id.as_str()))? {
            RunAge::Fresh
        } else {
            standing(place, &timed)?
        };
        match standing {
            RunAge::Over => found.leftovers.push(of_run(place, &plan, &path, timed.run())),
            RunAge::Fresh => {
                plans.insert(plan);
            }
            RunAge::Wanted(wanted) => {
                found.wanted.push(wanted(&plan));
                plans.insert(plan);
            }
        }
        if !timed.run().is_settled() {
            in_use.extend(timed.run().entries().map(|(id, _)| id.clone()));
        }
    }
    place.worktrees(&in_use, &mut found)?;
    place.branches(&in_use, &mut found)?;
    place.references(&plans, &mut found)?;
    let server = tmux::server(place.run);
    if !is_anybody_at(&all_sessions(place.run))? && tmux::is_up(&server, place.run)? {
        found.leftovers.push(Leftover::Terminals { server });
    }
    Ok(found)
}

/// Removes all leftovers while holding the daemon lock, so that no run can start.
pub fn sweep(place: &CleanScope<'_>, disk: &dyn Disk) -> Result<RunCleanReport, NotRepaired> {
    let mut swept = RunCleanReport::default();
    let Some(_reign) = lock::begin(place.run, disk)? else {
        return Err(NotRepaired::AtWork { pid: lock::ruler(place.run)?.unwrap_or(0) });
    };
    // Searched again, because another process may have started a run before the lock was taken.
    for leftover in found(place)?.leftovers {
        match take_away(place, &leftover, disk) {
            Ok(()) => swept.gone.push(leftover),
            // One failed removal does not stop the others.
            Err(why) => swept.failed.push((leftover, why)),
        }
    }
    Ok(swept)
}

fn take_away(place: &CleanScope<'_>, leftover: &Leftover, disk: &dyn Disk) -> Result<(), String> {
    let told = |error: io::Error| error.to_string();
    match leftover {
        // The records go last: while they exist, the rest can be found again.
        Leftover::Run { files, folders, .. } => {
            folders.iter().try_for_each(|folder| disk::remove_all(disk, folder, DEEP)).map_err(told)?;
            files.iter().try_for_each(|file| disk.remove(file)).map_err(told)
        }
        Leftover::Worktree { path } => worktrees::remove(place.root, path).map_err(|refused| refused.0),
        Leftover::Reference { name, at } => match refs::drop_reference(place.root, name, at) {
            Ok(RefUpdate::Done) => Ok(()),
            Ok(RefUpdate::Moved { .. }) => Err("another process moved the reference".to_owned()),
            Err(GitError(why)) => Err(why),
        },
        Leftover::Terminals { server } => tmux::close(server, place.run).map_err(told),
    }
}

/// Returns all run logs with their plans, archived ones included.
fn logs(run: &Path) -> Vec<(String, PathBuf)> {
    let plan = |path: &Path| Some(path.file_name()?.to_str()?.split('.').next()?.to_owned());
    files_with_ending(&run.join("plans"), "jsonl")
        .into_iter()
        .filter_map(|path| Some((plan(&path)?, path)))
        .collect()
}

enum RunAge {
    Over,
    /// Not old enough, or not quite over.
    Fresh,
    Wanted(fn(&str) -> KeptLeftover),
}

fn standing(place: &CleanScope<'_>, timed: &Timed) -> Result<RunAge, GitError> {
    if timed.moved >= place.before {
        return Ok(RunAge::Fresh);
    }
    let run = timed.run();
    if !run.is_settled() {
        return Ok(RunAge::Wanted(|plan| KeptLeftover::Unfinished { plan: plan.to_owned() }));
    }
    let merged: Vec<&str> = run.merged().map(|(_, commit)| commit.0.as_str()).collect();
    let target = run.plan().head.target.as_ref().map(BranchName::as_str).unwrap_or_default();
    // A missing target or pruned commits prove nothing.
    let target = format!("refs/heads/{target}");
    let is_landed = match refs::resolve(place.root, &target)? {
        Some(at) => refs::contains_all(place.root, &merged, &at).unwrap_or(false),
        None => merged.is_empty(),
    };
    Ok(if is_landed {
        RunAge::Over
    } else {
        RunAge::Wanted(|plan| KeptLeftover::NotLanded { plan: plan.to_owned() })
    })
}

fn of_run(place: &CleanScope<'_>, plan: &str, log: &Path, run: &Run) -> Leftover {
    let mut files = vec![board_cache::path(log)];
    let mut folders = sessions(place.run, run.id.as_str());
    // Files that all runs of a plan share go with its last run.
    if log == run_log_path(place.run, plan) {
        files.push(start_run::source(place.run, plan));
        folders.push(place.run.join("briefs").join(plan));
    }
    files.retain(|path| path.exists());
    folders.retain(|path| path.exists());
    files.push(log.to_path_buf());
    Leftover::Run { plan: plan.to_owned(), id: run.id.to_string(), files, folders }
}

/// Returns the folders of all sessions.
fn all_sessions(run: &Path) -> Vec<PathBuf> {
    fs::read_dir(run.join("s")).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Returns the session directories of one run.
fn sessions(run: &Path, id: &str) -> Vec<PathBuf> {
    let mut folders = all_sessions(run);
    folders.retain(|folder| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        name.strip_prefix(id).is_some_and(|rest| rest.starts_with('.'))
    });
    folders
}

fn is_anybody_at(folders: &[PathBuf]) -> io::Result<bool> {
    for folder in folders {
        if SessionDir::at(folder).probe()? == SessionProbe::Running {
            return Ok(true);
        }
    }
    Ok(false)
}

impl CleanScope<'_> {
    fn worktrees(&self, in_use: &BTreeSet<StageId>, found: &mut CleanCandidates) -> Result<(), GitError> {
        let ours = self.root.join(".worktrees");
        for it in worktrees::list(self.root)? {
            let stage = it.branch.as_deref().and_then(stage_of);
            let folder = it.path.file_name().map(|name| StageId::new(&name.to_string_lossy()));
            let is_used = stage.iter().chain(&folder).any(|id| in_use.contains(id));
            if it.path.parent() != Some(&ours) || it.is_prunable || is_used || self.is_young(&it.path) {
                continue;
            }
            let path = it.path;
            let head = it.head.unwrap_or_default();
            let looked = worktree_guard::prove(self.root, &path)
                .and_then(|()| worktrees::is_clean(&path))
                .and_then(|is_clean| Ok((is_clean, worktrees::is_on_branch(self.root, &head)?)));
            match looked {
                Ok((true, true)) => found.leftovers.push(Leftover::Worktree { path }),
                Ok((false, _)) => found.wanted.push(KeptLeftover::Uncommitted { path }),
                Ok((true, false)) => found.wanted.push(KeptLeftover::Unnamed { path, head }),
                Err(GitError(why)) => found.wanted.push(KeptLeftover::Unreadable { path, why }),
            }
        }
        Ok(())
    }

    /// Reports whether a worktree is too new to be removed: its creator may be about to use it.
    fn is_young(&self, path: &Path) -> bool {
        let changed = fs::metadata(path).and_then(|about| about.modified()).ok();
        let since = changed.and_then(|at| at.duration_since(std::time::SystemTime::UNIX_EPOCH).ok());
        since.is_none_or(|since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX) >= self.before.millis())
    }

    /// Finds branches of stages. Merged branches can go.
    fn branches(&self, in_use: &BTreeSet<StageId>, found: &mut CleanCandidates) -> Result<(), GitError> {
        let listed = worktrees::list(self.root)?;
        for Dated { name, at, date } in refs::dated(self.root, "refs/heads/sprag/")? {
            let Some(stage) = stage_of(&name) else { continue };
            let checkout = listed.iter().find(|it| it.branch.as_deref() == Some(name.as_str()));
            let goes = |it: &worktrees::WorktreeInfo| {
                found.leftovers.contains(&Leftover::Worktree { path: it.path.clone() })
            };
            // The worktree that has this branch checked out stays and is reported already.
            if in_use.contains(&stage) || date >= self.before || checkout.is_some_and(|it| !goes(it)) {
                continue;
            }
            if worktrees::is_on_other_branch(self.root, &at)? {
                found.leftovers.push(Leftover::Reference { name, at })
            } else {
                found.wanted.push(KeptLeftover::Unmerged { branch: stage.branch() })
            }
        }
        Ok(())
    }

    /// Finds references below `refs/sprag/`, except those of plans whose runs stay.
    fn references(&self, plans: &BTreeSet<String>, found: &mut CleanCandidates) -> Result<(), GitError> {
        for Dated { name, at, date } in refs::dated(self.root, "refs/sprag/")? {
            let mut parts = name.split('/').skip(2);
            let (plan, kind) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            if plans.contains(plan) || date >= self.before {
                continue;
            }
            let goes = match (kind, self.salvage) {
                // A merge candidate consists of commits that have other names.
                ("cand", _) | ("salvage", Salvage::Goes) => true,
                _ => worktrees::is_on_other_branch(self.root, &at)?,
            };
            if goes {
                found.leftovers.push(Leftover::Reference { name, at })
            } else {
                found.wanted.push(KeptLeftover::Salvaged { name })
            }
        }
        Ok(())
    }
}

fn stage_of(reference: &str) -> Option<StageId> {
    StageId::of_branch(reference.strip_prefix("refs/heads/")?)
}
