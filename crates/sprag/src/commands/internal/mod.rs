//! Commands that clients and the daemon run.

pub(crate) mod daemon;
pub(crate) mod hook;
pub(crate) mod mcp;
pub(crate) mod supervise;
