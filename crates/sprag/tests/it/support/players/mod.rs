//! Players of a story: the core with a simulated world, and the program as its clients call it.

mod core;
mod intents;
mod program;
mod review;

pub(crate) use core::Core;

use crate::stories::scripts::Step;
pub(crate) use program::Program;

/// The reply to the client.
#[derive(Debug, PartialEq)]
pub(crate) enum Told {
    Nothing,
    Note(String),
    Hold(String),
    Deny(String),
    Ask(String),
    Allow,
    /// The command that runs instead.
    Rewrite(String),
}

pub(crate) trait Player {
    fn play(&mut self, session: &str, step: &Step) -> Told;

    fn can_ask(&self) -> bool {
        true
    }

    fn can_rewrite(&self) -> bool {
        true
    }

    fn knows_how_calls_end(&self) -> bool {
        true
    }
}

/// A submission of an agent that has learned something.
pub(crate) const GOOD: &str = r#"{"candidates": [{"category": "pitfall", "summary": "the parser drops the last line",
    "detail": "a file without a final newline loses its last line; read it with `lines_of`",
    "tags": ["parser"], "criteria_met": ["behavior_changing"]}]}"#;
const BAD: &str = r#"{"candidates": [{"category": "gossip", "summary": "short"}]}"#;
