//! Commands, generated documents and settings.

mod commands;
pub(crate) mod docs;
mod help;
pub(crate) mod people_only;
mod settings;
mod tutorials;
