//! Finds the record of a line, even after git rewrote the history. A missing answer is better than a wrong
//! one: a line that two intents may have written gets no record.
//!
//! The host reads histories and texts from git and combines the modules below.

pub mod block_search;
pub mod commit_diff;
pub mod distinctive;
pub mod index;
pub mod matched_lines;
pub mod reformat;
pub mod units;

use serde::Serialize;

/// The way from a line to its record, the most certain first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchMethod {
    /// Blame names the commit of the record.
    Blame,
    /// The commit is a copy of the one in the record: amended, rebased, squashed or cherry-picked.
    Rewritten,
    /// The commit moved the line from its position in the record.
    Moved,
    /// The commit restored the line: it reverted a commit that had deleted the line.
    Reverted,
    /// The commit only reformatted the line.
    Reformatted,
    /// The bytes of the block equal those of the record, at any position.
    RangeHash,
    /// The function or type equals that of the record, at any position.
    UnitHash,
}

sprag_base::names! {
    pub fn name(MatchMethod):
    Blame = "blame", Rewritten = "rewritten", Moved = "moved", Reverted = "reverted",
    Reformatted = "reformatted", RangeHash = "range_hash", UnitHash = "unit_hash"
}

/// Why a line has no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LostReason {
    /// No record covers the line.
    Unrecorded,
    /// Records of several intents match.
    Ambiguous,
    /// The search would exceed its limits.
    Unsearched,
}

sprag_base::names! {
    pub fn why(LostReason):
    Unrecorded = "no record", Ambiguous = "records of several intents match",
    Unsearched = "the search would take too long"
}
