//! Clients that a stage can use: how to start each, which environment it needs and what it reports. Each
//! client has one file and one line in the list. Sprag starts clients without a shell.

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
    /// The name of the executable.
    pub program: &'static str,
    /// Variables that this client gets besides the common ones: login and endpoints. A `*` at the end matches
    /// any rest.
    pub env: &'static [&'static str],
    /// Builds the arguments without the program name.
    pub arguments: fn(&LaunchOrder<'_>) -> Vec<String>,
    pub prompt: Prompt,
    /// The format of the printed output, if known.
    pub stream: Option<StreamFormat>,
    /// The folder of its transcripts, if those have more than the output.
    pub talks: Option<fn(&Env) -> Option<PathBuf>>,
    pub governed: HookSupport,
    pub modes: &'static [AgentMode],
}

/// How a headless client gets its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// The whole brief.
    Stdin,
    /// A sentence that names the brief file.
    Argument,
}

/// How Sprag's hooks reach the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookSupport {
    /// Passed as an argument.
    Arguments,
    /// Installed and trusted by a person in the client.
    Trusted,
    /// No hooks: the client must allow everything, or ask a person.
    Nobody,
}

/// One start of a client.
pub struct LaunchOrder<'a> {
    pub mode: AgentMode,
    pub model: Option<&'a str>,
    pub effort: Option<Effort>,
    /// For clients that take the prompt as an argument.
    pub prompt: &'a str,
    /// A settings file with Sprag's hooks, if the client needs it.
    pub settings: Option<&'a Path>,
    /// The session id, for clients that accept one.
    pub session: &'a str,
    /// The maximum cost in millionths of a dollar.
    pub micros: Option<u64>,
    /// The repository folder that all its worktrees share.
    pub git: &'a Path,
    pub walls: LauncherSandbox,
}

/// The sandbox around the client's commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LauncherSandbox {
    Ours,
    /// The client's own sandbox, if it has one.
    Its,
}

/// The reason why a stage cannot run here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfitStage {
    pub stage: String,
    pub why: String,
    /// A command that fixes it, if there is one.
    pub next: Option<String>,
}

pub fn find(known: ClientName) -> &'static Launcher {
    LAUNCHERS
        .iter()
        .find(|launcher| launcher.known == known)
        .expect("a test checks that every client is registered")
}

/// Checks that every stage can start. Runs before the plan begins, because a stage that cannot start would
/// block all that depend on it.
pub fn preflight(plan: &Plan, env: &Env, dir: &Path) -> Result<(), UnfitStage> {
    let mut asked = Vec::new();
    // A knowledge stage needs no agent.
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
        return Err(format!("`{}` does not support mode `{}`", known.name(), mode.name()));
    }
    if !is_on_path(launcher.program, env) {
        return Err(format!("`{}` is not on PATH", launcher.program));
    }
    // No hook would watch it, and no person could answer it.
    let is_alone = launcher.governed == HookSupport::Nobody && *mode == AgentMode::Headless;
    if is_alone && stage.sandbox.confine != SandboxLevel::Required {
        Err(format!("`{}` does not run Sprag's hooks; headless it needs `sandbox: required`", known.name()))
    } else {
        Ok(())
    }
}

fn is_on_path(program: &str, env: &Env) -> bool {
    env.get("PATH").is_some_and(|path| exec::on_path(program, &path).is_some())
}

/// Converts words to arguments.
fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Declares the modules of all clients and the list of launchers.
macro_rules! launchers {
    ($($name:ident),+ $(,)?) => {
        $(mod $name;)+

        pub const LAUNCHERS: &[&Launcher] = &[$(&$name::LAUNCHER),+];
    };
}
use launchers;

#[cfg(test)]
mod tests;
