//! Tests of the whole program: stories, whole-program outputs, bad input, crashes.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on fails, and it starts programs by trade"
)]

mod attacks;
mod cli;
mod gates;
mod govern;
mod hook;
mod intents;
mod memory;
mod plan;
mod policy;
mod records;
mod run;
mod store;
mod stories;
mod support;
mod trace;
