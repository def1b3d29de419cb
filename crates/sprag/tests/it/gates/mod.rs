//! One file for each gate.

mod commit;
mod completion;
mod delegation;
mod moved;
mod permission;
mod reflection;
pub(crate) mod review;
mod reviewer_processes;
mod scope;
mod scope_widened;
mod stale;
mod unfinished;
