//! OpenCode. It has no stop hook, so that its work is judged after it has ended.

use sprag_plan::spec::Mode;
use sprag_plan::spec::client::Known;

use super::{Governed, Launcher, Order, Prompt, words};

pub const LAUNCHER: Launcher = Launcher {
    known: Known::OpenCode,
    program: "opencode",
    env: &["OPENCODE_*", "ANTHROPIC_*", "OPENAI_*", "GEMINI_*"],
    arguments,
    prompt: Prompt::Argument,
    stream: None,
    talks: None,
    governed: Governed::Nobody,
    modes: &[Mode::Headless],
};

fn arguments(order: &Order<'_>) -> Vec<String> {
    let mut arguments = words(&["run"]);
    if let Some(model) = order.model {
        arguments.extend(words(&["--model", model]));
    }
    arguments.push(order.prompt.to_owned());
    arguments
}
