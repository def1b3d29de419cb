//! Asking the judge of the memory: a program of the user's choice, for commands alone. It runs in a place of its
//! own, within its deadline, and our hooks leave it alone.

use std::io;

use crate::purpose::program::{self, OpinionProgram};
use crate::sys::exec::ProcessEnd;
use crate::world::World;

/// Bytes of an answer.
const ANSWER: usize = 256 * 1024;

/// Why there is no answer.
#[derive(Debug)]
pub enum JudgeError {
    /// None is configured, or there is no home to run it in.
    Nobody,
    Bad(String),
    Io(io::Error),
}

impl From<io::Error> for JudgeError {
    fn from(error: io::Error) -> Self {
        JudgeError::Io(error)
    }
}

pub fn consult(world: &World<'_>, question: &[u8]) -> Result<Vec<u8>, JudgeError> {
    let policy = &world.config.settings.memory;
    let (Some((program, args)), Some(user)) = (policy.judge.split_first(), &world.places.user) else {
        return Err(JudgeError::Nobody);
    };
    let command = OpinionProgram { program, args, seconds: policy.judge_seconds, cap: ANSWER };
    let ran = program::run(world, user, &command, question)
        .map_err(|error| JudgeError::Bad(format!("`{program}` cannot be run: {error}")))?;
    match ran.ending {
        ProcessEnd::Code(0) => Ok(ran.stdout),
        ProcessEnd::Code(code) => Err(JudgeError::Bad(format!("it ended with exit code {code}"))),
        ProcessEnd::Signal => Err(JudgeError::Bad("it was killed".to_owned())),
        ProcessEnd::TimedOut => Err(JudgeError::Bad(format!("no answer within {} s", policy.judge_seconds))),
    }
}
