//! The agent client of a stage.

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;

use crate::spec::values::choices;

choices! {
    /// Whose form it has what a program prints about itself.
    StreamFormat {
        Claude "claude",
        Codex "codex",
    }
    /// Clients that bring an agent along.
    ClientName {
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
pub enum StageClient {
    Known(ClientName),
    /// Any program: it finds its brief by the environment. Its exit code counts, and what it prints where that has
    /// a form we know.
    Command {
        command: Vec<Text<1000>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stream: Option<StreamFormat>,
    },
}

impl StageClient {
    /// For people: a client by its name, a command by the name of its program.
    pub fn word(&self) -> &str {
        match self {
            StageClient::Known(known) => known.name(),
            StageClient::Command { command, .. } => {
                let program = command.first().map(Text::as_str).unwrap_or_default();
                program.rsplit('/').next().unwrap_or(program)
            }
        }
    }
}
