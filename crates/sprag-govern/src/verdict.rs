//! Combines the votes of the gates into the one answer to the client. The strictest vote wins; notes add up.

use serde_json::Value;

use sprag_base::text::{ContextNote, Text};

use crate::obligation::Obligation;
use crate::reason::Reason;

/// The opinion of one gate on one event.
#[derive(Clone, Debug, PartialEq)]
pub enum Vote {
    Pass,
    Note(ContextNote),
    /// Runs the tool with this input instead.
    Rewrite(Rewrite),
    /// Answers the client's question in place of the user. Counts only for such a question, and only if no
    /// other gate objects.
    Allow(Reason),
    Ask(Reason),
    /// Refuses the call.
    Hold(Reason),
    /// The turn cannot end before this obligation is met. Gates use it for stops only. The breaker counts
    /// holds by its digest.
    Owe(Obligation),
    /// The gate could not find its facts, so earlier obligations of the gate stay open.
    Unsure,
}

/// The input that replaces the input of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct Rewrite {
    pub input: Value,
    /// Instruction for the agent, for clients that cannot change the input.
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
        /// Reasons of the other open obligations, one line each.
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

impl Ruling {
    /// Returns the rank among rulings. An answer in place of the user counts only if all repositories give it.
    pub fn strictness(&self) -> u8 {
        match self {
            Ruling::Allow { .. } => 0,
            Ruling::Pass => 1,
            Ruling::Ask { .. } => 2,
            Ruling::Hold { .. } => 3,
        }
    }
}

impl Verdict {
    pub fn is_neutral(&self) -> bool {
        *self == Verdict::default()
    }

    /// Returns the stricter of two verdicts on one event. Notes add up.
    #[must_use]
    pub fn stricter(mut self, other: Verdict) -> Verdict {
        if other.ruling.strictness() > self.ruling.strictness() {
            self.ruling = other.ruling;
        }
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        self.rewrite = self.rewrite.or(other.rewrite);
        self
    }

    /// Returns all notes as one context text. Clients cut or hide more than 10,000 characters.
    pub fn context(&self) -> Option<Text<9500>> {
        if self.notes.is_empty() {
            return None;
        }
        let lines: Vec<&str> = self.notes.iter().map(Text::as_str).collect();
        Some(Text::new(format!("sprag: {}", lines.join("\n"))))
    }
}
