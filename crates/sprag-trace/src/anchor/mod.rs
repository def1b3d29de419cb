//! Which record a line stands for, whatever has become of the history it was written in. Everything here
//! would rather know nothing than be wrong: a line that two intents may have written is nobody's.
//!
//! The host asks git for histories and texts and puts the parts below together.

pub mod block_search;
pub mod commit_diff;
pub mod distinctive;
pub mod index;
pub mod matched_lines;
pub mod reformat;
pub mod units;

use serde::Serialize;

/// How a line came to its record, from the surest to the least sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchMethod {
    /// The record names the commit that blame names.
    Blame,
    /// That commit is a copy of the one in the record: amended, rebased, squashed, picked.
    Rewritten,
    /// That commit moved the line from where the record has it.
    Moved,
    /// That commit brought the line back by reverting one that had deleted it.
    Reverted,
    /// That commit only laid the line out anew.
    Reformatted,
    /// The bytes of the block are those of the record, wherever it was.
    RangeHash,
    /// The function or type is the one of the record, wherever it was.
    UnitHash,
}

impl MatchMethod {
    pub fn name(self) -> &'static str {
        match self {
            MatchMethod::Blame => "blame",
            MatchMethod::Rewritten => "rewritten",
            MatchMethod::Moved => "moved",
            MatchMethod::Reverted => "reverted",
            MatchMethod::Reformatted => "reformatted",
            MatchMethod::RangeHash => "range_hash",
            MatchMethod::UnitHash => "unit_hash",
        }
    }
}

/// Why a line has no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LostReason {
    /// No record says anything of it.
    Unrecorded,
    /// Records of several intents may be meant.
    Ambiguous,
    /// Looking for it would take too long.
    Unsearched,
}

impl LostReason {
    pub fn why(self) -> &'static str {
        match self {
            LostReason::Unrecorded => "no record",
            LostReason::Ambiguous => "records of several intents fit",
            LostReason::Unsearched => "looking would take too long",
        }
    }
}
