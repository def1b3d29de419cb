//! From the opinions of the gates to the one answer the client gets. The strictest opinion wins,
//! notes add up.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use sprag_base::text::{ContextNote, Text};

use crate::obligation::Obligation;

/// The opinion of one gate on one event.
#[derive(Clone, Debug, PartialEq)]
pub enum Vote {
    Pass,
    Note(ContextNote),
    /// Run the tool with this input instead.
    Rewrite(Rewrite),
    /// In place of the user, who is about to be asked. Counts only there, and only if nobody objects.
    Allow(Reason),
    Ask(Reason),
    /// Not this, not now.
    Hold(Reason),
    /// The turn does not end before this is met. Only a stop can be answered so, and only so:
    /// the digest is what lets the breaker count.
    Owe(Obligation),
    /// What has to be known could not be found out: what was owed before still is.
    Unsure,
}

/// What a tool is to be called with instead.
#[derive(Clone, Debug, PartialEq)]
pub struct Rewrite {
    pub input: Value,
    /// For a client that cannot change it: what the agent has to do differently.
    pub why: Text<1000>,
}

/// Why something is held, and the way out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// For programs: stable, `snake_case`.
    pub code: Text<64>,
    /// For people: a lower-case fragment.
    pub why: Text<1000>,
    /// What resolves it, best a command that works when pasted.
    pub next: Text<400>,
}

impl Reason {
    pub fn new(code: &str, why: impl Into<String>, next: impl Into<String>) -> Self {
        Reason { code: Text::from(code), why: Text::new(why), next: Text::new(next) }
    }
}

/// The one answer to one hook call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    pub ruling: Ruling,
    pub notes: Vec<ContextNote>,
    pub rewrite: Option<Rewrite>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Ruling {
    #[default]
    Pass,
    Allow {
        gate: &'static str,
        reason: Reason,
    },
    Ask {
        gate: &'static str,
        reason: Reason,
    },
    Hold {
        gate: &'static str,
        reason: Reason,
        /// What else is open, a line each.
        also: Vec<Reason>,
    },
}

impl Ruling {
    pub fn name(&self) -> &'static str {
        match self {
            Ruling::Pass => "pass",
            Ruling::Allow { .. } => "allow",
            Ruling::Ask { .. } => "ask",
            Ruling::Hold { .. } => "hold",
        }
    }
}

impl Verdict {
    pub fn is_neutral(&self) -> bool {
        *self == Verdict::default()
    }

    /// All notes as one context text. Clients cut or hide more than 10,000 characters.
    pub fn context(&self) -> Option<Text<9500>> {
        if self.notes.is_empty() {
            return None;
        }
        let lines: Vec<&str> = self.notes.iter().map(Text::as_str).collect();
        Some(Text::new(format!("sprag: {}", lines.join("\n"))))
    }
}

impl Reason {
    /// The hold of a stop, as the agent reads it. It starts with our name, so that a client that
    /// hands it back as a prompt does not pass it off as a person's.
    pub fn hold_text(&self, also: &[Reason]) -> Text<4000> {
        let mut text = format!("sprag: {}\n  next: {}", self.why, self.next);
        if !also.is_empty() {
            text.push_str("\nalso open:");
        }
        for reason in also {
            text.push_str(&format!("\n- {}; next: {}", reason.why, reason.next));
        }
        Text::new(text)
    }

    /// The refusal of a tool call, as the agent reads it in place of the tool's result.
    pub fn refusal_text(&self) -> Text<4000> {
        Text::new(
            serde_json::json!({
                "status": "error",
                "code": self.code,
                "message": format!("sprag: {}", self.why),
                "suggestion": self.next,
            })
            .to_string(),
        )
    }
}
