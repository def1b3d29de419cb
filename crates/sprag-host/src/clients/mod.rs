//! Clients: programs that call Sprag's hooks. Each client is one line in the list below and one file, which
//! turns its JSON into an [`Input`] and a verdict into its JSON. The abilities of a client are data, tagged
//! with the evidence for them.

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
    /// The `NAME` of `sprag hook NAME`.
    pub name: &'static str,
    pub title: &'static str,
    /// The program that a user starts.
    pub program: &'static str,
    /// The version that Sprag was tested with.
    pub tested: &'static str,
    pub parse: fn(&HookPayload, &Env) -> Result<ParsedPayload, Malformed>,
    pub render: fn(&RenderInput<'_>) -> String,
    /// Whether a person can answer a question.
    pub presence: fn(&Env) -> Presence,
    /// Variable with the session id that the client sets for every command of the agent.
    pub session_variable: Option<&'static str>,
    /// Returns Sprag's kind for an event of the client. `None` if Sprag ignores the event.
    pub kind_of: fn(&str) -> Option<EventKind>,
    /// Reads the outcome of a call from a transcript line that mentions it. `None` if events contain the
    /// outcome.
    pub settled: Option<fn(line: &str, call: &str) -> Option<bool>>,
    /// Arguments that start the client as a reviewer. `None` if it cannot review.
    pub review: Option<ReviewerArgs>,
    pub install: Install,
    pub can: &'static [(ClientAbility, Support)],
}

/// Arguments of a reviewer, with [`PROMPT`] among them.
#[derive(Clone, Copy)]
pub struct ReviewerArgs {
    /// For a reviewer that may run the code under review, for example its tests.
    pub trying: &'static [&'static str],
    /// For a reviewer that runs no code of the author and ignores settings in the reviewed work.
    pub reading: &'static [&'static str],
    /// Like `reading`, inside Sprag's sandbox.
    pub walled: &'static [&'static str],
}

/// Placeholder of the prompt among the arguments.
pub const PROMPT: &str = "{prompt}";

/// The place and the form of a client's hooks.
pub struct Install {
    pub user_file: fn(&Env) -> Option<PathBuf>,
    /// Relative to the worktree.
    pub project_file: &'static str,
    /// Events that Sprag subscribes to, each with a timeout in seconds.
    pub events: &'static [(&'static str, u32)],
    /// Returns one hook entry that runs this program.
    pub entry: fn(program: &str, timeout: u32) -> Value,
    /// Returns the program of an entry, if the entry belongs to Sprag.
    pub program_of: fn(&Value) -> Option<String>,
    /// Path of the definition of Sprag's reviewer, next to the client's settings.
    pub agent_file: Option<&'static str>,
    /// The list of MCP servers, if the client supports them.
    pub server: Option<McpServerFile>,
    /// A further step for the user.
    pub after: &'static str,
    /// Returns a permission rule for a command that agents run, if the client has such rules.
    pub permission: Option<fn(command: &str) -> String>,
}

/// The file in which a client lists MCP servers.
pub struct McpServerFile {
    /// Returns the file for these settings and this worktree.
    pub file: fn(settings: &Path, worktree: Option<&Path>) -> Option<PathBuf>,
    pub form: ServerFileForm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerFileForm {
    Json,
    Toml,
}

/// A payload in Sprag's vocabulary.
#[derive(Debug, PartialEq)]
pub struct ParsedPayload {
    /// The client's name of the event.
    pub native: String,
    /// `None` if Sprag ignores the event.
    pub input: Option<Input>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Malformed(pub String);

/// The parts of an answer to the client.
pub struct RenderInput<'a> {
    pub native: &'a str,
    pub presence: Presence,
    pub verdict: &'a Verdict,
    /// For the user, not for the context of the model.
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

sprag_base::names! {
    pub fn name(ClientAbility):
    ContextAtStart = "context at start", ContextWithPrompt = "context with prompt",
    BlockPrompt = "block prompt", DenyTool = "deny tool", RewriteInput = "rewrite input",
    ContextBeforeTool = "context before tool", ContextAfterTool = "context after tool",
    HoldStop = "hold stop", HoldSubagentStop = "hold sub-agent stop", SeeCompaction = "compaction event",
    RunHooksUntrusted = "hooks run without a trust step"
}

/// Whether a client has an ability, and how Sprag knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    Tested,
    /// Read in the shipped program of the client.
    Read,
    /// Only together with an answer that Sprag never gives.
    Unusable,
    No,
}

sprag_base::names! {
    pub fn name(Support):
    Tested = "tested", Read = "read", Unusable = "unusable", No = "no"
}

/// Reports whether a program is Sprag. The name decides, because other tools have hooks of the same form.
pub fn is_our_program(program: &str) -> bool {
    program.rsplit('/').next().is_some_and(|name| name == "sprag" || name.starts_with("sprag-"))
}

pub fn find(name: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.name == name).copied()
}

/// Declares all clients. This is the only place that registers them.
macro_rules! clients {
    ($($name:ident),+ $(,)?) => {
        $(pub mod $name;)+

        /// All clients, in display order.
        pub const CLIENTS: &[&Client] = &[$(&$name::CLIENT),+];
    };
}
use clients;

pub mod payload;
#[cfg(test)]
mod tests;
pub(crate) mod transcript;
