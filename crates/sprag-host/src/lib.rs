//! All parts of Sprag that touch the system: clients, files, git, processes, the clock. Start at
//! [`pipeline`]: it takes one event from state to verdict.

pub mod answers;
pub mod checks;
pub mod clients;
pub mod config;
pub mod git;
pub mod intent_files;
pub mod intents;
pub mod mcp;
pub mod memory;
pub mod pipeline;
pub mod purpose;
pub mod report;
pub mod setup;
pub mod store;
pub mod sys;
pub mod trace;
pub mod trackers;
pub mod upkeep;
pub mod worktree;
pub mod world;
