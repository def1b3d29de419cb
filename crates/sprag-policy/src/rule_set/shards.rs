//! A rule set split into shards: each holds the rules for one kind of call. A hook loads only the shards that
//! its call concerns and gets the same answer as from all rules.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::pattern::{Pattern, PatternAccess};
use crate::prefilter::{READS, TOOLS, WRITES, command_keys};
use crate::rule::{Decision, LoadedRule, Strictness};
use crate::rule_set::RuleSet;

/// Some or all rules in stored form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    rules: Vec<(u32, LoadedRule)>,
    strictness: Strictness,
}

impl RuleSet {
    pub fn whole(&self) -> Shard {
        let rules = self.rules().iter().cloned().enumerate();
        Shard { rules: rules.map(|(at, rule)| (place(at), rule)).collect(), strictness: self.strictness() }
    }

    /// Splits the rules that restrict by their subject. A rule in a shard keeps only the patterns that can
    /// match there.
    pub fn shards(&self) -> BTreeMap<String, Shard> {
        let mut shards: BTreeMap<String, Shard> = BTreeMap::new();
        for (at, rule) in self.rules().iter().enumerate() {
            if rule.decision == Decision::Allow {
                continue;
            }
            let mut by_key: BTreeMap<String, Vec<Pattern>> = BTreeMap::new();
            for pattern in &rule.any {
                for key in keys(pattern) {
                    by_key.entry(key).or_default().push(pattern.clone());
                }
            }
            for (key, any) in by_key {
                let empty = || Shard { rules: Vec::new(), strictness: self.strictness() };
                let shard = shards.entry(key).or_insert_with(empty);
                shard.rules.push((place(at), LoadedRule { any, ..rule.clone() }));
            }
        }
        shards
    }

    /// Joins shards to a rule set, in the order of the original set.
    pub fn join(shards: impl IntoIterator<Item = Shard>) -> RuleSet {
        let mut strictness = Strictness::Usual;
        let mut rules: Vec<(u32, LoadedRule)> = Vec::new();
        for shard in shards {
            strictness = shard.strictness;
            rules.extend(shard.rules);
        }
        rules.sort_by_key(|(place, _)| *place);
        RuleSet::of_ready(rules.into_iter().map(|(_, rule)| rule).collect(), strictness)
    }
}

fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Returns the shards of a pattern. A pattern without a key applies only when all rules are loaded.
fn keys(pattern: &Pattern) -> Vec<String> {
    match pattern {
        Pattern::Tool(_) => vec![TOOLS.to_owned()],
        Pattern::Path(pattern) if pattern.access == PatternAccess::Read => vec![READS.to_owned()],
        Pattern::Path(_) => vec![WRITES.to_owned()],
        Pattern::Shell(_) | Pattern::Via(_) => command_keys(pattern).unwrap_or_default(),
    }
}
