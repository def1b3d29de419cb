//! Begins or resumes a run: takes the lock, chooses the start of the trunk and the plan.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use sprag_base::text::Text;
use sprag_host::git::refs::{self, GitError, RefUpdate};
use sprag_host::store::new_record;
use sprag_host::sys::disk::{self, Disk};
use sprag_host::sys::env;
use sprag_host::sys::locations::Locations;
use sprag_plan::ids::{CommitId, StageId};
use sprag_plan::run::record::RunRecord;
use sprag_plan::run::{Run, target_stage};
use sprag_plan::spec::Plan;
use sprag_plan::spec::values::BranchName;

use crate::layout::{RunLayout, notes_dir, run_log_path};
use crate::lock::{self, DaemonLock, ruled};
use crate::run_log::{self, RunLog, known};
use crate::sandbox::{sandboxed_runner, stage_rules};
use crate::stage_session::notes;

/// A run that holds the daemon lock.
pub struct StartedRun<'d> {
    pub log: RunLog<'d>,
    pub ground: RunLayout,
    pub reign: DaemonLock,
    pub was: RunStart,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStart {
    New,
    /// Begun earlier. The recorded plan counts.
    UnderWay,
}

#[derive(Debug)]
pub enum StartError {
    NoRepository,
    NoBranch,
    NoTarget {
        name: String,
    },
    AtWork {
        pid: u32,
        /// The plan that the other daemon runs, if known.
        plan: Option<String>,
    },
    NoRun {
        name: String,
    },
    /// A stage of an unfinished run has the same name, and so the same branch and worktree.
    StageTaken {
        stage: StageId,
        plan: String,
    },
    /// The trunk lacks a commit that the records count as merged.
    Unproven {
        trunk: String,
    },
    /// A stage requires a sandbox, and none works.
    NoSandbox {
        stage: StageId,
        why: String,
    },
    Git(String),
    Io(io::Error),
}

impl From<GitError> for StartError {
    fn from(GitError(why): GitError) -> StartError {
        StartError::Git(why)
    }
}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> StartError {
        StartError::Io(error)
    }
}

/// Returns the path of the file that names the plan file of a run.
pub fn source(run: &Path, plan: &str) -> PathBuf {
    run.join("plans").join(format!("{plan}.source"))
}

/// Records the plan file that a run uses from now on.
pub fn goes_by(run: &Path, plan: &str, file: &Path, disk: &dyn Disk) -> io::Result<()> {
    disk::replace_derived(disk, &source(run, plan), file.as_os_str().as_encoded_bytes())
}

/// Returns the plan file that a run uses, if known.
pub fn source_of(run: &Path, plan: &str) -> Option<PathBuf> {
    disk::read_small(&source(run, plan), 4096).ok().map(PathBuf::from)
}

/// Returns the plans whose runs are not over or still need cleanup.
pub fn active(run: &Path) -> io::Result<Vec<(String, Run)>> {
    let mut found = Vec::new();
    for name in known(run) {
        if let Some(read) = run_log::read(&run_log_path(run, &name))?.filter(|run| !run.is_settled()) {
            found.push((name, read));
        }
    }
    Ok(found)
}

pub fn begin<'d>(
    places: &Locations,
    plan: Plan,
    file: &Path,
    disk: &'d dyn Disk,
) -> Result<StartedRun<'d>, StartError> {
    let (root, run) = folders(places)?;
    // Checked before anything begins: a stage that cannot start would block all stages that depend on it.
    if let Some((stage, why)) = stage_rules::refused(&plan, &root) {
        return Err(StartError::NoSandbox { stage, why });
    }
    let reign = rule(&run, disk)?;
    let name = plan.head.name.to_string();
    disk::replace_derived(disk, &run.join("plan"), name.as_bytes())?;
    let path = run_log_path(&run, &name);
    if let Some(log) = RunLog::resume(&path, disk)? {
        let ground = ground(&root, &run, log.run().plan(), &reign);
        prove_merged(&ground, log.run())?;
        if !log.run().is_settled() || !is_landed(&ground)? {
            return Ok(StartedRun { log, ground, reign, was: RunStart::UnderWay });
        }
        put_away(&run, &name, &path)?;
    }
    for (other, active) in active(&run)?.iter().filter(|(other, _)| *other != name) {
        let is_taken = |id: &StageId| active.entry(id).is_some_and(|known| !known.state.is_over());
        if let Some(taken) = plan.stages().iter().find(|spec| is_taken(&spec.id)) {
            return Err(StartError::StageTaken { stage: taken.id.clone(), plan: other.clone() });
        }
    }
    let target = match &plan.head.target {
        Some(branch) => branch.to_string(),
        None => places.branch().ok_or(StartError::NoBranch)?,
    };
    let plan = plan.with_target(&target).ok_or(StartError::NoBranch)?;
    let ground = ground(&root, &run, &plan, &reign);
    let at = refs::resolve(&root, &ground.target)?.ok_or(StartError::NoTarget { name: target })?;
    let before = refs::resolve(&root, &ground.trunk())?;
    if let RefUpdate::Moved { .. } = refs::swap(&root, &ground.trunk(), &at, before.as_deref())? {
        return Err(StartError::AtWork { pid: std::process::id(), plan: None });
    }
    let id = new_record::new_id(env::now());
    put_branches_away(&ground, &plan, &id)?;
    let started = RunRecord::Started {
        run: Text::new(id),
        digest: plan.digest(),
        plan: Box::new(plan),
        trunk: CommitId(Text::new(at)),
    };
    let log = RunLog::begin(&path, disk, &started)?;
    goes_by(&run, &name, file, disk)?;
    Ok(StartedRun { log, ground, reign, was: RunStart::New })
}

/// Resumes a run with its recorded plan.
pub fn resume<'d>(places: &Locations, plan: &str, disk: &'d dyn Disk) -> Result<StartedRun<'d>, StartError> {
    let (root, run) = folders(places)?;
    let reign = rule(&run, disk)?;
    let none = || StartError::NoRun { name: plan.to_owned() };
    disk::replace_derived(disk, &run.join("plan"), plan.as_bytes())?;
    let log = RunLog::resume(&run_log_path(&run, plan), disk)?.ok_or_else(none)?;
    let ground = ground(&root, &run, log.run().plan(), &reign);
    prove_merged(&ground, log.run())?;
    Ok(StartedRun { log, ground, reign, was: RunStart::UnderWay })
}

/// Checks with git that the trunk contains every stage that the records count as merged. Without that proof
/// no work builds on the trunk.
fn prove_merged(ground: &RunLayout, run: &Run) -> Result<(), StartError> {
    let commits: Vec<&str> = run.merged().map(|(_, commit)| commit.0.as_str()).collect();
    let trunk = run.queue().trunk().0.to_string();
    match refs::contains_all(&ground.root, &commits, &trunk) {
        Ok(true) => Ok(()),
        Ok(false) | Err(_) => Err(StartError::Unproven { trunk }),
    }
}

/// Returns the user's checkout and the folder of runs.
fn folders(places: &Locations) -> Result<(PathBuf, PathBuf), StartError> {
    match (&places.worktree, &places.common) {
        (Some(root), Some(_)) => Ok((root.clone(), places.store.join("run"))),
        _ => Err(StartError::NoRepository),
    }
}

fn rule(run: &Path, disk: &dyn Disk) -> Result<DaemonLock, StartError> {
    match lock::begin(run, disk)? {
        Some(reign) => {
            // Check processes of an earlier daemon are gone.
            sandboxed_runner::forget(run);
            Ok(reign)
        }
        None => Err(StartError::AtWork { pid: lock::ruler(run)?.unwrap_or(0), plan: ruled(run) }),
    }
}

/// Returns the layout of a run.
fn ground(root: &Path, run: &Path, plan: &Plan, reign: &DaemonLock) -> RunLayout {
    let target = plan.head.target.as_ref().map(BranchName::as_str).unwrap_or_default();
    RunLayout {
        root: root.to_path_buf(),
        run: run.to_path_buf(),
        plan: plan.head.name.to_string(),
        target: format!("refs/heads/{target}"),
        epoch: reign.epoch,
    }
}

/// Reports whether all merged work is on the target. Otherwise the next run would start without that work.
fn is_landed(ground: &RunLayout) -> Result<bool, GitError> {
    has_landed(&ground.root, &ground.trunk(), &ground.target)
}

/// Reports whether the target contains the trunk, by the names of the references.
pub fn has_landed(root: &Path, trunk: &str, target: &str) -> Result<bool, GitError> {
    let Some(trunk) = refs::resolve(root, trunk)? else { return Ok(true) };
    match refs::resolve(root, target)? {
        Some(target) => refs::contains(root, &trunk, &target),
        None => Ok(false),
    }
}

/// Renames branches that an earlier run left for stages of the same names.
fn put_branches_away(ground: &RunLayout, plan: &Plan, run: &str) -> Result<(), GitError> {
    // One call of git for all stages.
    let left: BTreeMap<String, String> =
        refs::references(&ground.root, "refs/heads/sprag/")?.into_iter().collect();
    let of_runs = left.keys().filter_map(|name| StageId::of_branch(name.strip_prefix("refs/heads/")?));
    let ours: Vec<StageId> = of_runs.filter(|id| target_stage::is_base_of(id, &ground.plan)).collect();
    for id in plan.stages().iter().map(|spec| &spec.id).chain(&ours) {
        let branch = format!("refs/heads/{}", id.branch());
        if let Some(head) = left.get(&branch) {
            let kept = format!("refs/sprag/{}/salvage/{}/before-{run}", ground.plan, id.as_str());
            refs::swap(&ground.root, &kept, head, None)?;
            refs::drop_reference(&ground.root, &branch, head)?;
        }
    }
    Ok(())
}

/// Archives the records of a finished run under another name.
fn put_away(run: &Path, plan: &str, path: &Path) -> io::Result<()> {
    let id = run_log::read(path)?.map_or_else(|| "unreadable".to_owned(), |run| run.id.to_string());
    // Notes and handoffs of the old run do not belong to the next one.
    let (old, notes) = (notes::old_path(run, plan), notes_dir(run, plan));
    let handoffs = run.join("handoffs").join(plan);
    for (from, to) in [
        (old.clone(), old.with_extension(format!("{id}.jsonl"))),
        (notes.clone(), notes.with_extension(&id)),
        (handoffs.clone(), handoffs.with_extension(&id)),
    ] {
        match fs::rename(from, to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    fs::rename(path, path.with_extension(format!("{id}.jsonl")))
}
