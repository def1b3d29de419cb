//! OpenCode. It has no stop hook, so its work is checked after it ends.

use sprag_plan::spec::AgentMode;
use sprag_plan::spec::client::ClientName;

use super::{HookSupport, LaunchOrder, Launcher, Prompt, words};

pub(super) const LAUNCHER: Launcher = Launcher {
    known: ClientName::OpenCode,
    program: "opencode",
    env: &["OPENCODE_*", "ANTHROPIC_*", "OPENAI_*", "GEMINI_*"],
    arguments,
    prompt: Prompt::Argument,
    stream: None,
    talks: None,
    governed: HookSupport::Nobody,
    modes: &[AgentMode::Headless],
};

fn arguments(order: &LaunchOrder<'_>) -> Vec<String> {
    let mut arguments = words(&["run"]);
    if let Some(model) = order.model {
        arguments.extend(words(&["--model", model]));
    }
    arguments.push(order.prompt.to_owned());
    arguments
}
