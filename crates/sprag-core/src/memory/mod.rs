//! What is remembered, and under which rules.

pub mod redact;
