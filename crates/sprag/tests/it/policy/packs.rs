//! The built-in rule packs: each can be read, and every rule matches its examples.

use std::collections::BTreeSet;

use serde_json::json;

use sprag_host::clients::claude::TOOLS;
use sprag_host::config::rule_files::{self, Packs};
use sprag_policy::call::{InputCompleteness, ToolCall};
use sprag_policy::packs::{PACKS, Pack, Switch};
use sprag_policy::{
    Decision, EXAMPLE_CWD, EXAMPLE_HOME, FailedExample, KnownPaths, Rule, RuleConcern, RuleFile, RuleSet,
    Strictness, Subject, check_examples,
};
use sprag_shell::{Script, ShellStart};

fn rules(pack: &Pack) -> Vec<Rule> {
    let file: RuleFile = toml::from_str(pack.toml).unwrap_or_else(|e| panic!("pack {}: {e}", pack.name));
    file.rules
}

fn parse(text: &str) -> Script {
    let start = ShellStart { cwd: Some(EXAMPLE_CWD.to_owned()), home: Some(EXAMPLE_HOME.to_owned()) };
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
    assert_eq!(on, ["core", "self", "secrets", "places", "flows", "system", "readonly"]);
}

#[test]
fn all_packs_together_are_one_set() {
    let all: Vec<Rule> = PACKS.iter().flat_map(rules).collect();
    let set = RuleSet::new(&all, Strictness::Usual).unwrap();
    assert_eq!(set.len(), all.len());
}

/// A hook evaluates only the rules that can match its call. The result must be the same as with all rules.
#[test]
fn a_few_rules_answer_as_all_of_them_do() {
    let rules = rule_files::rules(&Packs::All, None).unwrap();
    let own = Rule { any: vec!["mcp__*__close".to_owned()], ..Rule::gate("Bash:gh issue close*") };
    let restricting =
        rules.iter().map(|sourced| &sourced.rule).filter(|rule| rule.decision != Decision::Allow);
    let set = RuleSet::new(restricting.chain([&own]), Strictness::Usual).unwrap();
    let (watch, shards) = (set.watch(), set.shards());
    let start = ShellStart { cwd: Some(EXAMPLE_CWD.to_owned()), home: Some(EXAMPLE_HOME.to_owned()) };
    let ground = KnownPaths::new(Some(EXAMPLE_CWD), Some(EXAMPLE_HOME));
    let wraps =
        ["{}", "sudo {}", "cd src && {}", "true | xargs -I% {}", "echo x; {} 2>&1 | tail -3", "$({})"];
    let mut compared = 0;
    let mut few = 0;
    for example in
        rules.iter().flat_map(|sourced| sourced.rule.matching.iter().chain(&sourced.rule.not_match))
    {
        for wrap in wraps {
            let (name, input) = match example.strip_prefix('@') {
                None => ("Bash", json!({ "command": wrap.replace("{}", example) })),
                Some(call) => {
                    let (name, input) = call.split_once(' ').unwrap_or((call, "{}"));
                    (name, serde_json::from_str(input).unwrap())
                }
            };
            let call = ToolCall::new(TOOLS, name, input, None, InputCompleteness::Yes);
            let script = call.parse_script(&start);
            let subject = Subject::call(&call, script.as_ref(), &ground);
            let concern = watch.concern(&call, script.as_ref(), EXAMPLE_CWD);
            let asked = match &concern {
                RuleConcern::None => RuleSet::default(),
                RuleConcern::Every => set.clone(),
                RuleConcern::Some(keys) => RuleSet::join(keys.iter().map(|key| shards[key].clone())),
            };
            let (all, some) = (set.judge(&subject), asked.judge(&subject));
            assert_eq!(
                (all.verdict, &all.rule, &all.reason),
                (some.verdict, &some.rule, &some.reason),
                "{call:?}"
            );
            compared += 1;
            few += usize::from(concern != RuleConcern::Every);
        }
    }
    assert!(compared > 3000 && few > compared / 2, "{few} of {compared}");
}

#[test]
fn what_agents_do_most_concerns_no_rule() {
    let rules = rule_files::rules(&Packs::Default, None).unwrap();
    let watch = RuleSet::new(rules.iter().map(|sourced| &sourced.rule), Strictness::Usual).unwrap().watch();
    let start = ShellStart { cwd: Some(EXAMPLE_CWD.to_owned()), home: Some(EXAMPLE_HOME.to_owned()) };
    for command in [
        "ls -la src",
        "cargo test --workspace",
        "git status --short",
        "git diff --stat && git log --oneline -5",
        "git add src/lib.rs",
        "rg parser src 2>&1 | tail -20",
        "cargo test --package parser --quiet 2>&1 | tail -20 && git diff --stat",
        "npm run build",
        "cat README.md | head -50",
        "cd crates/core && cargo clippy",
    ] {
        let call = ToolCall::new(TOOLS, "Bash", json!({ "command": command }), None, InputCompleteness::Yes);
        let script = call.parse_script(&start);
        assert_eq!(watch.concern(&call, script.as_ref(), EXAMPLE_CWD), RuleConcern::None, "{command}");
    }
    for (tool, path) in [("Read", "src/main.rs"), ("Edit", "src/main.rs"), ("Write", "docs/x.md")] {
        let call = ToolCall::new(TOOLS, tool, json!({ "file_path": path }), None, InputCompleteness::Yes);
        assert_eq!(watch.concern(&call, None, EXAMPLE_CWD), RuleConcern::None, "{path}");
    }
}
