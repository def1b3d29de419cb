//! Gemini CLI. It asks a question headless by hanging, so it is told to ask none; what it does is seen by nobody but the
//! sandbox it has to be in, and by the checks of its stage.

use sprag_plan::spec::Mode;
use sprag_plan::spec::client::Known;

use super::{Governed, Launcher, Order, Prompt, words};

pub const LAUNCHER: Launcher = Launcher {
    known: Known::Gemini,
    program: "gemini",
    env: &["GEMINI_*", "GOOGLE_*"],
    arguments,
    prompt: Prompt::Argument,
    stream: None,
    talks: None,
    governed: Governed::Nobody,
    modes: &[Mode::Headless, Mode::Tmux],
};

fn arguments(order: &Order<'_>) -> Vec<String> {
    let mut arguments = Vec::new();
    if let Some(model) = order.model {
        arguments.extend(words(&["--model", model]));
    }
    arguments.extend(match order.mode {
        Mode::Headless => words(&["--yolo", "-p", order.prompt]),
        Mode::Tmux => words(&["--prompt-interactive", order.prompt]),
    });
    arguments
}
