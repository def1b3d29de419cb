//! One vocabulary for all clients. A client's file turns its own JSON into an [`Input`]; nothing
//! behind that file knows which client it was, but by name.

use serde::{Deserialize, Serialize};

use sprag_base::ids::SessionId;
use sprag_base::redact;
use sprag_base::text::{ContextNote, Text};
use sprag_base::time::Timestamp;
use sprag_intent::Class;
use sprag_memory::write_gate::Resolution;
use sprag_policy::Ground;
use sprag_policy::call::{Outcome, ToolCall};
use sprag_shell::Start;

/// One event with what is known around it.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    pub at: Timestamp,
    pub session: SessionId,
    /// Name of the client, as in `sprag hook NAME`.
    pub client: String,
    /// Working directory as the client gave it; it need not exist any more.
    pub cwd: String,
    /// The project the client was started for, where it says so: an agent may `cd` away from it.
    pub project: Option<String>,
    /// Where the client writes the session's talk down, where it says so.
    pub transcript: Option<String>,
    /// Root of the worktree this is about; empty outside git.
    pub root: String,
    /// The user's home; empty where it is not known.
    pub home: String,
    pub actor: Actor,
    /// What kind of agent the session's own is, where the client was started as one.
    pub agent: Option<Text<128>>,
    pub presence: Presence,
    pub errand: Errand,
    /// The stage of a plan that the session works on, where a run has started it for one.
    pub stage: Option<Text<64>>,
    /// What a stage's session has to be told again.
    pub anchor: Option<ContextNote>,
    pub event: Event,
}

impl Input {
    /// An event of the session's own agent, somewhere, with somebody there.
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
            errand: Errand::Own,
            stage: None,
            anchor: None,
            event,
        }
    }

    /// The same in a worktree.
    #[must_use]
    pub fn within(self, root: &str) -> Input {
        Input { cwd: root.to_owned(), root: root.to_owned(), ..self }
    }

    /// Where a command line of this event starts.
    pub fn start(&self) -> Start {
        let known = |place: &str| (!place.is_empty()).then(|| place.to_owned());
        Start { cwd: known(&self.cwd), home: known(&self.home) }
    }

    pub fn ground(&self) -> Ground {
        let ground = Ground::new(Some(&self.cwd), Some(&self.home));
        if self.root.is_empty() { ground } else { ground.in_repo(&self.root) }
    }
}

/// Who acts: the session's own agent, or one it started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    Main,
    Subagent { id: Text<128>, kind: Text<128> },
}

/// Whether somebody can answer a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Attended,
    Headless,
}

/// What a session is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errand {
    /// Its user's work.
    Own,
    /// Sprag has started it to review another's. It owes nothing when it stops.
    Review,
    /// A check has started it. The same.
    Check,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    SessionStarted { source: Source },
    Prompted { text: String, author: Author },
    ToolRequested { call: ToolCall },
    PermissionAsked { call: ToolCall },
    ToolFinished { call: ToolCall, outcome: Outcome },
    StopRequested(Stop),
    SubagentStarted,
    SubagentStopped(Stop),
    TaskCompleting { id: Text<128>, subject: Text<500> },
    Compacting,
    SessionEnded { why: Text<64> },
    Noticed { what: Text<64>, message: Text<500> },
    Reported(Report),
    Tick,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Startup,
    Resume,
    Compact,
    Clear,
    Fork,
    Other,
}

/// Who wrote a prompt. Clients also send prompts that no person typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    User,
    Client,
    /// A hold of ours that the client hands back as the next prompt.
    Sprag,
}

/// An agent wants to end its turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stop {
    pub last_message: Text<4000>,
    pub waiting: Waiting,
    pub planning: bool,
    /// The client says that a stop hook has already held this turn. One bit, not a count.
    pub again: bool,
}

/// Whether work of the session still runs in the background: then the agent will stop again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waiting {
    Yes,
    No,
    /// The client does not say.
    #[default]
    Untold,
}

/// What somebody told us through a command of ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    Observed {
        note: Text<2000>,
    },
    /// A person lets a refused call through, once.
    Approved {
        code: Text<16>,
    },
    /// A person does not, and wants it done in another way.
    Rejected {
        code: Text<16>,
    },
    /// An agent says what it works for from here on.
    IntentSelected {
        id: Text<64>,
        class: Class,
    },
    /// An intent is reached: its checks were run, and passed. Whoever says so has run them.
    IntentDone {
        id: Text<64>,
        /// What it meant when they were.
        fingerprint: Text<64>,
    },
    /// What was learned, as JSON: a submission of candidates. It is read again here, whoever sent it.
    Reflected {
        submission: String,
        /// Names for what is accepted, one for each candidate.
        ids: Vec<Text<64>>,
        /// What to do with those that resemble something known. With no submission: with those that wait.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resolution: Option<Resolution>,
    },
    /// There is nothing to learn from this.
    Skipped {
        reason: Text<500>,
        decider: Decider,
    },
    /// Learnings that were of use.
    Referred {
        ids: Vec<Text<64>>,
        how: Text<500>,
    },
    /// Whether work that used learnings went well.
    Went {
        ids: Vec<Text<64>>,
        is_success: bool,
        what: Text<500>,
    },
    /// A question that came up, and what answers it.
    Answered(Answered),
    /// The checks were run by hand. What came of them is looked up, whoever says so.
    Verified,
    /// A reviewer's verdict.
    Decided(Decided),
    /// A reviewer named the wrong session; this is the one whose token it has.
    Misdirected {
        token: Text<80>,
    },
    /// A reviewer's process was started, as one of this client.
    ReviewerStarted {
        client: Text<32>,
        /// Only its hash is kept.
        token: Text<80>,
    },
    /// That process has ended.
    ReviewerEnded {
        token: Text<80>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    pub question: Text<1000>,
    pub answer: Text<2000>,
    /// Where the answer is from: `user`, a file, a command.
    pub source: Text<300>,
    /// From 0 to 1.
    pub confidence: f32,
}

/// Who says that there is nothing to learn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decider {
    Agent,
    User,
    Auto,
}

impl Decider {
    pub fn name(self) -> &'static str {
        match self {
            Decider::Agent => "agent",
            Decider::User => "user",
            Decider::Auto => "auto",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decided {
    pub word: ReviewWord,
    pub summary: Text<500>,
    /// For the author.
    pub message: Text<4000>,
    /// What other agents thought of it.
    pub opinions: Vec<Text<1000>>,
    /// What tells the reviewer from everybody else. `None`: a person at a terminal.
    pub token: Option<Text<80>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ReviewWord {
    Complete,
    Issues,
}

impl ReviewWord {
    pub fn name(self) -> &'static str {
        match self {
            ReviewWord::Complete => "COMPLETE",
            ReviewWord::Issues => "ISSUES",
        }
    }
}

impl Report {
    /// Without secrets in what is said: parts of it are kept in the state of a session. What a secret is there for
    /// stays, and a submission is read as it is, to be redacted when it is known what is in it.
    #[must_use]
    pub fn redacted(self) -> Report {
        fn clean<const N: usize>(text: &mut Text<N>) {
            *text = redact::short(text.as_str());
        }
        let mut report = self;
        match &mut report {
            Report::Observed { note } => clean(note),
            Report::Skipped { reason, .. } => clean(reason),
            Report::Referred { how, .. } => clean(how),
            Report::Went { what, .. } => clean(what),
            Report::Answered(answered) => {
                clean(&mut answered.question);
                clean(&mut answered.answer);
                clean(&mut answered.source);
            }
            Report::Decided(decided) => {
                clean(&mut decided.summary);
                clean(&mut decided.message);
                decided.opinions.iter_mut().for_each(clean);
            }
            Report::Approved { .. }
            | Report::Rejected { .. }
            | Report::IntentSelected { .. }
            | Report::IntentDone { .. }
            | Report::Reflected { .. }
            | Report::Verified
            | Report::Misdirected { .. }
            | Report::ReviewerStarted { .. }
            | Report::ReviewerEnded { .. } => {}
        }
        report
    }

    /// Whether an agent may say it too.
    pub fn is_anyones(&self) -> bool {
        match self {
            Report::Observed { .. }
            | Report::Reflected { .. }
            | Report::Skipped { .. }
            | Report::Referred { .. }
            | Report::Went { .. }
            | Report::Answered(_)
            | Report::IntentSelected { .. }
            | Report::Misdirected { .. } => true,
            // With a token it is the gate that tells.
            Report::Decided(decided) => decided.token.is_some(),
            // Checks are not run for a file that somebody left: the next stop does that.
            Report::Verified | Report::IntentDone { .. } => false,
            Report::Approved { .. }
            | Report::Rejected { .. }
            | Report::ReviewerStarted { .. }
            | Report::ReviewerEnded { .. } => false,
        }
    }
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

impl EventKind {
    pub const ALL: [EventKind; 14] = [
        EventKind::SessionStarted,
        EventKind::Prompted,
        EventKind::ToolRequested,
        EventKind::PermissionAsked,
        EventKind::ToolFinished,
        EventKind::StopRequested,
        EventKind::SubagentStarted,
        EventKind::SubagentStopped,
        EventKind::TaskCompleting,
        EventKind::Compacting,
        EventKind::SessionEnded,
        EventKind::Noticed,
        EventKind::Reported,
        EventKind::Tick,
    ];

    /// The `kind` of the record this event leaves.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::SessionStarted => "session.started",
            EventKind::Prompted => "prompted",
            EventKind::ToolRequested => "tool.requested",
            EventKind::PermissionAsked => "permission.asked",
            EventKind::ToolFinished => "tool.finished",
            EventKind::StopRequested => "stop.requested",
            EventKind::SubagentStarted => "subagent.started",
            EventKind::SubagentStopped => "subagent.stopped",
            EventKind::TaskCompleting => "task.completing",
            EventKind::Compacting => "compacting",
            EventKind::SessionEnded => "session.ended",
            EventKind::Noticed => "noticed",
            EventKind::Reported => "reported",
            EventKind::Tick => "tick",
        }
    }
}

impl Event {
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

impl Stop {
    /// The agent ends its turn by asking the user something: its last sentence is a question.
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
        let stop = |text: &str| Stop { last_message: Text::new(text), ..Stop::default() };
        for asking in ["Shall I?", "Which one: **A or B?**", "続けますか？", "He said \"really?\"\n"] {
            assert!(stop(asking).asks(), "{asking}");
        }
        for telling in ["", "Done.", "Why? Because.", "I fixed what you asked (why?). Done"] {
            assert!(!stop(telling).asks(), "{telling}");
        }
    }
}
