//! The built-in rule packs: every one can be read, and every rule does what its examples say.

use std::collections::BTreeSet;

use sprag_core::rules::packs::{PACKS, Pack, Switch};
use sprag_core::rules::{
    Decision, EXAMPLE_CWD, EXAMPLE_HOME, FailedExample, Rule, RuleFile, RuleSet, Strictness, check_examples,
};
use sprag_core::shell::{Script, Start};

fn rules(pack: &Pack) -> Vec<Rule> {
    let file: RuleFile = toml::from_str(pack.toml).unwrap_or_else(|e| panic!("pack {}: {e}", pack.name));
    file.rules
}

fn parse(text: &str) -> Script {
    let start = Start { cwd: Some(EXAMPLE_CWD.to_owned()), home: Some(EXAMPLE_HOME.to_owned()) };
    Script::parse(text, &start)
}

#[test]
fn every_example_of_every_pack_holds() {
    let mut failed: Vec<FailedExample> = Vec::new();
    for rule in PACKS.iter().flat_map(rules) {
        failed.extend(check_examples(&rule, parse).unwrap());
    }
    let lines: Vec<String> =
        failed.iter().map(|f| format!("{} {:?} `{}`: {}", f.rule, f.kind, f.example, f.why)).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
}

#[test]
fn every_rule_has_a_name_of_its_own_and_a_reason() {
    let mut ids = BTreeSet::new();
    for pack in PACKS {
        for rule in rules(pack) {
            assert!(rule.id.starts_with(&format!("{}.", pack.name)), "{}", rule.id);
            assert!(ids.insert(rule.id.clone()), "{} twice", rule.id);
            assert!(!rule.reason.is_empty() && !rule.not_match.is_empty(), "{}", rule.id);
            let allows = rule.decision == Decision::Allow;
            assert_eq!(allows, pack.name == "readonly", "{}: only one pack allows", rule.id);
        }
    }
    let on: Vec<&str> =
        PACKS.iter().filter(|pack| pack.default == Switch::On).map(|pack| pack.name).collect();
    assert_eq!(on, ["core", "self", "secrets", "readonly"]);
}

#[test]
fn all_packs_together_are_one_set() {
    let all: Vec<Rule> = PACKS.iter().flat_map(rules).collect();
    let set = RuleSet::new(&all, Strictness::Usual).unwrap();
    assert_eq!(set.len(), all.len());
}
