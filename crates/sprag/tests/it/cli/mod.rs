//! Commands, generated documents and settings.

mod commands;
pub(crate) mod docs;
pub(crate) mod people_only;
mod settings;
mod tutorials;
