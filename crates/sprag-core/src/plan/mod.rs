//! A plan as a graph of stages, what each of them is doing, and what is to be done next. Pure: the daemon
//! looks, records and acts; what follows from what is decided here.

pub mod checks;
pub mod drawing;
pub mod exit;
pub mod fields;
pub mod graph;
pub mod merge;
pub mod merged;
pub mod probe;
pub mod problem;
mod reading;
pub mod reconcile;
pub mod record;
pub mod retry;
pub mod run;
pub mod sandbox;
pub mod schedule;
pub mod scope;
pub mod seen;
pub mod spec;
pub mod stage;
pub mod stub;
pub mod template;
#[cfg(test)]
mod testing;
pub mod validate;
pub mod values;
pub mod verify;
pub mod why;
pub mod world;
