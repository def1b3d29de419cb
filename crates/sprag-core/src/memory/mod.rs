//! What is remembered, and under which rules.

pub mod learning;
pub mod redact;
