//! Paths of a run: folders, records, socket and worktrees.

use std::path::{Path, PathBuf};

use sprag_plan::ids::StageId;

/// Returns the path of a plan's records.
pub fn run_log_path(run: &Path, plan: &str) -> PathBuf {
    run.join("plans").join(format!("{plan}.jsonl"))
}

/// The folders and references of one run.
#[derive(Clone, Debug)]
pub struct RunLayout {
    /// The user's checkout.
    pub root: PathBuf,
    /// Sprag's folder of runs.
    pub run: PathBuf,
    pub plan: String,
    /// The target branch, as a full reference name.
    pub target: String,
    pub epoch: u64,
}

impl RunLayout {
    pub fn trunk(&self) -> String {
        format!("refs/sprag/{}/trunk", self.plan)
    }

    /// Returns the short name of the target branch.
    pub fn target_name(&self) -> &str {
        self.target.strip_prefix("refs/heads/").unwrap_or(&self.target)
    }

    pub fn worktree(&self, stage: &StageId) -> PathBuf {
        worktree_of(&self.root, stage)
    }

    pub fn brief(&self, stage: &StageId) -> PathBuf {
        brief_path(&self.run, &self.plan, stage)
    }

    pub fn salvage(&self, stage: &StageId, attempt: u32) -> String {
        format!("refs/sprag/{}/salvage/{}/{attempt}", self.plan, stage.as_str())
    }
}

/// Returns the worktree of a stage.
pub fn worktree_of(root: &Path, stage: &StageId) -> PathBuf {
    root.join(".worktrees").join(stage.as_str())
}

/// Returns the folder of a run's notes.
pub fn notes_dir(run: &Path, plan: &str) -> PathBuf {
    run.join("notes").join(plan)
}

/// The folder of the socket. It is separate because a sandboxed agent sees this folder and nothing beside it.
pub const DOOR: &str = "door";

pub(crate) const SOCKET: &str = "sock";

/// Returns the socket path of a folder of runs.
pub fn socket(run: &Path) -> PathBuf {
    run.join(DOOR).join(SOCKET)
}

/// Names the session in the environment of the agent and all its processes.
pub const SESSION_VARIABLE: &str = "SPRAG_SESSION";

pub fn handoffs_dir(run: &Path, plan: &str, stage: &StageId) -> PathBuf {
    run.join("handoffs").join(plan).join(stage.as_str())
}

/// Returns the path of a stage's brief.
pub fn brief_path(run: &Path, plan: &str, stage: &StageId) -> PathBuf {
    run.join("briefs").join(plan).join(format!("{}.md", stage.as_str()))
}

pub fn notes_path(run: &Path, plan: &str, stage: &StageId) -> PathBuf {
    notes_dir(run, plan).join(format!("{}.jsonl", stage.as_str()))
}
