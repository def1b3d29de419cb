//! Asks the user's judge program about a tool call.

use std::fs::File;
use std::io;
use std::time::Instant;

use sprag_base::text::{Text, one_line};
use sprag_govern::event::{Event, Input};
use sprag_govern::gates::permission::Question;
use sprag_govern::judge::{JudgeAnswer, JudgeResult, Reliability, question};

use crate::answers::AnswerCx;
use crate::purpose::program::{OpinionProgram, millis, run};
use crate::store::{Store, projections};
use crate::sys::disk;
use crate::sys::exec::ProcessEnd;
use crate::world::World;

/// Maximum bytes of an answer; Sprag rejects a longer one.
const ANSWER: usize = 16 * 1024;

const LONGEST_SECONDS: u32 = 25;

pub(super) fn answer(_question: &Question, cx: &AnswerCx<'_>) -> Option<JudgeResult> {
    let started = Instant::now();
    Some(match asked(cx.world(), cx.input) {
        Ok(JudgeAttempt::Answer(answer)) => JudgeResult::Answered { answer, millis: millis(started) },
        Ok(JudgeAttempt::Bad(what)) => {
            JudgeResult::Failed { what: Text::new(one_line(&what)), millis: millis(started) }
        }
        Ok(JudgeAttempt::Not(why)) => JudgeResult::Unasked { why: Text::from(why) },
        Err(error) => JudgeResult::Failed {
            what: Text::new(format!("cannot run the judge: {error}")),
            millis: millis(started),
        },
    })
}

enum JudgeAttempt {
    Answer(JudgeAnswer),
    Bad(String),
    Not(&'static str),
}

/// Opens the lock that lets one judge run at a time.
fn open_lock(world: &World<'_>, store: &Store) -> io::Result<File> {
    world.disk.make_dirs(&store.dir)?;
    disk::append_regular(&store.dir.join("judge.lock"))
}

fn asked(world: &World<'_>, input: &Input) -> io::Result<JudgeAttempt> {
    let policy = &world.config.settings.govern.gates.permission;
    let (Event::PermissionAsked { call }, Some((program, args)), Some(user)) =
        (&input.event, policy.judge.split_first(), &world.places.user)
    else {
        return Ok(JudgeAttempt::Not("no judge is configured"));
    };
    let Some(question) = question(input, call) else {
        return Ok(JudgeAttempt::Not("the call is too long"));
    };
    let store = world.store();
    if !projections::load::<Reliability>(&store)?.state.may_be_asked(input.at) {
        return Ok(JudgeAttempt::Not("the judge failed too often and is paused"));
    }
    let lock = if world.disk.is_read_only() { None } else { Some(open_lock(world, &store)?) };
    if lock.as_ref().is_some_and(|lock| lock.try_lock().is_err()) {
        return Ok(JudgeAttempt::Not("the judge is busy"));
    }
    let seconds = policy.judge_seconds.min(LONGEST_SECONDS);
    let ran = run(world, user, &OpinionProgram { program, args, seconds, cap: ANSWER }, &question)?;
    Ok(match ran.ending {
        ProcessEnd::TimedOut => JudgeAttempt::Bad(format!("no answer within {} s", policy.judge_seconds)),
        ProcessEnd::Signal => JudgeAttempt::Bad("the judge was killed".to_owned()),
        ProcessEnd::Code(0) => match JudgeAnswer::parse(&ran.stdout) {
            Ok(answer) => JudgeAttempt::Answer(answer),
            Err(why) => JudgeAttempt::Bad(format!("the answer is malformed: {why}")),
        },
        ProcessEnd::Code(code) => JudgeAttempt::Bad(format!("the judge ended with exit code {code}")),
    })
}
