//! The memory on disk: an index over the log and over files that other clones share, made from them and
//! thrown away at any time. Reading takes no lock and parses nothing but what came since; keeping it up
//! to date happens after everybody has their answer.

pub mod ask;
pub mod library;
pub mod loading;
pub mod maintain;
pub mod manifest;
pub mod mapped;
pub mod pools;
mod reading;
pub mod sources;
#[cfg(test)]
mod tests;

pub use ask::{Answer, Memory, Owner};
pub use library::{Library, Reach, Shown};
