//! `xtask/budgets.json`: the maximum number of instructions of each case, and the last number that was saved.
//! The maximum fails a build. The last number shows slow growth below the maximum.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};

use crate::workspace;

const VERSION: u32 = 1;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budgets {
    v: u32,
    pub cases: BTreeMap<String, Budget>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    pub max: u64,
    pub last: u64,
}

impl Budgets {
    pub fn load() -> anyhow::Result<Budgets> {
        let path = path();
        let read = || -> anyhow::Result<Budgets> {
            let budgets: Budgets = serde_json::from_slice(&fs::read(&path)?)?;
            ensure!(budgets.v == VERSION, "the version is {}, not {VERSION}", budgets.v);
            Ok(budgets)
        };
        read().with_context(|| format!("cannot read `{}`", path.display()))
    }

    /// Saves the counted number as the last one. A case without a maximum gets one with some reserve; an
    /// existing maximum stays.
    pub fn note(&mut self, case: &str, counted: u64) {
        let max = (counted * 13 / 10).next_multiple_of(1000);
        self.cases.entry(case.to_owned()).or_insert(Budget { max, last: counted }).last = counted;
    }

    pub fn save(&self) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self).expect("budgets are plain data with text keys");
        fs::write(path(), text + "\n").with_context(|| format!("cannot write `{}`", path().display()))
    }
}

fn path() -> PathBuf {
    workspace::root().join("xtask").join("budgets.json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::cases::CASES;

    #[test]
    fn every_case_has_a_budget_and_the_calls_before_a_tool_their_contract() {
        let budgets = Budgets::load().unwrap();
        let mut names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        names.sort();
        assert_eq!(budgets.cases.keys().collect::<Vec<_>>(), names);
        // The aim is 250,000. Since the rules have tables of places, loading their summary costs more.
        for name in ["pre_tool_use.first", "pre_tool_use.600th"] {
            assert!(budgets.cases[name].max <= 400_000, "{name}");
        }
    }

    #[test]
    fn a_limit_is_a_persons() {
        let mut budgets = Budgets { v: VERSION, cases: BTreeMap::new() };
        budgets.note("a", 10_001);
        assert_eq!(budgets.cases["a"], Budget { max: 14_000, last: 10_001 });
        budgets.note("a", 20_000);
        assert_eq!(budgets.cases["a"], Budget { max: 14_000, last: 20_000 });
    }
}
