//! The rules of Sprag. Nothing in this crate reads a clock, a file, the environment or a
//! process, and nothing prints: what it needs to know comes in, what it wants done goes out.
//!
//! Start at [`decide`]: the two functions there are the whole governor.

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
