//! Effects as jobs. A job copies everything it needs from the run, so that it can run outside the loop. Jobs
//! decide nothing; the core judges their outcomes.

mod accept;
mod brief;
mod launch;
mod merge_candidate;
mod notify;
mod protected_files;
mod review;
mod salvage;
mod stage_checks;
pub(crate) mod task_check;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::io;
use std::time::Duration;

use sprag_base::result::Discard as _;
use sprag_base::text::Text;
use sprag_host::git::refs::{self, GitError, RefUpdate};
use sprag_host::git::worktree_guard;
use sprag_host::git::worktrees::{self, Branch};
use sprag_host::sys::disk::Disk;
use sprag_host::sys::env;
use sprag_plan::brief::BriefInput;
use sprag_plan::ids::{CommitId, EffectKey, StageId};
use sprag_plan::reconcile::recovery::EffectTrace;
use sprag_plan::run::Run;
use sprag_plan::run::effect::{Effect, EffectOutcome, QueueStep, RefStep, SessionSignal, StageStep};
use sprag_plan::run::stuck_ref::StuckRef;
use sprag_plan::spec::checks::CheckSandbox;
use sprag_plan::spec::{SandboxSettings, StageSpec};
use sprag_plan::stage::StageFailure;
use sprag_plan::stage::state::StageState;

use super::coordination::SessionQueue as _;
use super::sandbox::sandboxed_runner::{CommandOwner, SandboxedCommand, SandboxedRunner};
use super::sandbox::stage_rules;
use super::{observe, stage_env, stage_session};
use crate::layout::RunLayout;
use crate::session_dir::{SessionProbe, SupervisorSignal};

/// Time limit for each setup command of a stage.
const SETUP: Duration = Duration::from_secs(900);

/// Maximum number of supervisor starts until one claims the session.
const SPAWNS: usize = 5;

/// An effect to execute, with all data it needs.
pub struct Job {
    pub key: EffectKey,
    pub effect: Effect,
    pub ground: RunLayout,
    /// The spec of the stage that the effect is about.
    spec: Option<StageSpec>,
    stage: Option<StageState>,
    base: Option<CommitId>,
    gates: Vec<sprag_plan::spec::checks::StageCheck>,
    /// The input for the stage's brief, from the run.
    told: Option<BriefInput>,
    /// The target commit that the stage has to merge, if any.
    owed: Option<CommitId>,
    /// The head of the stage's work, if the effect tests a candidate.
    head: Option<CommitId>,
    /// Stages whose checks must pass for a merge candidate.
    chain: Vec<StageSpec>,
    /// The last known commit of the target.
    target: CommitId,
    /// The pause after a failed move of a reference.
    patience: Duration,
    /// The budget of the whole run.
    budget: sprag_plan::spec::RunBudget,
    /// The plan's sandbox, in which its merge checks run.
    sandbox: SandboxSettings,
}

impl Job {
    pub fn new(run: &Run, ground: &RunLayout, key: EffectKey, effect: Effect) -> Job {
        let id = effect.stage(run).cloned();
        let entry = id.as_ref().and_then(|id| run.entry(id));
        let is_telling =
            matches!(effect, Effect::Stage { step: StageStep::WriteBrief { .. } | StageStep::Salvage, .. });
        let told = id.as_ref().filter(|_| is_telling).and_then(|id| BriefInput::from_run(run, id));
        let head = match &effect {
            Effect::Queue { number, step: QueueStep::Test { .. } } => {
                let entry = run.queue().entries().iter().find(|entry| entry.number == *number);
                entry.map(|entry| entry.verified.head.clone())
            }
            _ => None,
        };
        Job {
            key,
            ground: ground.clone(),
            spec: id.as_ref().and_then(|id| run.plan().find(id.as_str())).cloned(),
            stage: entry.map(|entry| entry.state.clone()),
            base: entry.and_then(|entry| entry.worktree.base().cloned()),
            gates: run.plan().head.gates.clone(),
            told,
            owed: id.as_ref().and_then(|id| run.owed(id)).cloned(),
            head,
            chain: chain(run, &effect),
            target: run.target().known.clone(),
            patience: Duration::from_secs(StuckRef::patience(run.target().stuck.as_ref())),
            effect,
            budget: run.plan().head.budget.clone(),
            sandbox: run.plan().head.sandbox.clone(),
        }
    }

    /// Executes the effect. Errors become outcomes.
    pub fn run(&self, disk: &dyn Disk) -> EffectOutcome {
        self.attempt(disk).unwrap_or_else(|wrong| match wrong {
            JobError::Git(GitError(why)) => {
                if self.effect.moves_ref() {
                    // Moves of references are retried until they succeed. The pause avoids a busy loop, for
                    // example on a leftover lock.
                    #[expect(clippy::disallowed_methods, reason = "on a thread of its own")]
                    std::thread::sleep(self.patience);
                }
                failed(StageFailure::Setup, &why)
            }
            JobError::Disk(error) => failed(StageFailure::Setup, &error.to_string()),
        })
    }

    fn attempt(&self, disk: &dyn Disk) -> Result<EffectOutcome, JobError> {
        let root = self.ground.root.as_path();
        let moved = |update: RefUpdate| match update {
            RefUpdate::Done => EffectOutcome::Done,
            RefUpdate::Moved { now } => {
                EffectOutcome::Elsewhere { trunk: CommitId(Text::new(now.unwrap_or_default())) }
            }
        };
        Ok(match &self.effect {
            Effect::Stage { stage, step } => {
                self.prove(stage, step)?;
                self.attempt_step(stage, step, disk)?
            }
            Effect::Session { session, step } => self.attempt_signal(session, *step)?,
            Effect::Queue { number, step } => match step {
                QueueStep::Make { on, head } => self.candidate(*number, on, head)?,
                QueueStep::Test { commit, tree } => self.gate(*number, commit, tree, disk)?,
                QueueStep::Land { from, to } => {
                    moved(refs::swap(root, &self.ground.trunk(), to.0.as_str(), Some(from.0.as_str()))?)
                }
            },
            Effect::Refs(RefStep::RestoreTrunk { to }) => moved(merge_candidate::restore(&self.ground, to)?),
            Effect::Refs(RefStep::Promote { to }) => {
                moved(merge_candidate::promote(&self.ground, &self.target, to)?)
            }
            Effect::Notify { about, text } => self.notify(about.as_ref(), text.as_str(), disk),
        })
    }

    fn attempt_step(
        &self,
        stage: &StageId,
        step: &StageStep,
        disk: &dyn Disk,
    ) -> Result<EffectOutcome, JobError> {
        Ok(match step {
            StageStep::AddWorktree { base } => self.add_worktree(stage, base, disk)?,
            StageStep::Setup => self.set_up(stage, disk)?,
            StageStep::Check { phase } => self.check(stage, *phase, disk)?,
            StageStep::Review(job) => self.review(&job.head, &job.tree, job.by, job.demand, disk)?,
            StageStep::WriteBrief { kind } => match self.brief(stage, *kind, disk)? {
                Some(written) => {
                    stage_session::keep(&self.ground.brief(stage), disk, *kind, &written)?;
                    EffectOutcome::Done
                }
                None => failed(StageFailure::Setup, "the plan has no such stage"),
            },
            StageStep::Spawn => self.spawn_surely(stage, disk)?,
            StageStep::Nudge { session, text, topic } => {
                self.nudge(stage, session, text.as_str(), *topic, disk)?
            }
            StageStep::Salvage => self.salvage(stage, disk)?,
            StageStep::Discard { number } => self.discard_worktree(stage, *number)?,
            StageStep::RemoveWorktree => self.remove_worktree(stage, disk)?,
        })
    }

    fn attempt_signal(&self, session: &EffectKey, step: SessionSignal) -> Result<EffectOutcome, JobError> {
        let site = self.ground.site(session);
        Ok(match step {
            SessionSignal::Interrupt => match site.tell(SupervisorSignal::Interrupt) {
                Ok(()) => EffectOutcome::Done,
                Err(error) => failed(StageFailure::Wedged, &format!("cannot reach the supervisor: {error}")),
            },
            SessionSignal::Kill { .. } => {
                if site.probe()? == SessionProbe::Running {
                    site.tell(SupervisorSignal::Stop)
                        .discard("a supervisor that ended meanwhile needs no signal");
                }
                EffectOutcome::Done
            }
        })
    }

    fn remove_worktree(&self, stage: &StageId, disk: &dyn Disk) -> Result<EffectOutcome, JobError> {
        let root = self.ground.root.as_path();
        worktrees::remove(root, &self.ground.worktree(stage))?;
        if let Some(head) = observe::merged_branch(&self.ground, stage)? {
            refs::drop_reference(root, &format!("refs/heads/{}", stage.branch()), &head)?;
        }
        stage_rules::forget(&self.ground, stage, disk);
        stage_env::leave(&self.ground, stage, disk);
        Ok(EffectOutcome::Done)
    }

    /// Checks that the worktree still belongs to the repository. An agent or a command of the plan could have
    /// changed the git files in it, and git obeys those.
    fn prove(&self, stage: &StageId, step: &StageStep) -> Result<(), GitError> {
        let (root, path) = (self.ground.root.as_path(), self.ground.worktree(stage));
        match step {
            _ if !path.exists() => Ok(()),
            StageStep::Check { .. } | StageStep::Salvage | StageStep::Discard { .. } => {
                worktree_guard::prove(root, &path)
            }
            // These steps only ask git for ignored files and for the place of the records.
            StageStep::Setup | StageStep::WriteBrief { .. } | StageStep::Spawn => {
                worktree_guard::prove_placed(root, &path)
            }
            // A reviewer works in a separate checkout.
            _ => Ok(()),
        }
    }

    /// Removes the worktree and the branch of a stage, after both are saved under a salvage reference.
    fn discard_worktree(&self, stage: &StageId, number: u32) -> Result<EffectOutcome, JobError> {
        let root = self.ground.root.as_path();
        let path = self.ground.worktree(stage);
        let kept = format!("refs/sprag/{}/salvage/{}/reset-{number}", self.ground.plan, stage.as_str());
        let branch = format!("refs/heads/{}", stage.branch());
        if path.exists() {
            let why = format!("Salvage of stage `{}` before its reset", stage.as_str());
            worktrees::salvage(&path, &kept, &why, env::now())?;
        }
        let head = refs::resolve(root, &branch)?;
        if let Some(head) = &head
            && refs::resolve(root, &kept)?.is_none()
        {
            refs::swap(root, &kept, head, None)?;
        }
        worktrees::remove(root, &path)?;
        if let Some(head) = head
            && refs::contains(root, &head, &kept)?
        {
            refs::drop_reference(root, &branch, &head)?;
        }
        Ok(EffectOutcome::Done)
    }

    fn add_worktree(
        &self,
        stage: &StageId,
        base: &CommitId,
        disk: &dyn Disk,
    ) -> Result<EffectOutcome, JobError> {
        let root = self.ground.root.as_path();
        let path = self.ground.worktree(stage);
        match observe::worktree(&self.ground, stage, base)? {
            // An earlier daemon finished this step.
            EffectTrace::Worktree { base } => return Ok(EffectOutcome::Worktree { base }),
            EffectTrace::HalfMade => worktrees::set_aside(root, &path)?,
            _ => {}
        }
        let branch = stage.branch();
        worktrees::keep_out_of_sight(root, disk)?;
        worktrees::make_room(root, &path)?;
        let why = format!("stage `{}`", stage.as_str());
        let base = match worktrees::add(root, &path, &branch, base.0.as_str(), &why)? {
            Branch::New => base.clone(),
            Branch::Old => {
                let branch = format!("refs/heads/{branch}");
                CommitId(Text::new(refs::common(root, base.0.as_str(), &branch)?))
            }
        };
        Ok(EffectOutcome::Worktree { base })
    }

    /// Starts the agent and retries until a supervisor claims the session. A supervisor of an earlier epoch
    /// may hold the lock first and then give up.
    fn spawn_surely(&self, stage: &StageId, disk: &dyn Disk) -> Result<EffectOutcome, JobError> {
        let site = self.ground.site(&self.key);
        for _ in 0..SPAWNS {
            let outcome = self.spawn(stage, disk)?;
            if outcome != EffectOutcome::Spawned
                || self.ground.queue(disk).probe(&site.id())? != SessionProbe::Nothing
            {
                return Ok(outcome);
            }
            site.wait()?;
        }
        Ok(failed(StageFailure::Setup, "no supervisor claimed the session"))
    }

    fn set_up(&self, stage: &StageId, disk: &dyn Disk) -> Result<EffectOutcome, JobError> {
        let Some(spec) = &self.spec else {
            return Ok(failed(StageFailure::Setup, "the plan has no such stage"));
        };
        if let Err(why) = stage_env::furnish(&self.ground, spec, disk) {
            return Ok(failed(StageFailure::Setup, &why));
        }
        let worktree = self.ground.worktree(stage);
        let dir = worktree.join(spec.working_dir.as_str());
        let of =
            CommandOwner { worktree: &worktree, dir: &dir, sandbox: &spec.sandbox, caches: &spec.caches };
        let behind = SandboxedRunner::new(&self.ground, &self.key, of, disk);
        for command in &spec.setup {
            let command = command.as_str();
            let argv = ["sh", "-c", command].map(OsStr::new);
            let order = SandboxedCommand {
                argv: &argv,
                walls: CheckSandbox::Up,
                env: &[],
                deadline: SETUP,
                cap: 64 * 1024,
            };
            let ran = match behind.run(&order) {
                Ok(ran) => ran,
                Err(why) => return Ok(failed(StageFailure::Sandbox, &format!("setup `{command}`: {why}"))),
            };
            if !ran.succeeded() {
                let said = String::from_utf8_lossy(&ran.stderr);
                let last = said.trim_end().lines().last().unwrap_or_default();
                return Ok(failed(StageFailure::Setup, &format!("setup `{command}` failed: {last}")));
            }
        }
        Ok(EffectOutcome::Done)
    }
}

/// Returns the stages of a candidate and of the candidates below it.
fn chain(run: &Run, effect: &Effect) -> Vec<StageSpec> {
    let Effect::Queue { number, step: QueueStep::Test { .. } } = effect else { return Vec::new() };
    let stages = run.queue().chain(*number).filter_map(|entry| entry.whose.stage());
    stages.filter_map(|stage| run.plan().find(stage.as_str())).cloned().collect()
}

fn failed(failure: StageFailure, why: &str) -> EffectOutcome {
    EffectOutcome::Failed { failure, why: Text::new(why) }
}

enum JobError {
    Git(GitError),
    Disk(io::Error),
}

impl From<GitError> for JobError {
    fn from(refused: GitError) -> JobError {
        JobError::Git(refused)
    }
}

impl From<io::Error> for JobError {
    fn from(error: io::Error) -> JobError {
        JobError::Disk(error)
    }
}
