//! Starts the agent of a stage: builds its command, environment and limits.

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
use sprag_plan::reconcile::budget::{self, BudgetLeft};
use sprag_plan::run::effect::EffectOutcome;
use sprag_plan::sandbox::SandboxChoice;
use sprag_plan::spec::client::{ClientName, StageClient, StreamFormat};
use sprag_plan::spec::values::Label;
use sprag_plan::spec::{AgentMode, RunBudget, StageKind, StageSpec};
use sprag_plan::stage::StageFailure;

use super::{Job, JobError, failed};
use crate::agent::tmux;
use crate::coordination::{SessionOffer, SessionQueue as _};
use crate::launchers::{self, HookSupport, LaunchOrder, LauncherSandbox, Prompt, environment, hooks, trust};
use crate::sandbox::stage_rules;
use crate::session_dir::limits::{AgentLimits, AgentTerminal, TranscriptDir, UsageAllowance};
use crate::session_dir::{SessionDir, SessionProbe, SpawnRequest};
use crate::stage_env;

/// Time limit for an agent, in seconds.
const DAY: u64 = 86_400;
/// Seconds between the stop signal and the kill.
const GRACE: u64 = 10;

/// The program to start for a stage.
struct AgentProgram {
    argv: Vec<String>,
    env: Vec<(String, String)>,
    stream: Option<StreamFormat>,
    talk: Option<TranscriptDir>,
    /// How the agent gets the brief.
    prompt: Prompt,
}

impl Job {
    pub(super) fn spawn(&self, stage: &StageId, disk: &dyn Disk) -> Result<EffectOutcome, JobError> {
        let Some(spec) = &self.spec else {
            return Ok(failed(StageFailure::Setup, "the plan has no such stage"));
        };
        // A run may have thousands of exit records, so they are read only if a limit needs them.
        let is_unknown = |model: &Label| stream::window(model.as_str()).is_none();
        let is_bounded = spec.budget != RunBudget::UNBOUNDED || self.budget != RunBudget::UNBOUNDED;
        let all = if is_bounded || spec.agent.model.as_ref().is_some_and(is_unknown) {
            self.earlier()
        } else {
            Vec::new()
        };
        let own: Vec<Exit> =
            all.iter().filter(|(of, _)| of == stage.as_str()).map(|(_, exit)| exit.clone()).collect();
        let all: Vec<Exit> = all.into_iter().map(|(_, exit)| exit).collect();
        let Some(left) = budget::remaining(&spec.budget, &own) else {
            return Ok(failed(StageFailure::Budget, "the `budget` of the stage is used up"));
        };
        let Some(of_run) = budget::remaining(&self.budget, &all) else {
            return Ok(failed(StageFailure::Budget, "the `budget` of the plan is used up"));
        };
        let left = left.and(of_run);
        let site = self.ground.site(&self.key);
        disk.make_dirs(site.dir())?;
        // Chosen once: a client may drop its own sandbox only within Sprag's.
        let choice = stage_rules::choice(spec, &self.ground.root);
        let walls = if matches!(choice, SandboxChoice::Within(_)) {
            LauncherSandbox::Ours
        } else {
            LauncherSandbox::Its
        };
        let program = match &spec.agent.client {
            // Distilling notes into knowledge needs no model.
            _ if spec.kind == StageKind::KnowledgeDistill => {
                let us = std::env::current_exe()?.to_string_lossy().into_owned();
                let argv = [us.as_str(), "memory", "distill", "--commit"];
                Ok(AgentProgram {
                    argv: argv.map(str::to_owned).to_vec(),
                    env: environment::passed_on(None, &Env::Real),
                    stream: None,
                    talk: None,
                    prompt: Prompt::Stdin,
                })
            }
            StageClient::Command { command, stream } => Ok(AgentProgram {
                argv: command.iter().map(ToString::to_string).collect(),
                env: environment::passed_on(None, &Env::Real),
                stream: *stream,
                talk: None,
                prompt: Prompt::Stdin,
            }),
            StageClient::Known(known) => self.client(*known, spec, &left, walls, &site, disk)?,
        };
        let program = match program {
            Ok(program) => program,
            Err(why) => return Ok(failed(StageFailure::Setup, &why)),
        };
        let worktree = self.ground.worktree(stage);
        let brief = self.ground.brief(stage);
        let mut env = program.env;
        env.push(("SPRAG_STAGE".to_owned(), stage.as_str().to_owned()));
        env.push(("SPRAG_BRIEF".to_owned(), brief.display().to_string()));
        env.push(("TRACEPARENT".to_owned(), otel::traceparent(&self.key)));
        let screen = match spec.agent.mode {
            AgentMode::Headless => AgentTerminal::Pipes,
            AgentMode::Tmux => AgentTerminal::Terminal,
        };
        let watch = AgentLimits {
            stage: Some(Text::new(stage.as_str())),
            stream: program.stream,
            talk: program.talk,
            allowance: UsageAllowance {
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
        let spawn = SpawnRequest {
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
            SessionOffer::Open => {}
            SessionOffer::Taken => return Ok(EffectOutcome::Spawned),
            SessionOffer::Old => {
                return Ok(failed(StageFailure::Setup, "another daemon has taken over"));
            }
        }
        // No worker waits for sessions on this machine, so a supervisor is started for each.
        let us = std::env::current_exe()?;
        match screen {
            AgentTerminal::Pipes => exec::detach(&us, &["supervise".as_ref(), site.dir().as_os_str()])?,
            AgentTerminal::Terminal => {
                if let Err(why) = tmux::open(&self.ground.run, &site, &us, &spawn.dir, disk)? {
                    return Ok(failed(StageFailure::Setup, &why));
                }
            }
        }
        Ok(EffectOutcome::Spawned)
    }

    /// Builds the command line of a known client with Sprag's hooks. The inner error says why it must not
    /// start.
    fn client(
        &self,
        known: ClientName,
        spec: &StageSpec,
        left: &BudgetLeft,
        walls: LauncherSandbox,
        site: &SessionDir,
        disk: &dyn Disk,
    ) -> Result<Result<AgentProgram, String>, JobError> {
        let env = Env::Real;
        let launcher = launchers::find(known);
        let worktree = self.ground.worktree(&spec.id);
        let mut settings = None;
        match launcher.governed {
            HookSupport::Trusted => {
                if let Err(refused) = trust::check(known, &env, &worktree) {
                    return Ok(Err(refused.why));
                }
            }
            HookSupport::Arguments => {
                let client = clients::find(known.name())
                    .expect("a test checks that each client with hooks is registered");
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
            HookSupport::Nobody => {}
        }
        let session = new_record::new_id(env::now());
        let prompt = format!("Read the file {} and do what it says.", self.ground.brief(&spec.id).display());
        let order = LaunchOrder {
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
        // The printed output has everything, if the client prints.
        let is_mute = spec.agent.mode == AgentMode::Tmux || known == ClientName::Codex;
        let dir = launcher.talks.filter(|_| is_mute).and_then(|talks| talks(&env));
        let session = (known == ClientName::Claude).then_some(session);
        Ok(Ok(AgentProgram {
            argv,
            env: environment::passed_on(Some(launcher), &env),
            stream: launcher.stream,
            talk: dir.map(|dir| TranscriptDir { dir, session }),
            prompt: launcher.prompt,
        }))
    }

    /// Returns the exits of this run's sessions with their stages, oldest first.
    fn earlier(&self) -> Vec<(String, Exit)> {
        let run = self.key.0.as_str().split('/').next().unwrap_or_default();
        let folders = fs::read_dir(self.ground.run.join("s")).into_iter().flatten().flatten();
        let mut exits: Vec<(String, Exit)> = folders
            .filter_map(|folder| {
                let name = folder.file_name().to_string_lossy().into_owned();
                let stage = name.strip_prefix(run)?.strip_prefix('.')?.split('.').next()?.to_owned();
                match SessionDir::at(&folder.path()).probe() {
                    Ok(SessionProbe::Ended(exit)) => Some((stage, exit)),
                    Ok(SessionProbe::Nothing | SessionProbe::Running | SessionProbe::Died) | Err(_) => None,
                }
            })
            .collect();
        exits.sort_by_key(|(_, exit)| exit.at);
        exits
    }
}

/// Returns the context window of the stage's model, as a client reported it in an earlier session.
fn window(exits: &[Exit], spec: &StageSpec) -> Option<u64> {
    let model = spec.agent.model.as_ref()?;
    let seen = exits.iter().rev().filter_map(|exit| exit.seen.as_ref());
    let mut of_model =
        seen.filter(|seen| seen.model.as_ref().is_some_and(|name| name.as_str() == model.as_str()));
    of_model.find_map(|seen| seen.context).map(|context| context.window)
}
