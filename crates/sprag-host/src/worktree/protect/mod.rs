//! Protected files: their list, their snapshot, their restoration.

mod intent_files;
pub mod list;
pub(crate) mod snapshot;
