//! The memory: learnings, and the rules for keeping and finding them.

pub mod answers;
pub mod backfill;
pub mod destination;
pub mod document;
pub mod episode;
pub mod import;
pub mod index;
pub mod learning;
pub mod learnings;
pub mod lesson;
pub mod lifecycle;
pub mod markdown;
pub mod mirror;
pub mod recall;
pub mod records;
pub mod settings;
pub mod shared_log;
pub mod stats;
pub mod usage;
pub mod write_gate;
