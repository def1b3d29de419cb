//! Finding what was remembered: analysis of text, vectors, segments over bytes, ranking, near-duplicates.
//! Nothing here reads a file or a clock; the host maps files and hands their bytes in.

pub mod bits;
pub mod breadth;
pub mod build;
pub mod bytes;
pub mod columns;
pub mod dedup;
pub mod fuse;
pub mod measure;
pub mod merge;
pub mod pieces;
pub mod query;
pub mod segment;
pub mod select;
pub mod table;
pub mod tokens;
pub mod vectors;
mod words;

mod assembly;
mod dictionary;
mod mix;
mod numbers;
mod postings;
#[cfg(test)]
mod tests;
