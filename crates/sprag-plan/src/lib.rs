//! Plans as graphs of stages: the state of each stage and the next actions. The crate is pure: the daemon
//! observes, records and acts, and this crate decides.

pub mod accept;
pub mod agent;
pub mod brief;
pub mod handoff;
pub mod ids;
pub mod merge;
pub mod notes;
pub mod otel;
pub mod reconcile;
pub mod run;
pub mod sandbox;
pub mod sentences;
pub mod settings;
pub mod spec;
pub mod stage;
#[cfg(test)]
mod testing;
pub mod view;
