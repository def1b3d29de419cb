//! The one process that runs plans. What it may do it asks of the core, what it does it writes down first, and
//! whatever kills it, the next one goes on from what is written.

pub mod active;
pub mod anchor;
pub mod begin;
pub mod behind;
pub mod board;
pub mod client;
pub mod clients;
pub mod confine;
pub mod diary;
pub mod distill;
pub mod follow;
pub mod handoffs;
pub mod jobs;
mod kept;
pub mod known;
pub mod land;
pub mod log;
pub mod look;
pub mod notes;
pub mod peers;
pub mod printed;
pub mod protected;
pub mod reign;
pub mod repair;
pub mod runner;
pub mod server;
pub mod surroundings;
pub mod tasks;
pub mod tmux;
pub mod tokens;
pub mod verification;
pub mod view;
pub mod vitals;
pub mod watch;
pub mod wire;
pub mod words;
