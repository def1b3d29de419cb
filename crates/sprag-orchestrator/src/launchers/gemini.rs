//! Gemini CLI. A prompt would hang a headless session, so it gets `--yolo`. Sprag's hooks do not run in it;
//! only the sandbox and the checks of the stage limit it.

use sprag_plan::spec::AgentMode;
use sprag_plan::spec::client::ClientName;

use super::{HookSupport, LaunchOrder, Launcher, Prompt, words};

pub(super) const LAUNCHER: Launcher = Launcher {
    known: ClientName::Gemini,
    program: "gemini",
    env: &["GEMINI_*", "GOOGLE_*"],
    arguments,
    prompt: Prompt::Argument,
    stream: None,
    talks: None,
    governed: HookSupport::Nobody,
    modes: &[AgentMode::Headless, AgentMode::Tmux],
};

fn arguments(order: &LaunchOrder<'_>) -> Vec<String> {
    let mut arguments = Vec::new();
    if let Some(model) = order.model {
        arguments.extend(words(&["--model", model]));
    }
    arguments.extend(match order.mode {
        AgentMode::Headless => words(&["--yolo", "-p", order.prompt]),
        AgentMode::Tmux => words(&["--prompt-interactive", order.prompt]),
    });
    arguments
}
