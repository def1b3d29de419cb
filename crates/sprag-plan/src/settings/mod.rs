//! Sections of the configuration about runs.

pub mod notify;
pub mod terminal;
