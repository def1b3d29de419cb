//! The rules of Sprag. This crate does no input or output: it reads no clock, file, environment or process.
//! Callers pass the facts in, and the crate returns the decision and the records to write.
//!
//! Start at [`decide`]: its functions are the whole governor.

pub mod approval;
pub mod breaker;
pub mod decide;
pub mod event;
pub mod event_records;
pub mod facts;
pub mod gates;
pub mod history;
pub mod judge;
pub mod obligation;
pub mod reason;
pub mod report;
pub mod session;
pub mod session_facts;
pub mod settings;
pub mod trackers;
pub mod verdict;
