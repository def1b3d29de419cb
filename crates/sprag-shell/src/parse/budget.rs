//! The limits of one parse. Nesting bounds the stack, commands bound the memory. The length of the text
//! bounds the rest, because nothing is parsed twice.

use super::ParseFault;

/// Maximum number of simple commands of one text.
pub(crate) const COMMANDS: usize = 4096;

pub(super) struct ParseBudget {
    levels: usize,
    commands: usize,
}

impl ParseBudget {
    pub(super) fn new(levels: usize) -> ParseBudget {
        ParseBudget { levels, commands: COMMANDS }
    }

    /// Takes one level of nesting.
    pub(super) fn enter(&mut self) -> Result<(), ParseFault> {
        self.levels = self.levels.checked_sub(1).ok_or(ParseFault::Budget)?;
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.levels += 1;
    }

    /// Takes one simple command.
    pub(super) fn take_command(&mut self) -> Result<(), ParseFault> {
        self.commands = self.commands.checked_sub(1).ok_or(ParseFault::Budget)?;
        Ok(())
    }
}
