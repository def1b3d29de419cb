//! The rules of the permission policy: what may run, what must not, what needs a person or a
//! review. Rules look at what a command would do, told by [`crate::shell`], never at its text.
//!
//! A rule names patterns ([`pattern`]); a [`RuleSet`] is the union of all rules and gives one
//! answer, the strictest. Built-in rules come in [`packs`].

mod examples;
pub mod glob;
mod ground;
pub mod import;
mod line;
mod options;
pub mod packs;
pub mod pattern;
mod rule;
mod set;
mod shards;
mod subject;
mod watch;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

pub use examples::{EXAMPLE_CWD, EXAMPLE_HOME, ExampleKind, FailedExample, check_examples};
pub use ground::Ground;
pub use pattern::{BadPattern, Pattern};
pub use rule::{BadRule, Decision, OnDoubt, Rule, RuleFile};
pub use set::{Judged, RuleSet, Said, Strictness, match_script};
pub use shards::Shard;
pub use subject::{Outcome, Subject};
pub use watch::{Concern, Watch};
