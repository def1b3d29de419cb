//! Paths of a run: its folder, its records, its socket, its worktrees.

use std::path::{Path, PathBuf};

use sprag_plan::ids::StageId;

/// Where a plan's records are.
pub fn run_log_path(run: &Path, plan: &str) -> PathBuf {
    run.join("plans").join(format!("{plan}.jsonl"))
}

/// Where a plan is run.
#[derive(Clone, Debug)]
pub struct RunLayout {
    /// The user's checkout.
    pub root: PathBuf,
    /// Our own files about runs.
    pub run: PathBuf,
    pub plan: String,
    /// Where merged work goes, as the whole name of a reference.
    pub target: String,
    pub epoch: u64,
}

impl RunLayout {
    pub fn trunk(&self) -> String {
        format!("refs/sprag/{}/trunk", self.plan)
    }

    /// The target as people call it.
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

/// Where a stage is worked at, in the checkout of its user.
pub fn worktree_of(root: &Path, stage: &StageId) -> PathBuf {
    root.join(".worktrees").join(stage.as_str())
}

/// Where the notes of all stages of a run are.
pub fn notes_dir(run: &Path, plan: &str) -> PathBuf {
    run.join("notes").join(plan)
}

/// Where the socket is, in the folder of runs: one of its own, since an agent behind walls sees that and nothing beside.
pub const DOOR: &str = "door";

pub(crate) const SOCKET: &str = "sock";

/// The socket of the runs in a folder.
pub fn socket(run: &Path) -> PathBuf {
    run.join(DOOR).join(SOCKET)
}

/// Names the session to everything its agent starts.
pub const SESSION_VARIABLE: &str = "SPRAG_SESSION";

pub fn handoffs_dir(run: &Path, plan: &str, stage: &StageId) -> PathBuf {
    run.join("handoffs").join(plan).join(stage.as_str())
}

/// Where the brief of a stage is.
pub fn brief_path(run: &Path, plan: &str, stage: &StageId) -> PathBuf {
    run.join("briefs").join(plan).join(format!("{}.md", stage.as_str()))
}

pub fn notes_path(run: &Path, plan: &str, stage: &StageId) -> PathBuf {
    notes_dir(run, plan).join(format!("{}.jsonl", stage.as_str()))
}
