//! Gives access to the session of one event, from reading its state to writing it.

use std::io;
use std::time::Duration;

use sprag_base::record::{REPORTER, Record};
use sprag_govern::event::Input;
use sprag_govern::session::Session;

use crate::pipeline::PipelineMode;
use crate::store::journal::{self, Journal, JournalState};
use crate::store::{LOCK_WAIT, Store};
use crate::world::World;

/// Time that a report waits for other processes of its session.
const REPORT_WAIT: Duration = Duration::from_secs(30);

/// The journal of the session and the state that it holds.
pub(crate) struct SessionHandle<'a> {
    world: &'a World<'a>,
    input: &'a Input,
    pub(crate) store: Store,
    access: JournalAccess,
}

enum JournalAccess {
    Open(Journal),
    /// Other processes may write while Sprag finds slow facts.
    Released(JournalState),
    /// Nothing is written.
    DryRun(JournalState),
    /// Nothing can be written.
    Unwritable(JournalState, io::Error),
}

impl<'a> SessionHandle<'a> {
    pub(crate) fn open(world: &'a World<'a>, input: &'a Input, mode: PipelineMode) -> SessionHandle<'a> {
        let store = world.store_of(input);
        let access = match mode {
            PipelineMode::Real => open_journal(world, &store, input),
            PipelineMode::DryRun => JournalAccess::DryRun(read_journal(&store, input)),
        };
        SessionHandle { world, input, store, access }
    }

    /// Lets other processes use the journal. The state stays as Sprag read it.
    pub(crate) fn release(&mut self) {
        if let JournalAccess::Open(journal) = &mut self.access {
            let released = JournalAccess::Released(std::mem::take(&mut journal.loaded));
            if let JournalAccess::Open(journal) = std::mem::replace(&mut self.access, released)
                && let Err(error) = journal.unlock()
            {
                self.fail(error);
            }
        }
    }

    /// Gives up the journal: Sprag writes nothing for this event.
    pub(crate) fn fail(&mut self, error: io::Error) {
        let state = match &mut self.access {
            JournalAccess::Open(journal) => &mut journal.loaded,
            JournalAccess::Released(state)
            | JournalAccess::DryRun(state)
            | JournalAccess::Unwritable(state, _) => state,
        };
        self.access = JournalAccess::Unwritable(std::mem::take(state), error);
    }

    /// Locks the journal again and reads the state that other processes left.
    pub(crate) fn reclaim(&mut self) {
        if matches!(self.access, JournalAccess::Released(_)) {
            self.access = open_journal(self.world, &self.store, self.input);
        }
    }

    pub(crate) fn state(&self) -> &JournalState {
        match &self.access {
            JournalAccess::Open(journal) => &journal.loaded,
            JournalAccess::Released(state)
            | JournalAccess::DryRun(state)
            | JournalAccess::Unwritable(state, _) => state,
        }
    }

    pub(crate) fn session(&self) -> &Session {
        &self.state().session
    }

    /// Reports whether no other process can change the state before it is written. True in a dry run.
    pub(crate) fn is_locked(&self) -> bool {
        match &self.access {
            JournalAccess::Open(journal) => journal.is_locked(),
            JournalAccess::DryRun(_) => true,
            JournalAccess::Released(_) | JournalAccess::Unwritable(..) => false,
        }
    }

    /// Reports whether another process keeps the journal locked.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(&self.access, JournalAccess::Open(journal) if !journal.is_locked())
    }

    /// Reports whether the next event will find this state.
    pub(crate) fn keeps_state(&self) -> bool {
        self.is_locked() && !self.state().is_newer
    }

    /// Reports whether the journal has a record of this id.
    pub(crate) fn holds_id(&self, id: &str) -> io::Result<bool> {
        match &self.access {
            JournalAccess::Open(journal) => journal.holds_id(id),
            JournalAccess::Released(_) | JournalAccess::DryRun(_) | JournalAccess::Unwritable(..) => {
                let read = journal::read(&journal::path(&self.store, &self.input.session));
                Ok(read.is_ok_and(|(_, records)| records.iter().any(|record| record.id == id)))
            }
        }
    }

    /// Reads the records of the journal, even where its state cannot be kept.
    pub(crate) fn records(&self) -> io::Result<Vec<Record>> {
        let (_, records) = journal::read(&journal::path(&self.store, &self.input.session))?;
        Ok(records)
    }

    /// Appends records and the state after them. Does nothing in a dry run.
    pub(crate) fn append(&mut self, records: Vec<Record>, after: &Session) -> io::Result<()> {
        match &mut self.access {
            JournalAccess::Open(journal) => journal.commit(self.world.disk, records, after),
            JournalAccess::DryRun(_) => Ok(()),
            JournalAccess::Released(_) => Err(io::ErrorKind::WouldBlock.into()),
            JournalAccess::Unwritable(_, error) => Err(io::Error::new(error.kind(), error.to_string())),
        }
    }

    /// Unlocks the journal and syncs it to disk.
    pub(crate) fn sync(self) -> io::Result<()> {
        match self.access {
            JournalAccess::Open(journal) => journal.unlock_and_sync(self.world.disk),
            _ => Ok(()),
        }
    }

    /// Unlocks the journal.
    pub(crate) fn close(self) -> io::Result<()> {
        match self.access {
            JournalAccess::Open(journal) => journal.unlock(),
            _ => Ok(()),
        }
    }
}

fn open_journal(world: &World<'_>, store: &Store, input: &Input) -> JournalAccess {
    // A command can wait longer than a hook, and its report must not be lost.
    let wait = if input.client == REPORTER { REPORT_WAIT } else { LOCK_WAIT };
    match Journal::open(store, world.disk, &input.session, wait) {
        Ok(journal) => JournalAccess::Open(journal),
        Err(error) => JournalAccess::Unwritable(read_journal(store, input), error),
    }
}

fn read_journal(store: &Store, input: &Input) -> JournalState {
    journal::read(&journal::path(store, &input.session)).map(|(loaded, _)| loaded).unwrap_or_default()
}
