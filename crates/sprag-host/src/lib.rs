//! Everything of Sprag that touches the world: clients, files, git, processes, the clock. Start
//! at [`hook`]: the walk of one hook call is a straight line through this crate.

pub mod checks;
pub mod clean;
pub mod clients;
pub mod config;
pub mod disk;
pub mod doctor;
pub mod env;
pub mod exec;
pub mod facts;
pub mod git;
pub mod guarded;
pub mod hook;
pub mod inbox;
pub mod install;
pub mod journal;
pub mod judge;
pub mod keep;
pub mod migrate;
pub mod outbox;
pub mod person;
pub mod places;
pub mod policy;
pub mod projections;
pub mod quoted;
pub mod records;
pub mod reports;
pub mod runs;
pub mod staged;
pub mod start;
pub mod stdin;
pub mod store;
pub mod trackers;
pub mod transcript;
pub mod tree;
pub mod walk;
