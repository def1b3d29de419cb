//! A plan as a graph of stages, what each of them is doing, and what is to be done next. Pure: the daemon
//! looks, records and acts; what follows from what is decided here.

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
