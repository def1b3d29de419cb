//! The rules of the permission policy: what may run, what must not, what needs a person or a
//! review. Rules look at what a command would do, told by [`sprag_shell`], never at its text.
//!
//! A rule names patterns ([`pattern`]); a [`RuleSet`] is the union of all rules and gives one
//! answer, the strictest. Built-in rules come in [`packs`].

mod examples;
pub mod import;
pub mod packs;
pub mod pattern;
mod prefilter;
mod rule;
pub mod rule_set;

pub mod call;
#[cfg(test)]
mod tests;

pub use examples::{EXAMPLE_CWD, EXAMPLE_HOME, ExampleKind, FailedExample, check_examples};
pub use pattern::location::KnownPaths;
pub use pattern::subject::{MatchLevel, Subject};
pub use pattern::{BadPattern, Pattern};
pub use prefilter::{RuleConcern, RuleFilter};
pub use rule::{BadRule, Decision, OnDoubt, Rule, RuleFile, Strictness};
pub use rule_set::shards::Shard;
pub use rule_set::{RuleDecision, RuleSet, RuleVerdict, match_script};
