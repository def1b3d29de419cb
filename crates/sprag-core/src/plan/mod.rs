//! A plan as a graph of stages, what each of them is doing, and what is to be done next. Pure: the daemon
//! looks, records and acts; what follows from what is decided here.

pub mod exit;
pub mod graph;
pub mod merge;
pub mod merged;
pub mod stage;
