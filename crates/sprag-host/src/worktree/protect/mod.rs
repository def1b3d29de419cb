//! Protected files: their list, snapshot and restoration.

mod guarded;
mod intent_files;
pub mod list;
mod members;
pub mod snapshot;
