//! The one process that runs plans. What it may do it asks of the core, what it does it writes down first, and
//! whatever kills it, the next one goes on from what is written.

pub mod begin;
pub mod board;
pub mod client;
pub mod diary;
pub mod clients;
pub mod jobs;
pub mod land;
pub mod log;
pub mod look;
pub mod peers;
pub mod reign;
pub mod repair;
pub mod runner;
pub mod server;
pub mod tasks;
pub mod tokens;
pub mod tmux;
pub mod verification;
pub mod vitals;
pub mod wire;
pub mod words;
