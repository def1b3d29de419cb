//! Asking the judge: one at a time, within its deadline, in a place of its own, and not at all while
//! it keeps failing. Whatever goes wrong, the user is asked instead.

use std::ffi::{OsStr, OsString};
use std::io;
use std::time::{Duration, Instant};

use sprag_base::text::{Text, one_line};
use sprag_govern::event::{Event, Input};
use sprag_govern::judge::{Answer, Judgement, Reliability, question};

use crate::exec::{self, Ending, Ran};
use crate::places::UserPlaces;
use crate::walk::World;
use crate::{disk, projections, runs};

/// Bytes of an answer; a longer one is none.
const ANSWER: usize = 16 * 1024;
const LONGEST_SECONDS: u32 = 25;

/// What would make a program that we start, an agent's client say, take part in the session it is about.
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

pub fn ask(world: &World<'_>, input: &Input) -> Judgement {
    let started = Instant::now();
    match asked(world, input) {
        Ok(Asked::Answer(answer)) => Judgement::Answered { answer, millis: millis(started) },
        Ok(Asked::Bad(what)) => {
            Judgement::Failed { what: Text::new(one_line(&what)), millis: millis(started) }
        }
        Ok(Asked::Not(why)) => Judgement::Unasked { why: Text::from(why) },
        Err(error) => Judgement::Failed {
            what: Text::new(format!("it cannot be run: {error}")),
            millis: millis(started),
        },
    }
}

enum Asked {
    Answer(Answer),
    Bad(String),
    Not(&'static str),
}

fn asked(world: &World<'_>, input: &Input) -> io::Result<Asked> {
    let policy = &world.config.settings.govern.gates.permission;
    let (Event::PermissionAsked { call }, Some((program, args)), Some(user)) =
        (&input.event, policy.judge.split_first(), &world.places.user)
    else {
        return Ok(Asked::Not("there is none"));
    };
    let Some(question) = question(input, call) else {
        return Ok(Asked::Not("the call is too long to be shown"));
    };
    let store = world.store();
    if !projections::load::<Reliability>(&store)?.state.may_be_asked(input.at) {
        return Ok(Asked::Not("it failed too often, and rests"));
    }
    world.disk.make_dirs(&store.dir)?;
    let lock = disk::append_regular(&store.dir.join("judge.lock"))?;
    if lock.try_lock().is_err() {
        return Ok(Asked::Not("it is busy"));
    }
    let seconds = policy.judge_seconds.min(LONGEST_SECONDS);
    let ran = run(world, user, &Command { program, args, seconds, cap: ANSWER }, &question)?;
    Ok(match ran.ending {
        Ending::TimedOut => Asked::Bad(format!("no answer within {} s", policy.judge_seconds)),
        Ending::Signal => Asked::Bad("it was killed".to_owned()),
        Ending::Code(0) => match Answer::parse(&ran.stdout) {
            Ok(answer) => Asked::Answer(answer),
            Err(why) => Asked::Bad(format!("its answer is not in form: {why}")),
        },
        Ending::Code(code) => Asked::Bad(format!("it ended with exit code {code}")),
    })
}

/// A program that is asked for an opinion.
pub(crate) struct Command<'a> {
    pub program: &'a str,
    pub args: &'a [String],
    pub seconds: u32,
    /// Bytes of its answer at most.
    pub cap: usize,
}

/// Runs it in a directory of its own, where no project's settings apply to it, and known to our hooks for what
/// it is.
pub(crate) fn run(
    world: &World<'_>,
    user: &UserPlaces,
    command: &Command<'_>,
    question: &[u8],
) -> io::Result<Ran> {
    let dir = user.state.join("judge");
    world.disk.make_dirs(&dir)?;
    let run = runs::Run::begin(user, world.disk, runs::Task::Judge)?;
    let token = OsString::from(&run.token);
    let args: Vec<&OsStr> = command.args.iter().map(OsStr::new).collect();
    exec::run(&exec::Run {
        program: OsStr::new(command.program),
        args: &args,
        dir: &dir,
        env: &[(runs::VARIABLE, &token)],
        unset: UNSET,
        stdin: question,
        deadline: Duration::from_secs(u64::from(command.seconds)),
        cap: command.cap,
    })
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
