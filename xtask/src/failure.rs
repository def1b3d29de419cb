//! How a command ends badly: which exit code, and who has said what. In one place, so that
//! commands only return errors and never exit themselves.

use std::fmt;
use std::process::ExitCode;

/// The arguments made no sense; nothing was done. Exit 2.
#[derive(Debug)]
pub struct Usage(pub String);

/// The command has already printed what is wrong, in its own form. Exit 1, and not a word more:
/// the last line of a report stays the last line.
#[derive(Debug)]
pub struct Told;

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("told above")
    }
}

impl std::error::Error for Usage {}
impl std::error::Error for Told {}

pub fn tell(error: &anyhow::Error) -> ExitCode {
    if error.is::<Told>() {
        return ExitCode::FAILURE;
    }
    eprintln!("xtask: {error:#}");
    if error.is::<Usage>() { ExitCode::from(2) } else { ExitCode::FAILURE }
}
