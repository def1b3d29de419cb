//! Cursor's agent: in a terminal only, where a person answers what it asks.

use sprag_plan::spec::Mode;
use sprag_plan::spec::client::Known;

use super::{Governed, Launcher, Order, Prompt, words};

pub const LAUNCHER: Launcher = Launcher {
    known: Known::Cursor,
    program: "cursor-agent",
    env: &["CURSOR_*"],
    arguments,
    prompt: Prompt::Argument,
    stream: None,
    talks: None,
    governed: Governed::Nobody,
    modes: &[Mode::Tmux],
};

fn arguments(order: &Order<'_>) -> Vec<String> {
    let mut arguments = Vec::new();
    if let Some(model) = order.model {
        arguments.extend(words(&["--model", model]));
    }
    arguments.push(order.prompt.to_owned());
    arguments
}
