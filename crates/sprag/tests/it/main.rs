//! Tests of the whole program: stories, whole-program outputs, bad input, crashes.

mod bad_input;
mod commands;
mod docs;
mod killed;
mod laws;
mod parallel;
mod person;
mod settings;
mod stories;
mod support;
