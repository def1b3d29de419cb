//! `docs/accepted-bypasses.toml`: the accepted ways around the rules, and the answer of a strict check to
//! each.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::Sandbox;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    bypass: Vec<Bypass>,
    guard: Vec<GuardBypass>,
}

/// A way to change the guard. The attack suite runs its example.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GuardBypass {
    id: String,
    example: String,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bypass {
    id: String,
    example: String,
    why: String,
    /// The answer of a strict check.
    #[serde(default = "ask")]
    strict: String,
}

fn ask() -> String {
    "ask".to_owned()
}

fn verdicts(sandbox: &Sandbox, args: &[&str], bypasses: &[Bypass]) -> Vec<String> {
    let lines: String = bypasses
        .iter()
        .map(|bypass| json!({"cmd": bypass.example, "cwd": "/p", "home": "/h"}).to_string() + "\n")
        .collect();
    let ran = sandbox.run_with(&[&["policy", "check", "--jsonl"], args].concat(), lines.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let told = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    told.map(|told| told["verdict"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn accepted_bypasses_pass_and_a_strict_check_asks() {
    let text = include_str!("../../../../../docs/accepted-bypasses.toml");
    let File { bypass: bypasses, guard } = toml::from_str(text).unwrap();
    let sandbox = Sandbox::without_git();
    let usual = verdicts(&sandbox, &[], &bypasses);
    let strict = verdicts(&sandbox, &["--strict"], &bypasses);
    let mut ids = BTreeSet::new();
    for ((bypass, usual), strict) in bypasses.iter().zip(usual).zip(strict) {
        assert!(ids.insert(&bypass.id), "{} twice", bypass.id);
        assert!(!bypass.why.is_empty(), "{}", bypass.id);
        assert_ne!(usual, "deny", "{}: it is stopped, so it is none", bypass.id);
        assert_eq!(strict, bypass.strict, "{}", bypass.id);
    }
    for entry in &guard {
        assert!(ids.insert(&entry.id), "{} twice", entry.id);
        assert!(!entry.why.is_empty() && !entry.example.is_empty(), "{}", entry.id);
    }
}
