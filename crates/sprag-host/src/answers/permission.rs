//! Asks the judge of the user about a tool call.

use std::io;
use std::time::Instant;

use sprag_base::text::{Text, one_line};
use sprag_govern::event::{Event, Input};
use sprag_govern::judge::{Answer, Judgement, Reliability, question};

use crate::purpose::program::{Command, millis, run};
use crate::store::projections;
use crate::sys::disk;
use crate::sys::exec::Ending;
use crate::world::World;

/// Bytes of an answer; a longer one is none.
const ANSWER: usize = 16 * 1024;

const LONGEST_SECONDS: u32 = 25;

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
