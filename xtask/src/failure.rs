//! The exit codes and messages of failed commands, in one place: commands return errors and never exit
//! themselves.

use std::fmt;
use std::process::ExitCode;

/// Wrong arguments: the command did nothing. Exit 2.
#[derive(Debug)]
pub struct Usage(pub String);

/// A failure that the command has already printed in its own form. Exit 1 without another message, so that
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
