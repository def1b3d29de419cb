//! Asking the judge of the memory: a program of the user's choice, for commands alone. It runs in a place of its
//! own, within its deadline, and our hooks leave it alone.

use std::io;

use crate::purpose::program::{self, Command};
use crate::sys::exec::Ending;
use crate::world::World;

/// Bytes of an answer.
const ANSWER: usize = 256 * 1024;

/// Why there is no answer.
#[derive(Debug)]
pub enum Unanswered {
    /// None is configured, or there is no home to run it in.
    Nobody,
    Bad(String),
    Io(io::Error),
}

impl From<io::Error> for Unanswered {
    fn from(error: io::Error) -> Self {
        Unanswered::Io(error)
    }
}

pub fn consult(world: &World<'_>, question: &[u8]) -> Result<Vec<u8>, Unanswered> {
    let policy = &world.config.settings.memory;
    let (Some((program, args)), Some(user)) = (policy.judge.split_first(), &world.places.user) else {
        return Err(Unanswered::Nobody);
    };
    let command = Command { program, args, seconds: policy.judge_seconds, cap: ANSWER };
    let ran = program::run(world, user, &command, question)
        .map_err(|error| Unanswered::Bad(format!("`{program}` cannot be run: {error}")))?;
    match ran.ending {
        Ending::Code(0) => Ok(ran.stdout),
        Ending::Code(code) => Err(Unanswered::Bad(format!("it ended with exit code {code}"))),
        Ending::Signal => Err(Unanswered::Bad("it was killed".to_owned())),
        Ending::TimedOut => Err(Unanswered::Bad(format!("no answer within {} s", policy.judge_seconds))),
    }
}
