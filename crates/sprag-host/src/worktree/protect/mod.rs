mod intent_files;
pub mod list;
pub(crate) mod snapshot;
