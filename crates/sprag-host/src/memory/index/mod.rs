//! The memory on disk: an index over the log and over files that other clones share, made from them and
//! thrown away at any time. Reading takes no lock and parses nothing but what came since; keeping it up
//! to date happens after everybody has their answer.

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
