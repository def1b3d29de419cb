//! The agent client of a stage.

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;

use crate::spec::values::choices;

choices! {
    /// Whose form it has what a program prints about itself.
    Stream {
        Claude "claude",
        Codex "codex",
    }
    /// Clients that bring an agent along.
    Known {
        Claude "claude",
        Codex "codex",
        Gemini "gemini",
        Copilot "copilot",
        OpenCode "opencode",
        Cursor "cursor",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Client {
    Known(Known),
    /// Any program: it finds its brief by the environment. Its exit code counts, and what it prints where that has
    /// a form we know.
    Command {
        command: Vec<Text<1000>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stream: Option<Stream>,
    },
}

impl Client {
    /// For people: a client by its name, a command by the name of its program.
    pub fn word(&self) -> &str {
        match self {
            Client::Known(known) => known.name(),
            Client::Command { command, .. } => {
                let program = command.first().map(Text::as_str).unwrap_or_default();
                program.rsplit('/').next().unwrap_or(program)
            }
        }
    }
}
