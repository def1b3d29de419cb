//! Clients as programs that a stage can be given to: how each is started, what it needs of our environment, and what it
//! tells while it works. One file each and one line in the list; nothing of it ever goes through a shell.

use std::path::{Path, PathBuf};

use sprag_host::sys::env::Env;
use sprag_host::sys::exec;
use sprag_plan::spec::client::{ClientName, StageClient, StreamFormat};
use sprag_plan::spec::{AgentMode, Effort, Plan, SandboxLevel, StageAgent, StageKind, StageSpec};

pub mod environment;
pub mod hooks;
pub mod trust;

launchers! {
    claude,
    codex,
    gemini,
    copilot,
    opencode,
    cursor,
}

pub struct Launcher {
    pub known: ClientName,
    /// The program a user starts.
    pub program: &'static str,
    /// What it may see of our environment besides what everybody may: its login, and whom it talks to. A star at the
    /// end stands for anything.
    pub env: &'static [&'static str],
    /// Without its name.
    pub arguments: fn(&LaunchOrder<'_>) -> Vec<String>,
    pub prompt: Prompt,
    /// The form of what it prints, where there is one.
    pub stream: Option<StreamFormat>,
    /// Where it writes down its talks, if those tell more, or anything at all.
    pub talks: Option<fn(&Env) -> Option<PathBuf>>,
    pub governed: HookSupport,
    pub modes: &'static [AgentMode],
}

/// How a headless one is told what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// The brief itself.
    Stdin,
    /// A sentence that names the brief.
    Argument,
}

/// Who keeps it within bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookSupport {
    /// Our hooks, which it takes with its arguments.
    Arguments,
    /// Our hooks, once a person has trusted them there.
    Trusted,
    /// Nobody: it has to be told to allow everything, or to ask a person.
    Nobody,
}

/// One start of a client.
pub struct LaunchOrder<'a> {
    pub mode: AgentMode,
    pub model: Option<&'a str>,
    pub effort: Option<Effort>,
    /// For a client that takes it as an argument.
    pub prompt: &'a str,
    /// A file with our hooks, if it has to be told of them.
    pub settings: Option<&'a Path>,
    /// What its session is to be called, where that can be chosen.
    pub session: &'a str,
    /// What it may cost at most, in millionths of a dollar.
    pub micros: Option<u64>,
    /// The folder of the repository that all its worktrees share.
    pub git: &'a Path,
    pub walls: LauncherSandbox,
}

/// Who keeps what it runs from the rest of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LauncherSandbox {
    Ours,
    /// It does itself, if anybody.
    Its,
}

/// Why a stage cannot be worked at here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfitStage {
    pub stage: String,
    pub why: String,
    /// Does away with it, where a command can.
    pub next: Option<String>,
}

pub fn find(known: ClientName) -> &'static Launcher {
    LAUNCHERS.iter().find(|launcher| launcher.known == known).expect("every client has a line, says a test")
}

/// Told before anything is begun: a stage that cannot start would block all that builds on it.
pub fn preflight(plan: &Plan, env: &Env, dir: &Path) -> Result<(), UnfitStage> {
    let mut asked = Vec::new();
    // What is noted becomes knowledge without anybody.
    for stage in plan.stages().iter().filter(|stage| stage.kind != StageKind::KnowledgeDistill) {
        let unfit =
            |why: String, next: Option<String>| UnfitStage { stage: stage.id.as_str().to_owned(), why, next };
        fits(stage, env).map_err(|why| unfit(why, None))?;
        if let StageClient::Known(known) = stage.agent.client
            && find(known).governed == HookSupport::Trusted
            && !asked.contains(&known)
        {
            asked.push(known);
            trust::check(known, env, dir).map_err(|refused| unfit(refused.why, Some(refused.next)))?;
        }
    }
    Ok(())
}

fn fits(stage: &StageSpec, env: &Env) -> Result<(), String> {
    let StageAgent { client, mode, .. } = &stage.agent;
    if *mode == AgentMode::Tmux && !is_on_path("tmux", env) {
        return Err("`mode: tmux` needs `tmux`, which is not on PATH".to_owned());
    }
    let StageClient::Known(known) = client else { return Ok(()) };
    let launcher = find(*known);
    if !launcher.modes.contains(mode) {
        return Err(format!("`{}` does not run `{}`", known.name(), mode.name()));
    }
    if !is_on_path(launcher.program, env) {
        return Err(format!("`{}` is not on PATH", launcher.program));
    }
    // Nobody would see what it does, and nobody is there to be asked.
    let is_alone = launcher.governed == HookSupport::Nobody && *mode == AgentMode::Headless;
    if is_alone && stage.sandbox.confine != SandboxLevel::Required {
        Err(format!(
            "`{}` has no hooks of ours, so that it runs headless only with `sandbox: required`",
            known.name()
        ))
    } else {
        Ok(())
    }
}

fn is_on_path(program: &str, env: &Env) -> bool {
    env.get("PATH").is_some_and(|path| exec::on_path(program, &path).is_some())
}

/// Words with spaces in them, as arguments.
fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The one registration of a client that can be started.
macro_rules! launchers {
    ($($name:ident),+ $(,)?) => {
        $(mod $name;)+

        pub const LAUNCHERS: &[&Launcher] = &[$(&$name::LAUNCHER),+];
    };
}
use launchers;

#[cfg(test)]
mod tests;
