//! The socket of the daemon: protocol, server, client.

pub mod client;
pub mod loop_event;
pub mod peer;
pub mod protocol;
pub mod requests;
pub(crate) mod server;
pub(crate) mod subscribers;
mod tokens;
