//! Payloads: bad, hostile, headless, planted.

mod bad_input;
mod headless;
mod hostile;
mod planted_files;
