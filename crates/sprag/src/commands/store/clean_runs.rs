//! The part of `sprag store clean` that removes leftovers of runs.

use std::path::Path;

use serde_json::{Value, json};

use sprag_base::text::{quoted, shell_word};
use sprag_base::time::Timestamp;
use sprag_host::sys::disk::RealDisk;
use sprag_host::sys::human;
use sprag_host::sys::locations::Locations;
use sprag_orchestrator::daemon::clean::{
    self, CleanCandidates, CleanScope, KeptLeftover, Leftover, RunCleanReport, Salvage,
};
use sprag_orchestrator::daemon::repair::NotRepaired;

use crate::commands::run::repair::failed;
use crate::failure::Failure;
use crate::output;

/// The leftovers of runs, or the result of removing them.
pub(super) enum RunCleaning {
    /// A daemon runs; apparent leftovers may belong to it.
    AtWork(u32),
    Found(CleanCandidates),
    Swept(RunCleanReport, Vec<KeptLeftover>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CleanAim {
    Say,
    Sweep,
}

pub(crate) fn run(
    places: &Locations,
    before: Timestamp,
    salvage: Salvage,
    aim: CleanAim,
) -> Result<RunCleaning, Failure> {
    let Some(root) = &places.worktree else { return Ok(RunCleaning::Found(CleanCandidates::default())) };
    let folder = places.store.join("run");
    let place = CleanScope { root, run: &folder, before, salvage };
    let found = match clean::find_candidates(&place) {
        Err(NotRepaired::AtWork { pid }) => return Ok(RunCleaning::AtWork(pid)),
        found => found.map_err(failed)?,
    };
    if aim == CleanAim::Say || found.leftovers.is_empty() {
        return Ok(RunCleaning::Found(found));
    }
    // An agent must not remove leftovers of other agents.
    human::check_not_agent(places.user.as_ref())?;
    let swept = clean::sweep(&place, &RealDisk).map_err(failed)?;
    Ok(RunCleaning::Swept(swept, found.wanted))
}

impl RunCleaning {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            RunCleaning::Found(found) => found.leftovers.is_empty() && found.wanted.is_empty(),
            RunCleaning::AtWork(_) | RunCleaning::Swept(..) => false,
        }
    }

    pub(super) fn json(&self) -> Value {
        let rows = |all: &[Leftover]| all.iter().map(row).collect::<Vec<Value>>();
        let kept = |all: &[KeptLeftover]| {
            all.iter().map(|it| json!({"what": describe(it), "next": saving(it)})).collect::<Vec<Value>>()
        };
        match self {
            RunCleaning::AtWork(pid) => json!({"at_work": pid}),
            RunCleaning::Found(found) => {
                json!({"leftovers": rows(&found.leftovers), "kept": kept(&found.wanted)})
            }
            RunCleaning::Swept(swept, wanted) => {
                let failed = swept.failed.iter().map(|(it, why)| json!({"what": row(it), "why": why}));
                json!({
                    "removed": rows(&swept.gone), "kept": kept(wanted),
                    "failed": failed.collect::<Vec<Value>>(),
                })
            }
        }
    }

    pub(super) fn tell(&self) {
        match self {
            RunCleaning::AtWork(pid) => {
                output::line(format!("runs are skipped: process `{pid}` runs a plan"));
                output::next("sprag run stop");
            }
            RunCleaning::Found(found) => {
                found.leftovers.iter().for_each(|it| output::line(format!("would remove {}", named(it))));
                keep(&found.wanted);
            }
            RunCleaning::Swept(swept, wanted) => {
                swept.gone.iter().for_each(|it| output::line(format!("removed {}", named(it))));
                for (it, why) in &swept.failed {
                    output::line(format!("cannot remove {}: {}", named(it), quoted(why)));
                }
                keep(wanted);
            }
        }
    }
}

fn keep(wanted: &[KeptLeftover]) {
    for it in wanted {
        output::line(format!("kept: {}", describe(it)));
        output::next(saving(it));
    }
}

fn named(leftover: &Leftover) -> String {
    match leftover {
        Leftover::Run { plan, id, folders, .. } => {
            format!("finished run `{id}` of plan `{plan}` with {} directories", folders.len())
        }
        Leftover::Worktree { path } => format!("worktree `{}`", shown(path)),
        Leftover::Reference { name, .. } => format!("`{}`", quoted(name)),
        Leftover::Terminals { server } => format!("the empty terminals of tmux server `{server}`"),
    }
}

fn row(leftover: &Leftover) -> Value {
    match leftover {
        Leftover::Run { plan, id, files, folders } => {
            json!({"kind": "run", "of": id, "plan": plan, "files": files, "folders": folders})
        }
        Leftover::Worktree { path } => json!({"kind": "worktree", "of": path}),
        Leftover::Reference { name, at } => json!({"kind": "reference", "of": name, "at": at}),
        Leftover::Terminals { server } => json!({"kind": "terminals", "of": server}),
    }
}

fn describe(wanted: &KeptLeftover) -> String {
    match wanted {
        KeptLeftover::Unfinished { plan } => format!("the run of plan `{plan}` is not over"),
        KeptLeftover::NotLanded { plan } => format!("merged work of plan `{plan}` is not on its target"),
        KeptLeftover::Uncommitted { path } => {
            format!("worktree `{}` has uncommitted changes", shown(path))
        }
        KeptLeftover::Unnamed { path, .. } => {
            format!("the commits of worktree `{}` are on no branch", shown(path))
        }
        KeptLeftover::Unreadable { path, why } => {
            format!("cannot read worktree `{}`: {}", shown(path), quoted(why))
        }
        KeptLeftover::Unmerged { branch } => format!("branch `{}` is not merged", quoted(branch)),
        KeptLeftover::Salvaged { name } => format!("`{}` has work that is on no branch", quoted(name)),
    }
}

/// Returns the command that saves kept work. Agents choose names of branches and directories, so it quotes
/// them.
fn saving(wanted: &KeptLeftover) -> String {
    match wanted {
        KeptLeftover::Unfinished { plan } => format!("sprag run resume {}", shell_word(plan)),
        KeptLeftover::NotLanded { plan } => format!("sprag run land {}", shell_word(plan)),
        KeptLeftover::Uncommitted { path } => {
            let path = path.display().to_string();
            let path = shell_word(&path);
            format!("git -C {path} add -A && git -C {path} commit -m 'Save leftover work'")
        }
        KeptLeftover::Unnamed { path, head } => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            format!("git branch {} {head}", shell_word(&format!("saved/{name}")))
        }
        KeptLeftover::Unreadable { .. } => "sprag run worktrees".to_owned(),
        KeptLeftover::Unmerged { branch } => format!("git merge {}", shell_word(branch)),
        KeptLeftover::Salvaged { name } => {
            let short: Vec<&str> = name.split('/').skip(2).collect();
            let branch = format!("saved/{}", short.join("-"));
            format!("git branch {} {}", shell_word(&branch), shell_word(name))
        }
    }
}

fn shown(path: &Path) -> String {
    quoted(&path.display().to_string())
}
