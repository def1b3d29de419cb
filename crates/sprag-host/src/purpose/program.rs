//! Runs programs that give an opinion, such as the judge, with a deadline and in a separate directory.

use std::ffi::{OsStr, OsString};
use std::io;
use std::time::{Duration, Instant};

use crate::purpose;
use crate::sys::exec::{self, ProcessOutput};
use crate::sys::locations::UserLocations;
use crate::world::World;

/// Variables that would make a started client take part in the session of the caller.
pub(crate) const UNSET: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PROJECT_DIR",
    "CODEX_SESSION_ID",
    "CODEX_THREAD_ID",
    "SPRAG_SESSION",
];

/// A program that is asked for an opinion.
pub(crate) struct OpinionProgram<'a> {
    pub program: &'a str,
    pub args: &'a [String],
    pub seconds: u32,
    /// Most bytes of the answer.
    pub cap: usize,
}

/// Runs the program in a separate directory, where no project settings apply. The variable shows Sprag's
/// hooks that the program is a judge.
pub(crate) fn run(
    world: &World<'_>,
    user: &UserLocations,
    command: &OpinionProgram<'_>,
    question: &[u8],
) -> io::Result<ProcessOutput> {
    let dir = user.state.join("judge");
    world.disk.make_dirs(&dir)?;
    let run = purpose::PurposeGuard::begin(user, world.process_disk(), purpose::Purpose::Judge)?;
    let token = OsString::from(&run.token);
    let args: Vec<&OsStr> = command.args.iter().map(OsStr::new).collect();
    exec::run(&exec::ProcessSpec {
        dir: &dir,
        env: &[(purpose::VARIABLE, &token)],
        unset: UNSET,
        stdin: question,
        cap: command.cap,
        ..exec::ProcessSpec::new(
            OsStr::new(command.program),
            &args,
            Duration::from_secs(u64::from(command.seconds)),
        )
    })
}

pub(crate) fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

pub const TOKEN: &str = "SPRAG_REVIEW_TOKEN";

/// The same token again: Codex hides variables with `TOKEN` in their name from the commands that it runs.
pub const PASS: &str = "SPRAG_REVIEW_PASS";
