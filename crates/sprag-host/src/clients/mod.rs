//! The clients: programs that call our hooks. A client is one file that turns its JSON into an
//! [`Input`] and a verdict into its JSON, and one line in the list below. What a client can do is
//! data here, tagged by how we know it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use sprag_govern::event::{EventKind, Input, Presence};
use sprag_govern::verdict::Verdict;

use crate::clients::payload::HookPayload;
use crate::sys::env::Env;

mod hook_dialect;

clients! {
    claude,
    codex,
}

pub struct Client {
    /// As in `sprag hook NAME`.
    pub name: &'static str,
    pub title: &'static str,
    /// The program a user starts.
    pub program: &'static str,
    /// The version all of this was tested with.
    pub tested: &'static str,
    pub parse: fn(&HookPayload, &Env) -> Result<ParsedPayload, Malformed>,
    pub render: fn(&RenderInput<'_>) -> String,
    /// Whether somebody is there to answer a question.
    pub presence: fn(&Env) -> Presence,
    /// Our name for one of its events. `None`: it means nothing to us.
    pub kind_of: fn(&str) -> Option<EventKind>,
    /// How a call went, from a line of the talk that mentions it; `None` where events tell.
    pub settled: Option<fn(line: &str, call: &str) -> Option<bool>>,
    /// How it is started to review something. `None`: it cannot be.
    pub review: Option<ReviewerArgs>,
    pub install: Install,
    pub can: &'static [(ClientAbility, Support)],
}

/// Arguments of a reviewer, [`PROMPT`] among them.
#[derive(Clone, Copy)]
pub struct ReviewerArgs {
    /// It may run what is there, as tests are.
    pub trying: &'static [&'static str],
    /// It runs nothing that its author wrote, and obeys no settings that came along with the work.
    pub reading: &'static [&'static str],
    /// The same behind walls of ours.
    pub walled: &'static [&'static str],
}

/// Stands for the prompt among arguments.
pub const PROMPT: &str = "{prompt}";

/// Where the hooks of a client are written down, and how.
pub struct Install {
    pub user_file: fn(&Env) -> Option<PathBuf>,
    /// Below the worktree.
    pub project_file: &'static str,
    /// Its events that we want, with a timeout in seconds each.
    pub events: &'static [(&'static str, u32)],
    /// One hook entry that runs this program.
    pub entry: fn(program: &str, timeout: u32) -> Value,
    /// The program an entry runs, if the entry is one of ours.
    pub program_of: fn(&Value) -> Option<String>,
    /// Where it finds the definition of our reviewer, beside its settings.
    pub agent_file: Option<&'static str>,
    /// Where it is told of servers, if it takes any.
    pub server: Option<McpServerFile>,
    /// What else a user has to do.
    pub after: &'static str,
    /// A permission rule for one of the agent's own commands, where the client has such rules.
    pub permission: Option<fn(command: &str) -> String>,
}

/// The file in which a client lists servers.
pub struct McpServerFile {
    /// For these settings and this worktree.
    pub file: fn(settings: &Path, worktree: Option<&Path>) -> Option<PathBuf>,
    pub form: ServerFileForm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerFileForm {
    Json,
    Toml,
}

/// A payload in our words.
#[derive(Debug, PartialEq)]
pub struct ParsedPayload {
    /// The client's own name of the event.
    pub native: String,
    /// `None`: an event that means nothing to us.
    pub input: Option<Input>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Malformed(pub String);

/// What the client is to be told.
pub struct RenderInput<'a> {
    pub native: &'a str,
    pub presence: Presence,
    pub verdict: &'a Verdict,
    /// For the user's eyes, not for the model's context.
    pub warning: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAbility {
    ContextAtStart,
    ContextWithPrompt,
    BlockPrompt,
    DenyTool,
    RewriteInput,
    ContextBeforeTool,
    ContextAfterTool,
    HoldStop,
    HoldSubagentStop,
    SeeCompaction,
    RunHooksUntrusted,
}

impl ClientAbility {
    pub fn name(self) -> &'static str {
        match self {
            ClientAbility::ContextAtStart => "context at start",
            ClientAbility::ContextWithPrompt => "context with prompt",
            ClientAbility::BlockPrompt => "block prompt",
            ClientAbility::DenyTool => "deny tool",
            ClientAbility::RewriteInput => "rewrite input",
            ClientAbility::ContextBeforeTool => "context before tool",
            ClientAbility::ContextAfterTool => "context after tool",
            ClientAbility::HoldStop => "hold stop",
            ClientAbility::HoldSubagentStop => "hold sub-agent stop",
            ClientAbility::SeeCompaction => "compaction event",
            ClientAbility::RunHooksUntrusted => "hooks run without a trust step",
        }
    }
}

/// Whether a client can do something, and how we know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    Tested,
    /// Read in the shipped program.
    Read,
    /// Only together with something we never do.
    Unusable,
    No,
}

impl Support {
    pub fn name(self) -> &'static str {
        match self {
            Support::Tested => "tested",
            Support::Read => "read",
            Support::Unusable => "unusable",
            Support::No => "no",
        }
    }
}

/// Other tools have hooks of the same form: an entry is ours if it starts a program of our name.
pub fn is_our_program(program: &str) -> bool {
    program.rsplit('/').next().is_some_and(|name| name == "sprag" || name.starts_with("sprag-"))
}

pub fn find(name: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.name == name).copied()
}

/// The one registration of a client.
macro_rules! clients {
    ($($name:ident),+ $(,)?) => {
        $(pub mod $name;)+

        /// Every client, in the order in which they are shown.
        pub const CLIENTS: &[&Client] = &[$(&$name::CLIENT),+];
    };
}
use clients;

pub mod payload;
#[cfg(test)]
mod tests;
pub(crate) mod transcript;
