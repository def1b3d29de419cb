//! The one process that runs plans. What it may do it asks of the core, what it does it writes down first, and
//! whatever kills it, the next one goes on from what is written.

pub mod begin;
pub mod follow;
pub mod jobs;
mod kept;
pub mod log;
pub mod look;
pub mod printed;
pub mod reign;
pub mod runner;
pub mod verification;
pub mod view;
pub mod watch;
pub mod wire;
