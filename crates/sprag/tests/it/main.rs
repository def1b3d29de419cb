//! Tests of the whole program: stories, whole-program outputs, bad input, crashes.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on fails, and it starts programs by trade"
)]

mod agents;
mod bad_input;
mod battered;
mod blame;
mod briefs;
mod broker;
mod bypasses;
mod checked;
mod classify;
mod commands;
mod commit;
mod completion;
mod confined;
mod daemon;
mod deep;
mod delegation;
mod desk;
mod disturbed;
mod docs;
mod fuzzed;
mod hostile;
mod imports;
mod intents;
mod killed;
mod laws;
mod learnings;
mod lessons;
mod memory;
mod packs;
mod parallel;
mod permission;
mod person;
mod pipeline;
mod plan;
mod planted;
mod players;
mod policy;
mod policy_import;
mod recall;
mod records;
mod reflection;
mod review;
mod reviewers;
mod runs;
mod scoped;
mod screens;
mod scripts;
mod settings;
mod shell;
mod spans;
mod stale;
mod stale_laws;
mod states;
mod stories;
mod supervise;
mod support;
mod swept;
mod trace;
mod unattended;
mod unfinished;
mod upkeep;
mod widened;
mod write_gate;
