//! The law of the stale gate: in any order of reads and writes, no session overwrites content that it has not
//! read. If a session is killed, the others do not wait long for it.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::{Value, json};

use sprag_base::ids::SessionId;
use sprag_base::time::Timestamp;
use sprag_govern::event::{Event, Input, PromptAuthor};
use sprag_govern::verdict::Ruling;
use sprag_host::clients::claude::TOOLS;
use sprag_host::pipeline::{self, PipelineMode};
use sprag_host::sys::disk::{Disk, RealDisk};
use sprag_host::sys::env::Env;
use sprag_host::sys::locations::Locations;
use sprag_host::world::World;
use sprag_policy::call::{InputCompleteness, ToolCall, ToolOutcome};

use crate::store::killed::{Dying, Torn};
use crate::support::Sandbox;

/// The next step of one session. Other sessions may act between two steps.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The next part of a read: request, read, end.
    Read,
    /// The next part of a write: request, write, end.
    Write(How),
    /// The session is killed at any point and continues with something else.
    Killed,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Whole,
    ByShell,
    Edit,
    Append,
}

#[derive(Default)]
struct Agent {
    doing: Doing,
    /// All contents of the file that the session has read or written.
    knows: BTreeSet<String>,
}

#[derive(Default)]
enum Doing {
    #[default]
    Nothing,
    Reading {
        call: ToolCall,
        text: Option<String>,
    },
    Writing {
        call: ToolCall,
        how: How,
        is_done: bool,
    },
}

struct Play {
    sandbox: Sandbox,
    env: Env,
    now: Timestamp,
    calls: usize,
    agents: Vec<Agent>,
    let_through: usize,
}

impl Play {
    fn new(agents: usize) -> Play {
        Play::in_sandbox(agents, Sandbox::new())
    }

    fn with_intents(agents: usize) -> Play {
        let sandbox = Sandbox::new();
        sandbox.write(".orchestration/active_intents.yaml", "active_intents: []\n");
        sandbox.write("a", "line of nobody\n");
        Play::in_sandbox(agents, sandbox)
    }

    fn in_sandbox(agents: usize, sandbox: Sandbox) -> Play {
        let vars =
            [("HOME", sandbox.home.clone().into_os_string()), ("SPRAG_INTENT__REQUIRED", "never".into())];
        let env = Env::Given(vars.map(|(name, value)| (name.to_owned(), value)).into());
        let mut play = Play {
            sandbox,
            env,
            now: sprag_host::sys::env::now(),
            calls: 0,
            agents: (0..agents).map(|_| Agent::default()).collect(),
            let_through: 0,
        };
        for who in 0..agents {
            play.event(who, Event::Prompted { text: "go on".to_owned(), author: PromptAuthor::User });
        }
        play
    }

    fn path(&self) -> PathBuf {
        self.sandbox.project.join("a")
    }

    fn text(&self) -> Option<String> {
        fs::read_to_string(self.path()).ok()
    }

    fn event(&mut self, who: usize, event: Event) -> Ruling {
        self.on(&RealDisk, who, event)
    }

    fn on(&mut self, disk: &dyn Disk, who: usize, event: Event) -> Ruling {
        self.now = Timestamp::from_millis(self.now.millis() + 1);
        let places = Locations::find(&self.sandbox.project, &self.env).unwrap();
        let world = World::new(&self.env, disk, places);
        let input = Input::new(self.now, SessionId::new(format!("s-{who}")), event);
        let input = input.within(&self.sandbox.project.display().to_string());
        pipeline::process_event(&world, &input, PipelineMode::Real)
            .require_written()
            .map(|walked| walked.verdict.ruling)
            .unwrap_or_default()
    }

    fn call(&mut self, tool: &str, input: Value) -> ToolCall {
        self.calls += 1;
        ToolCall::new(TOOLS, tool, input, Some(&format!("call-{}", self.calls)), InputCompleteness::Yes)
    }

    fn write_call(&mut self, how: How) -> ToolCall {
        let path = self.path();
        let text = format!("line {}", self.calls);
        match how {
            How::Whole => self.call("Write", json!({"file_path": path, "content": format!("{text}\n")})),
            How::ByShell => self.call("Bash", json!({"command": format!("echo {text} > a")})),
            How::Append => self.call("Bash", json!({"command": format!("echo {text} >> a")})),
            How::Edit => {
                let old = self.text().unwrap_or_default();
                self.call(
                    "Edit",
                    json!({"file_path": path, "old_string": old, "new_string": format!("{text}\n")}),
                )
            }
        }
    }

    fn step(&mut self, who: usize, step: Step) -> Result<(), TestCaseError> {
        let doing = std::mem::take(&mut self.agents[who].doing);
        self.agents[who].doing = match (doing, step) {
            (_, Step::Killed) => Doing::Nothing,
            (Doing::Reading { call, text: None }, _) => {
                Doing::Reading { call, text: Some(self.text().unwrap_or_default()) }
            }
            (Doing::Reading { call, text: Some(text) }, _) => {
                self.agents[who].knows.insert(text);
                self.event(who, Event::ToolFinished { call, outcome: ToolOutcome::Ok });
                Doing::Nothing
            }
            (Doing::Writing { call, how, is_done: false }, _) => {
                self.write(who, &call, how)?;
                Doing::Writing { call, how, is_done: true }
            }
            (Doing::Writing { call, is_done: true, .. }, _) => {
                self.event(who, Event::ToolFinished { call, outcome: ToolOutcome::Ok });
                Doing::Nothing
            }
            (Doing::Nothing, Step::Read) => {
                let call = self.call("Read", json!({"file_path": self.path()}));
                self.event(who, Event::ToolRequested { call: call.clone() });
                Doing::Reading { call, text: None }
            }
            (Doing::Nothing, Step::Write(how)) => {
                let call = self.write_call(how);
                match self.event(who, Event::ToolRequested { call: call.clone() }) {
                    Ruling::Hold { .. } => Doing::Nothing,
                    _ => Doing::Writing { call, how, is_done: false },
                }
            }
        };
        Ok(())
    }

    /// Performs the write that the gate allowed.
    fn write(&mut self, who: usize, call: &ToolCall, how: How) -> Result<(), TestCaseError> {
        let before = self.text();
        let knows = before.as_ref().is_none_or(|text| self.agents[who].knows.contains(text));
        let new = |name: &str| call.input[name].as_str().unwrap_or_default().to_owned();
        let line = || {
            call.command
                .clone()
                .unwrap_or_default()
                .split(['>'])
                .next()
                .unwrap()
                .replacen("echo ", "", 1)
                .trim()
                .to_owned()
                + "\n"
        };
        let after = match how {
            How::Whole => Some(new("content")),
            How::ByShell => Some(line()),
            How::Append => Some(before.clone().unwrap_or_default() + &line()),
            // The tool replaces the old text, or changes nothing.
            How::Edit => {
                before.as_ref().filter(|text| **text == new("old_string")).map(|_| new("new_string"))
            }
        };
        if matches!(how, How::Whole | How::ByShell) {
            prop_assert!(knows, "session {who} destroys {before:?} by {how:?} and never saw it");
        }
        self.let_through += 1;
        if let Some(after) = after {
            fs::write(self.path(), &after).unwrap();
            if knows || how == How::Edit {
                self.agents[who].knows.insert(after);
            }
        }
        Ok(())
    }
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let step = prop_oneof![
        4 => Just(Step::Read),
        3 => Just(Step::Write(How::Whole)),
        2 => Just(Step::Write(How::ByShell)),
        1 => Just(Step::Write(How::Edit)),
        1 => Just(Step::Write(How::Append)),
        1 => Just(Step::Killed),
    ];
    prop::collection::vec((0..3usize, step), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn nobody_destroys_what_it_has_not_seen(steps in steps(), has_intents in any::<bool>()) {
        let mut play = if has_intents { Play::with_intents(3) } else { Play::new(3) };
        for (who, step) in steps {
            play.step(who, step)?;
        }
    }
}

/// The law is not vacuous: the gate allows some writes and refuses others.
#[test]
fn sessions_that_read_first_get_to_write() {
    let mut play = Play::with_intents(2);
    for round in 0..4 {
        let who = round % 2;
        for step in [Step::Read, Step::Read, Step::Read, Step::Write(How::Whole), Step::Read, Step::Read] {
            play.step(who, step).unwrap();
        }
    }
    assert_eq!(play.let_through, 4);
    play.step(0, Step::Write(How::Whole)).unwrap();
    assert!(matches!(play.agents[0].doing, Doing::Nothing), "it has not seen what the other wrote");
}

/// The writer is killed at every single write, before and after it got its answer.
#[test]
fn whenever_a_writer_is_killed_nobody_waits_for_it_for_long() {
    let mut count = 0;
    for torn in [Torn::Nothing, Torn::Half, Torn::All] {
        for at in 0.. {
            let mut play = Play::with_intents(2);
            let read = play.call("Read", json!({"file_path": play.path()}));
            for who in 0..2 {
                play.event(who, Event::ToolRequested { call: read.clone() });
                play.event(who, Event::ToolFinished { call: read.clone(), outcome: ToolOutcome::Ok });
            }
            let call = play.write_call(How::Whole);
            let dying = Dying::at(at, torn);
            play.on(&dying, 0, Event::ToolRequested { call: call.clone() });
            let mut is_over = dying.left() > 0;
            if is_over {
                // The session wrote the file, and is killed while it reports the end.
                fs::write(play.path(), "line 1\n").unwrap();
                play.on(&dying, 0, Event::ToolFinished { call, outcome: ToolOutcome::Ok });
                is_over = dying.left() > 0;
            }
            play.now = play.now.plus_seconds(10);
            let again = play.call("Read", json!({"file_path": play.path()}));
            play.event(1, Event::ToolRequested { call: again.clone() });
            play.event(1, Event::ToolFinished { call: again, outcome: ToolOutcome::Ok });
            let call = play.write_call(How::Whole);
            let ruling = play.event(1, Event::ToolRequested { call });
            assert_eq!(ruling, Ruling::Pass, "after it was killed at {at} with {torn:?}");
            count += 1;
            if is_over {
                break;
            }
        }
    }
    assert!(count > 20, "{count} deaths");
}

#[test]
fn a_claim_of_the_dead_is_waited_for_and_then_not() {
    let mut play = Play::new(2);
    let call = play.write_call(How::Whole);
    assert_eq!(play.event(0, Event::ToolRequested { call }), Ruling::Pass);
    let call = play.write_call(How::Whole);
    let Ruling::Hold { reason, .. } = play.event(1, Event::ToolRequested { call: call.clone() }) else {
        panic!("it is claimed");
    };
    assert_eq!(reason.code.as_str(), "write_in_progress");
    play.now = play.now.plus_seconds(10);
    assert_eq!(play.event(1, Event::ToolRequested { call }), Ruling::Pass);
}
