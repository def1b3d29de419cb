//! The search index: text analysis, vectors, segments, ranking and duplicates. The module reads no file and
//! no clock; the host maps files and passes their bytes.

pub mod analysis;
pub mod dedup;
pub mod measure;
pub mod query;
pub mod segment;

#[cfg(test)]
mod tests;
