//! Cursor's agent. It runs only in a terminal, where a person answers its prompts.

use sprag_plan::spec::AgentMode;
use sprag_plan::spec::client::ClientName;

use super::{HookSupport, LaunchOrder, Launcher, Prompt, words};

pub(super) const LAUNCHER: Launcher = Launcher {
    known: ClientName::Cursor,
    program: "cursor-agent",
    env: &["CURSOR_*"],
    arguments,
    prompt: Prompt::Argument,
    stream: None,
    talks: None,
    governed: HookSupport::Nobody,
    modes: &[AgentMode::Tmux],
};

fn arguments(order: &LaunchOrder<'_>) -> Vec<String> {
    let mut arguments = Vec::new();
    if let Some(model) = order.model {
        arguments.extend(words(&["--model", model]));
    }
    arguments.push(order.prompt.to_owned());
    arguments
}
