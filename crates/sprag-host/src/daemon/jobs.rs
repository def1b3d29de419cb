//! Effects as jobs: everything that one needs, taken from the run when it is begun, so that it can be done away from
//! the loop. A job decides nothing; what came of it is for the core to judge.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sprag_core::plan::record::{Checking, Effect, Outcome};
use sprag_core::plan::run::Run;
use sprag_core::plan::spec::{Client, Empty, StageSpec};
use sprag_core::plan::stage::{Commit, Failure, Key, Stage, StageId};
use sprag_core::plan::verify::{self, What};
use sprag_core::plan::why::stage_of;
use sprag_core::text::Text;

use super::look;
use super::verification::{self, Place};
use crate::disk::{self, Disk};
use crate::exec::{self, Run as Program};
use crate::git::landing::{self, Merged, Recipe, Refused, Swapped};
use crate::git::worktrees;
use crate::supervise::site::{Probe, Site, Spawn, Word};
use crate::{checks, env};

/// How long all that a stage sets up may take.
const SETUP: Duration = Duration::from_secs(900);
/// How long an agent may take where nothing is said.
const DAY: u64 = 86_400;
/// How long one that is told to end may take.
const GRACE: u64 = 10;
/// What an agent gets of the environment.
const PASSED_ON: [&str; 8] = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "SHELL", "TERM", "TMPDIR"];

/// Where a plan is run.
#[derive(Clone, Debug)]
pub struct Ground {
    /// The user's checkout.
    pub root: PathBuf,
    /// Our own files about runs.
    pub run: PathBuf,
    pub plan: String,
    /// Where merged work goes, as the whole name of a reference.
    pub target: String,
    pub epoch: u64,
}

impl Ground {
    pub fn trunk(&self) -> String {
        format!("refs/sprag/{}/trunk", self.plan)
    }

    pub fn worktree(&self, stage: &StageId) -> PathBuf {
        self.root.join(".worktrees").join(stage.as_str())
    }

    pub fn branch(stage: &StageId) -> String {
        format!("sprag/{}", stage.as_str())
    }

    pub fn site(&self, session: &Key) -> Site {
        Site::at(&self.run.join("s").join(session.0.as_str().replace('/', ".")))
    }

    fn brief(&self, stage: &StageId) -> PathBuf {
        self.run.join("briefs").join(&self.plan).join(format!("{}.md", stage.as_str()))
    }

    pub fn salvage(&self, stage: &StageId, attempt: u32) -> String {
        format!("refs/sprag/{}/salvage/{}/{attempt}", self.plan, stage.as_str())
    }
}

/// Something to be done, with all it takes.
pub struct Job {
    pub key: Key,
    pub effect: Effect,
    pub ground: Ground,
    /// Of the stage it is about.
    spec: Option<StageSpec>,
    stage: Option<Stage>,
    base: Option<Commit>,
    gates: Vec<sprag_core::plan::checks::Check>,
    overview: String,
}

impl Job {
    pub fn new(run: &Run, ground: &Ground, key: Key, effect: Effect) -> Job {
        let id = stage_of(run, &effect).cloned();
        let standing = id.as_ref().and_then(|id| run.standing(id));
        Job {
            key,
            effect,
            ground: ground.clone(),
            spec: id.as_ref().and_then(|id| run.plan().find(id.as_str())).cloned(),
            stage: standing.map(|standing| standing.stage.clone()),
            base: standing.and_then(|standing| standing.worktree.clone()),
            gates: run.plan().head.gates.clone(),
            overview: run.plan().head.overview.to_string(),
        }
    }

    /// Does it. What goes wrong is an outcome like any other.
    pub fn run(&self, disk: &dyn Disk) -> Outcome {
        self.attempt(disk).unwrap_or_else(|wrong| match wrong {
            Wrong::Git(Refused(why)) => failed(Failure::Setup, &why),
            Wrong::Disk(error) => failed(Failure::Setup, &error.to_string()),
        })
    }

    fn attempt(&self, disk: &dyn Disk) -> Result<Outcome, Wrong> {
        let root = self.ground.root.as_path();
        Ok(match &self.effect {
            Effect::AddWorktree { stage, base } => {
                let path = self.ground.worktree(stage);
                let branch = Ground::branch(stage);
                worktrees::keep_out_of_sight(root, disk)?;
                worktrees::add(
                    root,
                    &path,
                    &branch,
                    base.0.as_str(),
                    &format!("stage `{}`", stage.as_str()),
                )?;
                Outcome::Worktree { base: base.clone() }
            }
            Effect::Setup { stage } => self.set_up(stage)?,
            Effect::Check { stage, of } => self.check(stage, *of, disk)?,
            Effect::WriteBrief { stage, .. } => {
                let path = self.ground.brief(stage);
                disk::make_parent(disk, &path)?;
                disk::replace(disk, &path, self.brief(stage).as_bytes())?;
                Outcome::Done
            }
            Effect::Spawn { stage } => self.spawn(stage, disk)?,
            // An agent that runs a command and nothing else hears nobody: it is told by its next brief.
            Effect::Nudge { .. } | Effect::Notify { .. } => Outcome::Done,
            Effect::Interrupt { session } => {
                self.ground.site(session).tell(Word::Interrupt).unwrap_or_default();
                Outcome::Done
            }
            Effect::Kill { session, .. } => {
                let site = self.ground.site(session);
                if site.probe()? == Probe::Running {
                    // One that is gone by now needs no word.
                    site.tell(Word::Stop).unwrap_or_default();
                }
                Outcome::Done
            }
            Effect::Salvage { stage } => {
                let attempt = self.stage.as_ref().map_or(0, Stage::attempt);
                let reference = self.ground.salvage(stage, attempt);
                let why = format!("What stage `{}` left behind", stage.as_str());
                let kept = worktrees::salvage(&self.ground.worktree(stage), &reference, &why, env::now())?;
                Outcome::Salvaged { carry: Text::new(kept.map_or("nothing".to_owned(), |_| reference)) }
            }
            Effect::Candidate { number, on, head } => self.candidate(*number, on, head)?,
            Effect::Gate { number, commit, tree } => self.gate(*number, commit, tree, disk)?,
            Effect::Land { from, to, .. } => {
                let from = from.0.as_str();
                match landing::swap(root, &self.ground.trunk(), to.0.as_str(), Some(from))? {
                    Swapped::Done => Outcome::Done,
                    Swapped::Moved { now } => elsewhere(now),
                }
            }
            Effect::Promote { to } => match promote(&self.ground, to)? {
                Swapped::Done => Outcome::Done,
                Swapped::Moved { now } => elsewhere(now),
            },
            Effect::RemoveWorktree { stage } => {
                worktrees::remove(root, &self.ground.worktree(stage))?;
                let branch = format!("refs/heads/{}", Ground::branch(stage));
                if let Some(head) = landing::resolve(root, &branch)?
                    && landing::contains(root, &head, &self.ground.trunk())?
                {
                    landing::drop_reference(root, &branch, &head)?;
                }
                Outcome::Done
            }
        })
    }

    fn set_up(&self, stage: &StageId) -> Result<Outcome, Wrong> {
        let Some(spec) = &self.spec else { return Ok(failed(Failure::Setup, "the plan has no such stage")) };
        let dir = self.ground.worktree(stage).join(spec.working_dir.as_str());
        for command in &spec.setup {
            let unset = checks::unset();
            let ran = exec::run_for_end(&Program {
                program: "sh".as_ref(),
                args: &["-c".as_ref(), command.as_str().as_ref()],
                dir: &dir,
                env: &[],
                unset: &unset,
                stdin: b"",
                deadline: SETUP,
                cap: 64 * 1024,
            })?;
            if !ran.succeeded() {
                let said = String::from_utf8_lossy(&ran.stderr);
                let last = said.trim_end().lines().last().unwrap_or_default();
                return Ok(failed(Failure::Setup, &format!("setup `{command}` failed: {last}")));
            }
        }
        Ok(Outcome::Done)
    }

    fn check(&self, stage: &StageId, of: Checking, disk: &dyn Disk) -> Result<Outcome, Wrong> {
        let Some(spec) = &self.spec else { return Ok(failed(Failure::Setup, "the plan has no such stage")) };
        let worktree = self.ground.worktree(stage);
        let head = landing::resolve(&worktree, "HEAD")?.unwrap_or_default();
        let tree = landing::tree_of(&worktree, "HEAD")?.unwrap_or_default();
        if of == Checking::Before {
            let red = self.looking(&worktree, spec, &tree, disk, |place| {
                verification::commands(place, What::AfterStage, &spec.before_stage)
            });
            return Ok(match red.first() {
                None => Outcome::Done,
                Some(first) => {
                    failed(Failure::Setup, &format!("before the stage, `{}`: {}", first.of, first.why))
                }
            });
        }
        let base = self.base.as_ref().map(|base| base.0.to_string()).unwrap_or_default();
        if !worktrees::is_clean(&worktree)? || (head == base && spec.empty == Empty::Refused) {
            return Ok(Outcome::Unchanged);
        }
        if let Some(report) = self.out_of_bounds(&worktree, spec, &base, &head)? {
            return Ok(Outcome::Red { report: Text::new(report) });
        }
        let red =
            self.looking(&worktree, spec, &tree, disk, |place| verification::verify(place, &spec.checks));
        Ok(match red.is_empty() {
            true => Outcome::Green { head: Commit(Text::new(head)), tree: Commit(Text::new(tree)) },
            false => Outcome::Red { report: verify::report(&red) },
        })
    }

    /// What no check of the plan asks for, and every stage owes.
    fn out_of_bounds(
        &self,
        worktree: &Path,
        spec: &StageSpec,
        base: &str,
        head: &str,
    ) -> Result<Option<String>, Wrong> {
        if !base.is_empty() && !landing::contains(worktree, base, head)? {
            return Ok(Some(format!("the branch does not descend from `{base}` any more")));
        }
        if let Some(Stage::Conflicted { against, .. }) = &self.stage
            && !landing::contains(worktree, against.0.as_str(), head)?
        {
            return Ok(Some(format!("`{}` is not merged into the branch", against.0)));
        }
        // What came in with a merge of the trunk is not the stage's.
        let paths = landing::changed(worktree, &self.ground.trunk(), head)?;
        let outside: Vec<&String> = paths.iter().filter(|path| !spec.scope.holds(path)).collect();
        let Some(first) = outside.first() else { return Ok(None) };
        Ok(Some(format!("{} files outside of the scope were changed, the first is `{first}`", outside.len())))
    }

    fn looking<T>(
        &self,
        worktree: &Path,
        spec: &StageSpec,
        tree: &str,
        disk: &dyn Disk,
        look: impl FnOnce(&Place<'_>) -> T,
    ) -> T {
        let path = env::Env::Real.get("PATH").unwrap_or_default();
        look(&Place {
            worktree,
            working_dir: &spec.working_dir,
            root: &self.ground.root,
            stage: &spec.id,
            tree,
            passes: &self.ground.run.join("passes"),
            path: &path,
            disk,
        })
    }

    fn spawn(&self, stage: &StageId, disk: &dyn Disk) -> Result<Outcome, Wrong> {
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
        };
        site.ask(disk, &spawn)?;
        exec::detach(&std::env::current_exe()?, &["supervise".as_ref(), site.dir().as_os_str()])?;
        Ok(Outcome::Spawned)
    }

    fn candidate(&self, number: u64, on: &Commit, head: &Commit) -> Result<Outcome, Wrong> {
        let root = self.ground.root.as_path();
        let (on, head) = (on.0.as_str(), head.0.as_str());
        let name = self.spec.as_ref().map_or("", |spec| spec.id.as_str());
        let made = if landing::contains(root, head, on)? {
            let tree = landing::tree_of(root, on)?.unwrap_or_default();
            Merged::Clean { commit: on.to_owned(), tree }
        } else {
            let message = format!("Merge stage `{name}`");
            let at = landing::date(root, head)?;
            let recipe =
                Recipe { onto: on, head, message: &message, name: "Sprag", mail: "sprag@localhost", at };
            landing::merge(root, &recipe)?
        };
        Ok(match made {
            Merged::Clean { commit, tree } => {
                // Nobody clears away what has a name.
                let pin = format!("refs/sprag/{}/cand/{number}", self.ground.plan);
                let before = landing::resolve(root, &pin)?;
                landing::swap(root, &pin, &commit, before.as_deref())?;
                Outcome::Made { commit: Commit(Text::new(commit)), tree: Commit(Text::new(tree)) }
            }
            Merged::Conflict { paths } => {
                Outcome::Conflicted { paths: paths.into_iter().take(100).map(Text::new).collect() }
            }
        })
    }

    /// Looks at exactly the commit that would land, in a worktree of its own.
    fn gate(&self, number: u64, commit: &Commit, tree: &Commit, disk: &dyn Disk) -> Result<Outcome, Wrong> {
        let Some(spec) = &self.spec else { return Ok(failed(Failure::Setup, "the plan has no such stage")) };
        let root = self.ground.root.as_path();
        let path = self.ground.run.join("gates").join(format!("{}-{number}", self.ground.plan));
        worktrees::remove(root, &path)?;
        worktrees::add_at(root, &path, commit.0.as_str())?;
        let red = self.looking(&path, spec, tree.0.as_str(), disk, |place| {
            let mut red = verification::commands(place, What::Gate, &self.gates);
            red.extend(verification::verify(place, &spec.checks));
            red
        });
        worktrees::remove(root, &path)?;
        Ok(if red.is_empty() { Outcome::Done } else { Outcome::Red { report: verify::report(&red) } })
    }

    fn brief(&self, stage: &StageId) -> String {
        let mut text = format!("# Stage `{}`\n\n", stage.as_str());
        if let Some(spec) = &self.spec {
            text.push_str(&format!("{}\n\n{}\n", spec.name, spec.description));
            for check in spec.checks.commands() {
                text.push_str(&format!("- has to end well: `{check}`\n"));
            }
        }
        if let Some(Stage::Failing { report, .. }) = &self.stage {
            text.push_str(&format!("\n## What is to be mended\n\n{report}\n"));
        }
        if let Some(Stage::Conflicted { against, paths, .. }) = &self.stage {
            text.push_str(&format!(
                "\n## Conflict\n\nMerge `{}` into this branch. Both changed:\n",
                against.0
            ));
            paths.iter().for_each(|path| text.push_str(&format!("- `{path}`\n")));
        }
        text.push_str(&format!("\n## The plan\n\n{}\n", self.overview));
        text
    }
}

/// Moves the target on to the trunk, where nobody has it checked out and nothing of it is lost by that.
fn promote(ground: &Ground, to: &Commit) -> Result<Swapped, Refused> {
    match look::target(ground)? {
        Some(now) => landing::swap(&ground.root, &ground.target, to.0.as_str(), Some(now.0.as_str())),
        None => Ok(Swapped::Moved { now: landing::resolve(&ground.root, &ground.target)? }),
    }
}

fn elsewhere(now: Option<String>) -> Outcome {
    Outcome::Elsewhere { trunk: Commit(Text::new(now.unwrap_or_default())) }
}

fn failed(failure: Failure, why: &str) -> Outcome {
    Outcome::Failed { failure, why: Text::new(why) }
}

enum Wrong {
    Git(Refused),
    Disk(io::Error),
}

impl From<Refused> for Wrong {
    fn from(refused: Refused) -> Wrong {
        Wrong::Git(refused)
    }
}

impl From<io::Error> for Wrong {
    fn from(error: io::Error) -> Wrong {
        Wrong::Disk(error)
    }
}
