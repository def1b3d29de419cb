//! Protected files: their list, snapshot and restoration.

mod intent_files;
pub mod list;
pub(crate) mod snapshot;
