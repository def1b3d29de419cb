//! Starting the agent of a stage: what is run, with which environment, under whose eyes.

use sprag_core::plan::record::Outcome;
use sprag_core::plan::spec::Client;
use sprag_core::plan::stage::{Failure, StageId};

use super::super::surroundings;
use super::{Ground, Job, Wrong, failed};
use crate::disk::Disk;
use crate::env;
use crate::exec;
use crate::supervise::site::Spawn;

/// How long an agent may take where nothing is said.
const DAY: u64 = 86_400;
/// How long one that is told to end may take.
const GRACE: u64 = 10;
/// What an agent gets of the environment.
const PASSED_ON: [&str; 8] = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "SHELL", "TERM", "TMPDIR"];

impl Job {
    pub(super) fn spawn(&self, stage: &StageId, disk: &dyn Disk) -> Result<Outcome, Wrong> {
        let Some(spec) = &self.spec else { return Ok(failed(Failure::Setup, "the plan has no such stage")) };
        let Client::Command { command } = &spec.agent.client else {
            return Ok(failed(Failure::Unknown, "only agents given as a command can be run yet"));
        };
        let site = self.ground.site(&self.key);
        let worktree = self.ground.worktree(stage);
        let brief = self.ground.brief(stage);
        let mut env: Vec<(String, String)> = PASSED_ON
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), env::Env::Real.text(name)?)))
            .collect();
        env.push(("SPRAG_STAGE".to_owned(), stage.as_str().to_owned()));
        env.push(("SPRAG_BRIEF".to_owned(), brief.display().to_string()));
        let spawn = Spawn {
            v: 1,
            epoch: self.ground.epoch,
            argv: command.iter().map(ToString::to_string).collect(),
            env,
            dir: worktree.join(spec.working_dir.as_str()),
            worktree,
            branch: Ground::branch(stage),
            seconds: spec.budget.time.map_or(DAY, |time| u64::from(time.get())),
            grace: GRACE,
            stdin: Some(brief),
            confined: None,
        };
        let spawn = match surroundings::around(&self.ground, spec, &site, spawn, disk) {
            Ok(spawn) => spawn,
            Err((failure, why)) => return Ok(failed(failure, &why)),
        };
        site.ask(disk, &spawn)?;
        exec::detach(&std::env::current_exe()?, &["supervise".as_ref(), site.dir().as_os_str()])?;
        Ok(Outcome::Spawned)
    }
}
