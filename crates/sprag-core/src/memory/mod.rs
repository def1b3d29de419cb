//! What is remembered, and under which rules.

pub mod document;
pub mod fold;
pub mod kinds;
pub mod learning;
pub mod redact;
pub mod usage;
