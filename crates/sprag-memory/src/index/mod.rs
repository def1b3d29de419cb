//! Finding what was remembered: analysis of text, vectors, segments over bytes, ranking, near-duplicates.
//! Nothing here reads a file or a clock; the host maps files and hands their bytes in.

pub mod analysis;
pub mod dedup;
pub mod measure;
pub mod query;
pub mod segment;

#[cfg(test)]
mod tests;
