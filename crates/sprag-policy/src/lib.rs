//! Rules of the permission policy: commands that may run, are denied, or need a person or a review. Rules
//! judge the commands that would run, as [`sprag_shell`] finds them, and never the text.
//!
//! A rule has patterns ([`pattern`]). A [`RuleSet`] is the union of all rules; its answer is that of the
//! strictest rule. Built-in rules come in [`packs`].

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
