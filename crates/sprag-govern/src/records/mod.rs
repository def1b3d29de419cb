//! The records of this crate, by type: debts, gates and the events of a session's journal.

pub mod debt;
