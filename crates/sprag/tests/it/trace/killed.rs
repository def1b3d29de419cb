//! Kills at every write of trace records: no acknowledged record is lost, a record that is written twice
//! around a death counts once, and the chain stays valid.

use std::fs;

use serde_json::json;

use sprag_base::ids::SessionId;
use sprag_base::result::Discard as _;
use sprag_govern::event::{Event, Input, Presence, StartSource, StopRequest};
use sprag_host::pipeline::{self, PipelineMode};
use sprag_host::sys::disk::{Disk, RealDisk};
use sprag_host::sys::env::Env;
use sprag_host::sys::locations::Locations;
use sprag_host::trace::records::{self, CurrentRecords};
use sprag_host::trace::verify;
use sprag_host::world::World;
use sprag_policy::call::{InputCompleteness, ToolCall, ToolEffect, ToolOutcome, ToolRow};

use crate::store::killed::{Dying, Torn};
use crate::support::Sandbox;

const TOOLS: &[ToolRow] = &[
    ToolRow { name: "Bash", effect: ToolEffect::Exec, paths: &[], command: Some("command") },
    ToolRow { name: "Write", effect: ToolEffect::Write, paths: &["file_path"], command: None },
];

struct Run {
    sandbox: Sandbox,
    env: Env,
}

impl Run {
    fn new() -> Run {
        let sandbox = Sandbox::new();
        fs::create_dir_all(sandbox.project.join(".sprag")).unwrap();
        sandbox.write("a.txt", "one\n");
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-qm", "first"]);
        let env = Env::Given([("SPRAG_HOME".to_owned(), sandbox.home.clone().into())].into());
        Run { sandbox, env }
    }

    fn world<'a>(&'a self, disk: &'a dyn Disk) -> World<'a> {
        World::new(&self.env, disk, Locations::find(&self.sandbox.project, &self.env).unwrap())
    }

    /// Plays an event, and repeats it if the process was killed.
    fn play(&self, disk: &Dying, event: &Event) {
        let disks: [&dyn Disk; 2] = [disk, &RealDisk];
        for disk in disks {
            let world = self.world(disk);
            let input = Input::new(sprag_host::sys::env::now(), SessionId::new("s"), event.clone());
            let input = input.within(&self.sandbox.project.display().to_string());
            let input = Input { presence: Presence::Headless, ..input };
            if let Ok(walked) = pipeline::process_event(&world, &input, PipelineMode::Real).require_written()
            {
                sprag_host::upkeep::after_reply::run_chores(&world, &input, &walked)
                    .discard("a kill among the chores is the point of the test");
                return;
            }
        }
        panic!("after a kill the same event goes through");
    }

    fn call(&self, disk: &Dying, tool: &str, input: serde_json::Value, act: impl FnOnce()) {
        let call = ToolCall::new(TOOLS, tool, input, Some("c"), InputCompleteness::Yes);
        self.play(disk, &Event::ToolRequested { call: call.clone() });
        act();
        self.play(disk, &Event::ToolFinished { call, outcome: ToolOutcome::Ok });
    }

    fn play_all(&self, disk: &Dying) {
        let file = self.sandbox.project.join("a.txt");
        self.play(disk, &Event::SessionStarted { source: StartSource::Startup });
        let write = |text: &str| self.sandbox.write("a.txt", text);
        let input = |text: &str| json!({"file_path": file, "content": text});
        self.call(disk, "Write", input("one\ntwo\n"), || drop(write("one\ntwo\n")));
        self.play(disk, &Event::StopRequested(StopRequest::default()));
        self.call(disk, "Bash", json!({"command": "git commit -qam second"}), || {
            self.sandbox.git(&["commit", "-qam", "second"]);
        });
    }

    /// Returns the kind and the line ranges of each current record.
    fn standing(&self) -> Vec<String> {
        let world = self.world(&RealDisk);
        let report = verify::verify(&world, || {}).unwrap();
        assert_eq!(report.problems, []);
        let all = records::all(&world).unwrap();
        let standing = CurrentRecords::from_records(&all);
        let told = all.iter().filter(|found| standing.is_any(found)).map(|found| {
            let ranges = found.trace.files.iter().flat_map(|file| &file.ranges);
            let ranges: Vec<String> = ranges.map(|range| format!("{}-{}", range.start, range.end)).collect();
            format!("{} {}", found.record.kind, ranges.join(" "))
        });
        told.collect()
    }
}

#[test]
fn killed_at_every_write_the_same_records_stand() {
    let whole = Run::new();
    let disk = Dying::at(usize::MAX, Torn::Nothing);
    whole.play_all(&disk);
    let operations = usize::MAX - disk.left();
    assert_eq!(whole.standing(), ["trace.final 2-2"]);
    assert!(operations > 20, "{operations}");
    for at in 0..operations {
        let torn = [Torn::Half, Torn::All][at % 2];
        let run = Run::new();
        run.play_all(&Dying::at(at, torn));
        assert_eq!(run.standing(), ["trace.final 2-2"], "killed at operation {at}, {torn:?}");
    }
}
