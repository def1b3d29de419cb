//! Asks the judge of the memory, a program that the user configured. Only commands ask it. It runs in a
//! separate directory with a deadline, and Sprag's hooks ignore it.

use std::io;

use crate::purpose::program::{self, OpinionProgram};
use crate::sys::exec::ProcessEnd;
use crate::world::World;

/// Most bytes of an answer.
const ANSWER: usize = 256 * 1024;

/// Reason for a missing answer.
#[derive(Debug)]
pub enum JudgeError {
    /// No judge is configured, or no home directory exists to run it in.
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
        .map_err(|error| JudgeError::Bad(format!("cannot run `{program}`: {error}")))?;
    match ran.ending {
        ProcessEnd::Code(0) => Ok(ran.stdout),
        ProcessEnd::Code(code) => Err(JudgeError::Bad(format!("exit code {code}"))),
        ProcessEnd::Signal => Err(JudgeError::Bad("the program was killed".to_owned())),
        ProcessEnd::TimedOut => Err(JudgeError::Bad(format!("no answer within {} s", policy.judge_seconds))),
    }
}
