//! Starting the agent of a stage: what is run, with which environment, under whose eyes.

use std::fs;

use sprag_base::text::Text;
use sprag_host::clients;
use sprag_host::store::new_record;
use sprag_host::sys::disk::{self, Disk};
use sprag_host::sys::env::{self, Env};
use sprag_host::sys::{exec, locations};
use sprag_plan::agent::exit::Exit;
use sprag_plan::agent::stream;
use sprag_plan::ids::StageId;
use sprag_plan::otel;
use sprag_plan::reconcile::budget::{self, Left};
use sprag_plan::run::record::Outcome;
use sprag_plan::sandbox::Choice;
use sprag_plan::spec::client::{Client, Known, Stream};
use sprag_plan::spec::values::Label;
use sprag_plan::spec::{Budget, Kind, Mode, StageSpec};
use sprag_plan::stage::Failure;

use super::{Job, Wrong, failed};
use crate::agent::tmux;
use crate::coordination::{Offered, Queue as _};
use crate::launchers::{self, Governed, Order, Prompt, Walls, environment, hooks, trust};
use crate::sandbox::stage_rules;
use crate::session_dir::limits::{Allowance, Screen, Talk, Watch};
use crate::session_dir::{Probe, Site, Spawn};
use crate::stage_env;

/// How long an agent may take where nothing is said.
const DAY: u64 = 86_400;
/// How long one that is told to end may take.
const GRACE: u64 = 10;

/// What is started.
struct Program {
    argv: Vec<String>,
    env: Vec<(String, String)>,
    stream: Option<Stream>,
    talk: Option<Talk>,
    /// Whether the brief itself is handed over.
    prompt: Prompt,
}

impl Job {
    pub(super) fn spawn(&self, stage: &StageId, disk: &dyn Disk) -> Result<Outcome, Wrong> {
        let Some(spec) = &self.spec else { return Ok(failed(Failure::Setup, "the plan has no such stage")) };
        // A run may have had thousands of them: they are read where they matter.
        let is_unknown = |model: &Label| stream::window(model.as_str()).is_none();
        let is_bounded = spec.budget != Budget::UNBOUNDED || self.budget != Budget::UNBOUNDED;
        let all = match is_bounded || spec.agent.model.as_ref().is_some_and(is_unknown) {
            true => self.earlier(),
            false => Vec::new(),
        };
        let own: Vec<Exit> =
            all.iter().filter(|(of, _)| of == stage.as_str()).map(|(_, exit)| exit.clone()).collect();
        let all: Vec<Exit> = all.into_iter().map(|(_, exit)| exit).collect();
        let Some(left) = budget::left(&spec.budget, &own) else {
            return Ok(failed(Failure::Budget, "the `budget` of the stage is used up"));
        };
        let Some(of_run) = budget::left(&self.budget, &all) else {
            return Ok(failed(Failure::Budget, "the `budget` of the plan is used up"));
        };
        let left = left.and(of_run);
        let site = self.ground.site(&self.key);
        disk.make_dirs(site.dir())?;
        // Looked at once: what a client does without its own walls must not be done without ours.
        let choice = stage_rules::choice(spec, &self.ground.root);
        let walls = if matches!(choice, Choice::Within(_)) { Walls::Ours } else { Walls::Its };
        let program = match &spec.agent.client {
            // No model is needed to make knowledge of what was noted.
            _ if spec.kind == Kind::KnowledgeDistill => {
                let us = std::env::current_exe()?.to_string_lossy().into_owned();
                let argv = [us.as_str(), "learnings", "distill", "--commit"];
                Ok(Program {
                    argv: argv.map(str::to_owned).to_vec(),
                    env: environment::passed_on(None, &Env::Real),
                    stream: None,
                    talk: None,
                    prompt: Prompt::Stdin,
                })
            }
            Client::Command { command, stream } => Ok(Program {
                argv: command.iter().map(ToString::to_string).collect(),
                env: environment::passed_on(None, &Env::Real),
                stream: *stream,
                talk: None,
                prompt: Prompt::Stdin,
            }),
            Client::Known(known) => self.client(*known, spec, &left, walls, &site, disk)?,
        };
        let program = match program {
            Ok(program) => program,
            Err(why) => return Ok(failed(Failure::Setup, &why)),
        };
        let worktree = self.ground.worktree(stage);
        let brief = self.ground.brief(stage);
        let mut env = program.env;
        env.push(("SPRAG_STAGE".to_owned(), stage.as_str().to_owned()));
        env.push(("SPRAG_BRIEF".to_owned(), brief.display().to_string()));
        env.push(("TRACEPARENT".to_owned(), otel::traceparent(&self.key)));
        let screen = match spec.agent.mode {
            Mode::Headless => Screen::Pipes,
            Mode::Tmux => Screen::Terminal,
        };
        let watch = Watch {
            stage: Some(Text::new(stage.as_str())),
            stream: program.stream,
            talk: program.talk,
            allowance: Allowance {
                tokens: left.tokens,
                micros: left.micros,
                seconds: left.seconds,
                context: Some(spec.context_budget),
                nearly_of_stage: budget::until_nearly(&spec.budget, &own),
                nearly_of_run: budget::until_nearly(&self.budget, &all),
            },
            screen,
            window: window(&all, spec),
        };
        let spawn = Spawn {
            v: 1,
            epoch: self.ground.epoch,
            argv: program.argv,
            env,
            dir: worktree.join(spec.working_dir.as_str()),
            worktree,
            branch: stage.branch(),
            seconds: DAY,
            grace: GRACE,
            stdin: (program.prompt == Prompt::Stdin).then_some(brief),
            watch,
            confined: None,
        };
        let spawn = match stage_env::around(&self.ground, spec, &choice, &site, spawn, disk) {
            Ok(spawn) => spawn,
            Err((failure, why)) => return Ok(failed(failure, &why)),
        };
        match self.ground.queue(disk).offer(&site.id(), &spawn)? {
            Offered::Open => {}
            Offered::Taken => return Ok(Outcome::Spawned),
            Offered::Old => return Ok(failed(Failure::Setup, "another daemon runs plans here by now")),
        }
        // Nobody waits for work on this machine: whoever is to take it on is started for it.
        let us = std::env::current_exe()?;
        match screen {
            Screen::Pipes => exec::detach(&us, &["supervise".as_ref(), site.dir().as_os_str()])?,
            Screen::Terminal => {
                if let Err(why) = tmux::open(&self.ground.run, &site, &us, &spawn.dir, disk)? {
                    return Ok(failed(Failure::Setup, &why));
                }
            }
        }
        Ok(Outcome::Spawned)
    }

    /// A client, with our hooks. The inner error says why it must not be started.
    fn client(
        &self,
        known: Known,
        spec: &StageSpec,
        left: &Left,
        walls: Walls,
        site: &Site,
        disk: &dyn Disk,
    ) -> Result<Result<Program, String>, Wrong> {
        let env = Env::Real;
        let launcher = launchers::find(known);
        let worktree = self.ground.worktree(&spec.id);
        let mut settings = None;
        match launcher.governed {
            Governed::Trusted => {
                if let Err(refused) = trust::check(known, &env, &worktree) {
                    return Ok(Err(refused.why));
                }
            }
            Governed::Arguments => {
                let client =
                    clients::find(known.name()).expect("what takes our hooks has a line there, says a test");
                match hooks::settings(client, &env, &worktree) {
                    Err(why) => return Ok(Err(why)),
                    Ok(None) => {}
                    Ok(Some(told)) => {
                        let path = site.dir().join("settings.json");
                        disk::replace(disk, &path, told.to_string().as_bytes())?;
                        settings = Some(path);
                    }
                }
            }
            Governed::Nobody => {}
        }
        let session = new_record::new_id(env::now());
        let prompt = format!("Read the file {} and do what it says.", self.ground.brief(&spec.id).display());
        let order = Order {
            mode: spec.agent.mode,
            model: spec.agent.model.as_ref().map(AsRef::as_ref),
            effort: spec.agent.effort,
            prompt: &prompt,
            settings: settings.as_deref(),
            session: &session,
            micros: left.micros,
            git: &locations::common_dir(&worktree).unwrap_or_else(|| self.ground.root.join(".git")),
            walls,
        };
        let mut argv = vec![launcher.program.to_owned()];
        argv.extend((launcher.arguments)(&order));
        // What it prints says it all, where it prints something.
        let is_mute = spec.agent.mode == Mode::Tmux || known == Known::Codex;
        let dir = launcher.talks.filter(|_| is_mute).and_then(|talks| talks(&env));
        let session = (known == Known::Claude).then_some(session);
        Ok(Ok(Program {
            argv,
            env: environment::passed_on(Some(launcher), &env),
            stream: launcher.stream,
            talk: dir.map(|dir| Talk { dir, session }),
            prompt: launcher.prompt,
        }))
    }

    /// How sessions of this run ended so far, the oldest first, and whose they were.
    fn earlier(&self) -> Vec<(String, Exit)> {
        let run = self.key.0.as_str().split('/').next().unwrap_or_default();
        let folders = fs::read_dir(self.ground.run.join("s")).into_iter().flatten().flatten();
        let mut exits: Vec<(String, Exit)> = folders
            .filter_map(|folder| {
                let name = folder.file_name().to_string_lossy().into_owned();
                let stage = name.strip_prefix(run)?.strip_prefix('.')?.split('.').next()?.to_owned();
                match Site::at(&folder.path()).probe() {
                    Ok(Probe::Ended(exit)) => Some((stage, exit)),
                    Ok(Probe::Nothing | Probe::Running | Probe::Died) | Err(_) => None,
                }
            })
            .collect();
        exits.sort_by_key(|(_, exit)| exit.at);
        exits
    }
}

/// How much fits into the context of a stage's model, as a client has told it when it ended.
fn window(exits: &[Exit], spec: &StageSpec) -> Option<u64> {
    let model = spec.agent.model.as_ref()?;
    let seen = exits.iter().rev().filter_map(|exit| exit.seen.as_ref());
    let mut of_model =
        seen.filter(|seen| seen.model.as_ref().is_some_and(|name| name.as_str() == model.as_str()));
    of_model.find_map(|seen| seen.context).map(|context| context.window)
}
