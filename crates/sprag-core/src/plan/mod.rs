//! A plan as a graph of stages, what each of them is doing, and what is to be done next. Pure: the daemon
//! looks, records and acts; what follows from what is decided here.

pub mod amend;
pub mod asked;
pub mod base;
pub mod brief;
pub mod budget;
pub mod checks;
pub mod drawing;
pub mod durations;
pub mod exit;
pub mod fields;
pub mod graph;
pub mod handoff;
pub mod liveness;
pub mod merge;
pub mod merged;
pub mod notes;
pub mod probe;
pub mod problem;
pub mod prompt;
mod reading;
pub mod reconcile;
pub mod record;
pub mod retry;
pub mod run;
pub mod said;
pub mod sandbox;
pub mod schedule;
pub mod scope;
pub mod seen;
pub mod settle;
pub mod spans;
pub mod spec;
pub mod stage;
pub mod stream;
pub mod stub;
pub mod telling;
pub mod template;
#[cfg(test)]
mod testing;
pub mod timed;
pub mod validate;
pub mod values;
pub mod verify;
pub mod view;
pub mod why;
pub mod world;
