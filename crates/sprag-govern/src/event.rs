//! One vocabulary for all clients. The file of a client turns its JSON into an [`Input`]. All other code
//! knows the client only by name.

use std::cell::OnceCell;

use serde::{Deserialize, Serialize};

use sprag_base::ids::SessionId;
use sprag_base::text::{ContextNote, Text, shell_word};
use sprag_base::time::Timestamp;
use sprag_policy::KnownPaths;
use sprag_policy::call::{ToolCall, ToolOutcome};
use sprag_shell::{Script, ShellStart};

use crate::report::Report;

/// One event with its context.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    pub at: Timestamp,
    pub session: SessionId,
    /// Name of the client, as in `sprag hook NAME`.
    pub client: String,
    /// Working directory as the client gave it. The directory may no longer exist.
    pub cwd: String,
    /// Project for which the client was started, if the client says so. The agent may change to another
    /// directory.
    pub project: Option<String>,
    /// File to which the client writes the transcript, if the client says so.
    pub transcript: Option<String>,
    /// Root of the worktree of this event; empty outside git.
    pub root: String,
    /// Home directory of the user; empty if unknown.
    pub home: String,
    pub actor: Actor,
    /// Agent type of the session's own agent, if the client was started with one.
    pub agent: Option<Text<128>>,
    pub presence: Presence,
    pub errand: SessionPurpose,
    /// Whether commands of the agent find the session without `--session`.
    pub naming: SessionNaming,
    /// Stage of a plan that the session works on, if a run started it.
    pub stage: Option<Text<64>>,
    /// Reminder for the session of a stage.
    pub anchor: Option<ContextNote>,
    /// How the client called the hook. It differs between two registrations of the hooks.
    pub registration: Option<Text<400>>,
    pub event: Event,
    pub parsed: ParsedScript,
}

/// The parsed command line of an event, once a caller asked for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedScript(OnceCell<Option<Script>>);

/// How a command that the agent runs finds the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionNaming {
    /// The client sets a variable with the id for every command.
    ByVariable,
    /// The command needs `--session ID`.
    ByFlag,
}

impl Input {
    /// Returns ` --session ID` for an advised command, or nothing if the client names the session itself.
    pub fn session_flag(&self) -> String {
        match self.naming {
            SessionNaming::ByVariable => String::new(),
            SessionNaming::ByFlag => format!(" --session {}", shell_word(self.session.as_str())),
        }
    }

    /// Returns an event of the session's own agent, attended and without a worktree.
    pub fn new(at: Timestamp, session: SessionId, event: Event) -> Input {
        Input {
            at,
            session,
            client: String::new(),
            cwd: String::new(),
            project: None,
            transcript: None,
            root: String::new(),
            home: String::new(),
            actor: Actor::Main,
            agent: None,
            presence: Presence::Attended,
            naming: SessionNaming::ByFlag,
            errand: SessionPurpose::Own,
            stage: None,
            anchor: None,
            registration: None,
            event,
            parsed: ParsedScript::default(),
        }
    }

    /// Returns the same event with this worktree.
    #[must_use]
    pub fn within(self, root: &str) -> Input {
        Input { cwd: root.to_owned(), root: root.to_owned(), parsed: ParsedScript::default(), ..self }
    }

    /// Returns the directory and home in which a command line of this event starts.
    pub fn start(&self) -> ShellStart {
        let known = |place: &str| (!place.is_empty()).then(|| place.to_owned());
        ShellStart { cwd: known(&self.cwd), home: known(&self.home) }
    }

    /// Returns the parsed command line of the event's call. The first caller parses it; later callers get the
    /// same result.
    pub fn script(&self) -> Option<&Script> {
        let call = self.event.call()?;
        self.parsed.0.get_or_init(|| call.parse_script(&self.start())).as_ref()
    }

    pub fn ground(&self) -> KnownPaths {
        let ground = KnownPaths::new(Some(&self.cwd), Some(&self.home));
        if self.root.is_empty() { ground } else { ground.in_repo(&self.root) }
    }
}

/// The acting agent: the session's own agent, or one that it started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    Main,
    Subagent { id: Text<128>, kind: Text<128> },
}

/// Whether a user can answer a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Attended,
    Headless,
}

/// The purpose of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionPurpose {
    /// The work of its user.
    Own,
    /// Sprag started it to review the work of another session. It owes nothing when it stops.
    Review,
    /// A check started it. It owes nothing when it stops.
    Check,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    SessionStarted { source: StartSource },
    Prompted { text: String, author: PromptAuthor },
    ToolRequested { call: ToolCall },
    PermissionAsked { call: ToolCall },
    ToolFinished { call: ToolCall, outcome: ToolOutcome },
    StopRequested(StopRequest),
    SubagentStarted,
    SubagentStopped(StopRequest),
    TaskCompleting { id: Text<128>, subject: Text<500> },
    Compacting,
    SessionEnded { why: Text<64> },
    Noticed { what: Text<64>, message: Text<500> },
    Reported(Report),
    Tick,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StartSource {
    Startup,
    Resume,
    Compact,
    Clear,
    Fork,
    Other,
}

sprag_base::names! {
    pub fn name(StartSource):
    Startup = "startup", Resume = "resume", Compact = "compact", Clear = "clear", Fork = "fork",
    Other = "other"
}

/// The author of a prompt. Clients also send prompts that no person typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptAuthor {
    User,
    Client,
    /// Sprag: a hold that the client sends back as the next prompt.
    Sprag,
}

/// The request of an agent to end its turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopRequest {
    pub last_message: Text<4000>,
    pub waiting: BackgroundWork,
    pub planning: bool,
    /// The client says that a stop hook already held this turn. It gives no count.
    pub again: bool,
}

/// Whether work of the session still runs in the background. If so, the agent will stop again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackgroundWork {
    Yes,
    No,
    /// The client does not say.
    #[default]
    Untold,
}

/// An event without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventKind {
    SessionStarted,
    Prompted,
    ToolRequested,
    PermissionAsked,
    ToolFinished,
    StopRequested,
    SubagentStarted,
    SubagentStopped,
    TaskCompleting,
    Compacting,
    SessionEnded,
    Noticed,
    Reported,
    Tick,
}

sprag_base::names! {
    pub const ALL,
    /// Returns the `kind` of the record of this event.
    pub fn name(EventKind):
    SessionStarted = "session.started", Prompted = "prompted", ToolRequested = "tool.requested",
    PermissionAsked = "permission.asked", ToolFinished = "tool.finished", StopRequested = "stop.requested",
    SubagentStarted = "subagent.started", SubagentStopped = "subagent.stopped",
    TaskCompleting = "task.completing", Compacting = "compacting", SessionEnded = "session.ended",
    Noticed = "noticed", Reported = "reported", Tick = "tick"
}

impl Event {
    /// Returns the tool call that the event is about.
    pub fn call(&self) -> Option<&ToolCall> {
        match self {
            Event::ToolRequested { call }
            | Event::PermissionAsked { call }
            | Event::ToolFinished { call, .. } => Some(call),
            _ => None,
        }
    }

    pub fn kind(&self) -> EventKind {
        match self {
            Event::SessionStarted { .. } => EventKind::SessionStarted,
            Event::Prompted { .. } => EventKind::Prompted,
            Event::ToolRequested { .. } => EventKind::ToolRequested,
            Event::PermissionAsked { .. } => EventKind::PermissionAsked,
            Event::ToolFinished { .. } => EventKind::ToolFinished,
            Event::StopRequested(_) => EventKind::StopRequested,
            Event::SubagentStarted => EventKind::SubagentStarted,
            Event::SubagentStopped(_) => EventKind::SubagentStopped,
            Event::TaskCompleting { .. } => EventKind::TaskCompleting,
            Event::Compacting => EventKind::Compacting,
            Event::SessionEnded { .. } => EventKind::SessionEnded,
            Event::Noticed { .. } => EventKind::Noticed,
            Event::Reported(_) => EventKind::Reported,
            Event::Tick => EventKind::Tick,
        }
    }
}

impl StopRequest {
    /// Reports whether the agent ends its turn with a question to the user: its last sentence is a question.
    pub fn asks(&self) -> bool {
        let message = self.last_message.as_str().trim_end_matches(|c: char| {
            c.is_whitespace() || matches!(c, '"' | '\'' | ')' | '*' | '_' | '`' | '”' | '’' | '」')
        });
        message.ends_with(['?', '？'])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_known_by_its_last_sentence() {
        let stop = |text: &str| StopRequest { last_message: Text::new(text), ..StopRequest::default() };
        for asking in ["Shall I?", "Which one: **A or B?**", "続けますか？", "He said \"really?\"\n"] {
            assert!(stop(asking).asks(), "{asking}");
        }
        for telling in ["", "Done.", "Why? Because.", "I fixed what you asked (why?). Done"] {
            assert!(!stop(telling).asks(), "{telling}");
        }
    }
}
