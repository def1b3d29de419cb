//! Follows a run for a live screen; reads each record once.

use std::collections::{BTreeMap, VecDeque};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use sprag_base::time::Timestamp;
use sprag_plan::agent::activity::AgentActivity;
use sprag_plan::ids::EffectKey;
use sprag_plan::run::timed::Timed;
use sprag_plan::sentences;
use sprag_plan::view::RunBoard;

use crate::run_log;
use crate::session_dir::site_of;

/// Maximum number of recent events.
const TOLD: usize = 100;

pub struct Follow {
    run: PathBuf,
    log: PathBuf,
    /// The inode of the log, and the position of the next read.
    read: (u64, u64),
    timed: Option<Timed>,
    /// The activity of ended agents, which does not change any more.
    past: BTreeMap<EffectKey, Option<AgentActivity>>,
    told: VecDeque<String>,
}

impl Follow {
    pub fn new(run: &Path, log: &Path) -> Follow {
        Follow {
            run: run.to_path_buf(),
            log: log.to_path_buf(),
            read: (0, 0),
            timed: None,
            past: BTreeMap::new(),
            told: VecDeque::new(),
        }
    }

    /// Reads the new records.
    pub fn read(&mut self) -> io::Result<()> {
        let file = match fs::metadata(&self.log) {
            Ok(about) => (about.ino(), about.len()),
            // A finished run is archived when the next one begins.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if (self.read.0 != file.0 && self.read.0 != 0) || file.1 < self.read.1 {
            *self = Follow::new(&self.run, &self.log);
        }
        let (timed, told) = (&mut self.timed, &mut self.told);
        let end = run_log::each(&self.log, self.read.1, |record, at| {
            if timed.is_none() {
                *timed = Timed::begin(&record, at);
                return;
            }
            let Some(timed) = timed else { return };
            let (stage, text) = sentences::record(timed.run(), &record);
            let whose = stage.map(|id| format!("{}: ", id.as_str())).unwrap_or_default();
            if told.len() == TOLD {
                told.pop_front();
            }
            told.push_back(format!("{} {whose}{text}", &at.to_string()[11..19]));
            timed.apply(&record, at);
        })?;
        self.read = (file.0, end);
        Ok(())
    }

    /// Returns the board; `None` if no run was begun yet.
    pub fn board(&mut self, now: Timestamp) -> Option<RunBoard> {
        let (past, run) = (&mut self.past, &self.run);
        let seen =
            |key: &EffectKey| past.entry(key.clone()).or_insert_with(|| site_of(run, key).seen()).clone();
        Some(RunBoard::from_run(self.timed.as_ref()?, seen, now))
    }

    /// Returns the recent events, oldest first.
    pub fn recent_events(&self) -> impl Iterator<Item = &str> {
        self.told.iter().map(String::as_str)
    }
}
