//! Codex. It prints a stream, but context usage and failure reasons are only in its transcript file. Codex
//! runs Sprag's hooks once a person has trusted them; Sprag never bypasses that.

use std::path::PathBuf;

use sprag_host::sys::env::Env;
use sprag_host::sys::locations;
use sprag_plan::spec::client::{ClientName, StreamFormat};
use sprag_plan::spec::{AgentMode, Effort};

use super::{HookSupport, LaunchOrder, Launcher, LauncherSandbox, Prompt, words};

pub(crate) const LAUNCHER: Launcher = Launcher {
    known: ClientName::Codex,
    program: "codex",
    env: &["OPENAI_*", "CODEX_HOME", "CODEX_API_KEY", "AZURE_OPENAI_API_KEY"],
    arguments,
    prompt: Prompt::Stdin,
    stream: Some(StreamFormat::Codex),
    talks: Some(talks),
    governed: HookSupport::Trusted,
    modes: &[AgentMode::Headless, AgentMode::Tmux],
};

fn arguments(order: &LaunchOrder<'_>) -> Vec<String> {
    let mut arguments = match order.mode {
        AgentMode::Headless => words(&["exec", "--json"]),
        AgentMode::Tmux => Vec::new(),
    };
    match order.walls {
        // Within Sprag's sandbox Codex cannot set up its own and would run no command.
        LauncherSandbox::Ours => arguments.extend(words(&["--sandbox", "danger-full-access"])),
        LauncherSandbox::Its => {
            // A commit in a worktree writes to the repository's shared folder.
            arguments.extend(words(&["--sandbox", "workspace-write", "--add-dir"]));
            arguments.push(order.git.display().to_string());
        }
    }
    if let Some(model) = order.model {
        arguments.extend(words(&["--model", model]));
    }
    if let Some(effort) = order.effort {
        arguments.extend(["--config".to_owned(), format!("model_reasoning_effort=\"{}\"", level(effort))]);
    }
    arguments.push(match order.mode {
        AgentMode::Headless => "-".to_owned(),
        AgentMode::Tmux => order.prompt.to_owned(),
    });
    arguments
}

/// Returns the effort level for Codex, whose highest level is `xhigh`.
fn level(effort: Effort) -> &'static str {
    match effort {
        Effort::Low | Effort::Medium | Effort::High | Effort::XHigh => effort.name(),
        Effort::Max => Effort::XHigh.name(),
    }
}

fn talks(env: &Env) -> Option<PathBuf> {
    let home = env.get("CODEX_HOME").map(PathBuf::from);
    Some(home.or_else(|| Some(locations::home(env)?.join(".codex")))?.join("sessions"))
}
