//! The store: clean, rebuild, migrate.

pub(crate) mod clean;
mod clean_runs;
pub(crate) mod migrate;
pub(crate) mod rebuild;
