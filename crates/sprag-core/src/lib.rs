//! The rules of Sprag. Nothing in this crate reads a clock, a file, the environment or a
//! process, and nothing prints: what it needs to know comes in, what it wants done goes out.
//!
//! Start at [`decide`]: the two functions there are the whole governor.

pub mod approval;
pub mod breaker;
pub mod decide;
pub mod event;
pub mod fact;
pub mod gates;
pub mod judge;
pub mod obligation;
pub mod policy;
pub mod session;
pub mod tasks;
pub mod trackers;
pub mod verdict;
pub mod view;
