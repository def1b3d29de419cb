//! The one process that runs plans. What it may do it asks of the core, what it does it writes down first, and
//! whatever kills it, the next one goes on from what is written.

pub mod begin;
pub mod confine;
pub mod jobs;
pub mod log;
pub mod look;
pub mod reign;
pub mod runner;
pub mod surroundings;
pub mod verification;
pub mod wire;
