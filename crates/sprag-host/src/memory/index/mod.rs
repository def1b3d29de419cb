//! The index of the memory: built from the log and from shared files of other clones, and rebuilt at any
//! time. Reading takes no lock and parses only new records. Maintenance happens after all replies.

mod ingest;
pub mod load;
pub mod maintain;
pub mod manifest;
pub mod pools;
pub mod query;
pub mod reader;
pub mod sources;
#[cfg(test)]
mod tests;

pub use query::{LearningOwner, Memory, MemoryHit};
pub use reader::{DocumentFilter, IndexReader, TailRead};
