//! Copilot CLI. A worktree is a folder it has never seen, and the user's trust in the plan covers it.

use sprag_plan::spec::Mode;
use sprag_plan::spec::client::Known;

use super::{Governed, Launcher, Order, Prompt, words};

pub const LAUNCHER: Launcher = Launcher {
    known: Known::Copilot,
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
    governed: Governed::Nobody,
    modes: &[Mode::Headless],
};

fn arguments(order: &Order<'_>) -> Vec<String> {
    let mut arguments = words(&["--trust-folder", "--allow-all-tools"]);
    if let Some(model) = order.model {
        arguments.extend(words(&["--model", model]));
    }
    arguments.extend(words(&["-p", order.prompt]));
    arguments
}
