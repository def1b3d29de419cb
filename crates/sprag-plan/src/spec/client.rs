//! The agent client of a stage.

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;

use crate::spec::values::choices;

choices! {
    /// Format of the output of a program.
    StreamFormat {
        Claude "claude",
        Codex "codex",
    }
    /// Clients with an agent that Sprag knows.
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
    /// Any program: it finds its brief through the environment. Its exit code counts, and its output if
    /// `stream` names a known format.
    Command {
        command: Vec<Text<1000>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stream: Option<StreamFormat>,
    },
}

impl StageClient {
    /// Returns the name for people: that of the client, or that of the program of a command.
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
