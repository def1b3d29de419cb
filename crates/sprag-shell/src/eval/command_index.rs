//! An index of the added commands. Loops and calls walk the same commands repeatedly, and a linear search
//! would take quadratic time.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::Command;

#[derive(Default)]
pub(super) struct CommandIndex {
    places: BTreeMap<u64, Vec<usize>>,
    /// The number of commands that are in the index.
    indexed: usize,
}

impl CommandIndex {
    /// Returns the position of an equal command; `commands` only grows between calls.
    pub(super) fn find(&mut self, commands: &[Command], command: &Command) -> Option<usize> {
        for (at, known) in commands.iter().enumerate().skip(self.indexed) {
            self.places.entry(digest(known)).or_default().push(at);
        }
        self.indexed = commands.len();
        let places = self.places.get(&digest(command))?;
        places.iter().copied().find(|at| commands[*at] == *command)
    }
}

fn digest(command: &Command) -> u64 {
    let mut hasher = DefaultHasher::new();
    command.hash(&mut hasher);
    hasher.finish()
}
