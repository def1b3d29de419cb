//! Copilot CLI. It has never seen the worktree's folder; the user's trust in the plan covers it.

use sprag_plan::spec::AgentMode;
use sprag_plan::spec::client::ClientName;

use super::{HookSupport, LaunchOrder, Launcher, Prompt, words};

pub(super) const LAUNCHER: Launcher = Launcher {
    known: ClientName::Copilot,
    program: "copilot",
    env: &[
        "COPILOT_HOME",
        "COPILOT_MODEL",
        "COPILOT_GITHUB_TOKEN",
        "COPILOT_PROVIDER_*",
        "GH_TOKEN",
        "GITHUB_TOKEN",
    ],
    arguments,
    prompt: Prompt::Argument,
    stream: None,
    talks: None,
    governed: HookSupport::Nobody,
    modes: &[AgentMode::Headless],
};

fn arguments(order: &LaunchOrder<'_>) -> Vec<String> {
    let mut arguments = words(&["--trust-folder", "--allow-all-tools"]);
    if let Some(model) = order.model {
        arguments.extend(words(&["--model", model]));
    }
    arguments.extend(words(&["-p", order.prompt]));
    arguments
}
