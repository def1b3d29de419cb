//! From the opinions of the gates to the one answer the client gets. The strictest opinion wins,
//! notes add up.

use serde_json::Value;

use sprag_base::text::{ContextNote, Text};

use crate::obligation::Obligation;
use crate::reason::Reason;

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
