//! Stops the program at every single write, sync, rename and removal of the store, as `kill -9` or a full
//! disk would, and continues from there. The final views must equal those of an undisturbed run. Every
//! acknowledged record must exist exactly once.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::Path;

use serde_json::json;

use sprag_base::ids::SessionId;
use sprag_base::record::Record;
use sprag_base::result::Discard as _;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_govern::event::{Event, Input, Presence, StartSource, StopRequest};
use sprag_govern::history::SessionList;
use sprag_govern::obligation::Debts;
use sprag_govern::report::Report;
use sprag_host::pipeline::{self, PipelineMode};
use sprag_host::store::{Store, journal, projections};
use sprag_host::sys::disk::{Disk, RealDisk};
use sprag_host::sys::env::Env;
use sprag_host::sys::locations::Locations;
use sprag_host::world::World;
use sprag_policy::call::{InputCompleteness, ToolCall, ToolEffect, ToolRow};

use crate::support::{CONFLICT, Sandbox};

/// A disk that fails at its n-th operation, in the middle of a write if it is one.
pub(crate) struct Dying {
    left: Cell<usize>,
    torn: Torn,
    is_dead: Cell<bool>,
}

/// The part of the last write that reached the disk.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Torn {
    Nothing,
    Half,
    All,
}

impl Dying {
    pub(crate) fn at(left: usize, torn: Torn) -> Dying {
        Dying { left: Cell::new(left), torn, is_dead: Cell::new(false) }
    }

    /// Returns the number of remaining operations.
    pub(crate) fn left(&self) -> usize {
        self.left.get()
    }

    /// Reports whether this operation still happens.
    fn lives(&self) -> bool {
        if self.is_dead.get() {
            return false;
        }
        if self.left.get() == 0 {
            self.is_dead.set(true);
            return false;
        }
        self.left.set(self.left.get() - 1);
        true
    }

    fn or_dead(&self, act: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        if self.lives() { act() } else { Err(io::Error::other("killed")) }
    }
}

impl Disk for Dying {
    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<()> {
        let was_dead = self.is_dead.get();
        if self.lives() {
            return RealDisk.append(file, bytes);
        }
        if !was_dead {
            let through = match self.torn {
                Torn::Nothing => 0,
                Torn::Half => bytes.len() / 2,
                Torn::All => bytes.len(),
            };
            RealDisk.append(file, &bytes[..through])?;
        }
        Err(io::Error::other("killed"))
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.or_dead(|| RealDisk.sync(file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.or_dead(|| RealDisk.rename(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.or_dead(|| RealDisk.remove(path))
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.or_dead(|| RealDisk.remove_dir(path))
    }

    fn make_dirs(&self, path: &Path) -> io::Result<()> {
        self.or_dead(|| RealDisk.make_dirs(path))
    }
}

const TOOLS: &[ToolRow] =
    &[ToolRow { name: "Bash", effect: ToolEffect::Exec, paths: &[], command: Some("command") }];

/// Returns the script of two sessions. One leaves a debt, is moved into the log and ends; the other gets the
/// message about the debt.
fn script() -> Vec<(&'static str, Event)> {
    let call = ToolCall::new(TOOLS, "Bash", json!({"command": "make"}), None, InputCompleteness::Yes);
    let stop = || Event::StopRequested(StopRequest::default());
    vec![
        ("s-1", Event::SessionStarted { source: StartSource::Startup }),
        ("s-1", Event::ToolRequested { call: call.clone() }),
        ("s-1", Event::Reported(Report::Observed { note: Text::from("a note") })),
        ("s-1", stop()),
        ("s-1", stop()),
        ("s-1", stop()),
        ("s-1", stop()),
        ("s-1", Event::SessionEnded { why: Text::from("other") }),
        ("s-2", Event::SessionStarted { source: StartSource::Startup }),
        ("s-2", Event::ToolRequested { call }),
        ("s-2", Event::SessionEnded { why: Text::from("other") }),
    ]
}

fn input(sandbox: &Sandbox, session: &str, event: Event) -> Input {
    let input = Input::new(sprag_host::sys::env::now(), SessionId::new(session), event);
    Input { presence: Presence::Headless, ..input.within(&sandbox.project.display().to_string()) }
}

/// The final views of the store.
#[derive(Debug, PartialEq)]
struct Views {
    debts: Vec<(String, bool)>,
    sessions: BTreeSet<(String, bool)>,
    released: usize,
    kinds: BTreeSet<String>,
}

struct Run {
    sandbox: Sandbox,
    env: Env,
    acknowledged: usize,
}

impl Run {
    fn new() -> Run {
        let sandbox = Sandbox::new();
        let env = Env::Given([("SPRAG_HOME".to_owned(), sandbox.home.clone().into())].into());
        Run { sandbox, env, acknowledged: 0 }
    }

    fn world<'a>(&'a self, disk: &'a dyn Disk) -> World<'a> {
        World::new(&self.env, disk, Locations::find(&self.sandbox.project, &self.env).unwrap())
    }

    /// Plays one event; returns false if the process died during it.
    fn play(&self, disk: &dyn Disk, session: &str, event: &Event) -> bool {
        let world = self.world(disk);
        let input = input(&self.sandbox, session, event.clone());
        let Ok(walked) = pipeline::process_event(&world, &input, PipelineMode::Real).require_written() else {
            return false;
        };
        if matches!(event, Event::ToolRequested { .. }) && session == "s-1" {
            self.sandbox.write("a.txt", CONFLICT);
        }
        sprag_host::upkeep::after_reply::run_chores(&world, &input, &walked)
            .discard("a kill among the chores is the point of the test");
        true
    }

    /// Plays the script with one death, and repeats the event that was killed.
    fn play_all(&mut self, disk: &Dying) {
        for (session, event) in script() {
            if disk.is_dead.get() {
                assert!(self.play(&RealDisk, session, &event));
            } else if !self.play(disk, session, &event) {
                assert!(self.play(&RealDisk, session, &event), "after a kill the same event goes through");
            }
            self.acknowledged += 1;
        }
        // A hold that was written but never delivered counts, so one further stop may be needed.
        for _ in 0..2 {
            assert!(self.play(&RealDisk, "s-3", &Event::SessionEnded { why: Text::from("other") }));
        }
        let store = self.store();
        for path in journal::all(&store) {
            let id = SessionId::new(path.file_stem().unwrap().to_string_lossy());
            let open = journal::Journal::open(&store, &RealDisk, &id, std::time::Duration::ZERO).unwrap();
            open.move_to_log(&store, &RealDisk, &id, Timestamp::from_millis(0)).unwrap();
        }
    }

    fn store(&self) -> Store {
        Store::at(self.sandbox.store())
    }

    fn views(&self) -> Views {
        let store = self.store();
        let debts = projections::load::<Debts>(&store).unwrap().state;
        let fresh = {
            std::fs::remove_dir_all(store.cache_dir())
                .discard("the cache exists once somebody stored a fold");
            projections::load::<Debts>(&store).unwrap().state
        };
        assert_eq!(debts, fresh, "a stored fold is the fold");
        let sessions: SessionList = projections::load_all(&store).unwrap();
        let (loaded, _) = journal::read(&journal::path(&store, &SessionId::new("s-1"))).unwrap();
        let records = self.records();
        Views {
            debts: debts.open().iter().map(|open| (open.debt.why.to_string(), open.shown)).collect(),
            sessions: sessions
                .rows()
                .into_iter()
                .map(|row| (row.id.as_str().to_owned(), row.ended))
                .collect(),
            released: loaded.session.stops.released.len(),
            kinds: records.into_iter().map(|record| record.kind).collect(),
        }
    }

    fn records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        for path in self.store().log_files() {
            projections::each_line(&path, 0, |line| records.extend(Record::parse(line))).unwrap();
        }
        records
    }
}

#[test]
fn killed_at_every_write_the_views_are_the_same() {
    let mut whole = Run::new();
    let disk = Dying::at(usize::MAX, Torn::Nothing);
    whole.play_all(&disk);
    let operations = usize::MAX - disk.left.get();
    let wanted = whole.views();
    assert_eq!(wanted.debts, [("conflict markers in `a.txt:2`".to_owned(), true)]);
    assert_eq!(wanted.released, 1);
    assert!(operations > 20, "{operations}");
    for at in 0..operations {
        for torn in [Torn::Nothing, Torn::Half, Torn::All] {
            let mut run = Run::new();
            run.play_all(&Dying::at(at, torn));
            assert_eq!(run.views(), wanted, "killed at operation {at}, {torn:?}");
            let records = run.records();
            let ids: BTreeSet<&String> = records.iter().map(|record| &record.id).collect();
            assert_eq!(ids.len(), records.len(), "none is there twice: operation {at}, {torn:?}");
            let events = records
                .iter()
                .filter(|record| {
                    record.body.get("verdict").is_some() && record.session != Some(SessionId::new("s-3"))
                })
                .count();
            assert!(events >= run.acknowledged, "{events} of {}: operation {at}, {torn:?}", run.acknowledged);
            assert!(
                events <= run.acknowledged + 1,
                "{events} of {}: operation {at}, {torn:?}",
                run.acknowledged
            );
        }
    }
}
