//! Observes and guards the files of a session.

pub(crate) mod baseline;
pub(crate) mod changes;
pub(crate) mod leases;
pub mod protect;
pub mod tree_hash;
