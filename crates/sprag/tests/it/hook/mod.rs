//! Payloads: bad, hostile, headless, planted.

mod bad_input;
pub(crate) mod dry_run;
mod forged;
mod headless;
mod hostile;
mod planted_files;
mod twice;
