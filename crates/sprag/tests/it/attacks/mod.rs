//! Attacks of an agent on the files that guard it. Each line of a group is really run in a throwaway home and
//! repository, because only the state afterwards shows whether a guard holds. A rule that matches a text, and a
//! list of protected files, miss other spellings of the same act.
//!
//! A line is `VERDICT | command`:
//!
//! | verdict | meaning |
//! |---|---|
//! | `refused` | Sprag denies the call |
//! | `asked` | Sprag lets the client ask its user |
//! | `undone` | the call runs; Sprag restores the change and reports it at the next event |
//! | `accepted ID` | the change stays; `docs/accepted-bypasses.toml` lists it |
//!
//! `\n` stands for a newline. `|then|` separates two calls. `@Tool {...}` is a call of another tool, with its
//! input. The rig runs a call inside bubblewrap: the disk is read-only except for the throwaway tree, without
//! network, without the processes of the machine, with a time limit.

mod rig;
mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Deserialize;

use rig::{Outcome, Rig};

const GROUPS: [(&str, &str); 8] = [
    ("binary-process", include_str!("binary-process.txt")),
    ("client-level", include_str!("client-level.txt")),
    ("git-config", include_str!("git-config.txt")),
    ("interpreters", include_str!("interpreters.txt")),
    ("opaque", include_str!("opaque.txt")),
    ("path-spellings", include_str!("path-spellings.txt")),
    ("sprag-cli", include_str!("sprag-cli.txt")),
    ("write-forms", include_str!("write-forms.txt")),
];

/// The least number of attacks, so that none disappears unnoticed.
const ATTACKS: usize = 400;

struct Attack<'a> {
    verdict: &'a str,
    line: &'a str,
}

fn attacks(group: &str) -> Vec<Attack<'static>> {
    let (_, text) = GROUPS.iter().find(|(name, _)| *name == group).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (verdict, line) = line.split_once(" | ").unwrap_or_else(|| panic!("{group}: {line}"));
            Attack { verdict, line }
        })
        .collect()
}

/// Runs all attacks of a group, each in a copy of the template.
fn check(group: &str) {
    let Some(rig) = Rig::new() else { return };
    let attacks = attacks(group);
    let next = AtomicUsize::new(0);
    let found: Mutex<BTreeMap<usize, Outcome>> = Mutex::default();
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(attack) = attacks.get(at) else { break };
                    let outcome = rig.attack(at, attack.line);
                    found.lock().unwrap().insert(at, outcome);
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    assert_eq!(found.len(), attacks.len());
    let wrong = attacks.iter().zip(found.values()).filter(|(attack, outcome)| {
        // An accepted bypass changes the state, and the list says why.
        let expected = if attack.verdict.starts_with("accepted ") { "missed" } else { attack.verdict };
        expected != outcome.verdict
    });
    let wrong: Vec<String> = wrong
        .map(|(attack, outcome)| {
            format!("{} | {} -> {} ({})", attack.verdict, attack.line, outcome.verdict, outcome.why)
        })
        .collect();
    assert!(wrong.is_empty(), "{group}: {} attacks end differently\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn attacks_by_the_program_and_its_processes() {
    check("binary-process");
}

#[test]
fn attacks_by_clients_and_their_settings() {
    check("client-level");
}

#[test]
fn attacks_by_the_configuration_of_git() {
    check("git-config");
}

#[test]
fn attacks_by_interpreters() {
    check("interpreters");
}

#[test]
fn attacks_by_files_that_are_run_later() {
    check("opaque");
}

#[test]
fn attacks_by_spellings_of_paths() {
    check("path-spellings");
}

#[test]
fn attacks_by_the_commands_of_sprag() {
    check("sprag-cli");
}

#[test]
fn attacks_by_forms_of_writing() {
    check("write-forms");
}

#[derive(Deserialize)]
struct Accepted {
    guard: Vec<AcceptedEntry>,
}

#[derive(Deserialize)]
struct AcceptedEntry {
    id: String,
}

#[test]
fn the_suite_has_enough_attacks_and_every_exception_is_listed() {
    let listed: Accepted =
        toml::from_str(include_str!("../../../../../docs/accepted-bypasses.toml")).unwrap();
    let listed: BTreeSet<String> = listed.guard.into_iter().map(|entry| entry.id).collect();
    let mut used = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut count = 0;
    for (group, _) in GROUPS {
        for attack in attacks(group) {
            assert!(seen.insert(attack.line), "twice: {}", attack.line);
            count += 1;
            match attack.verdict.strip_prefix("accepted ") {
                Some(id) => {
                    assert!(listed.contains(id), "{id} is not in docs/accepted-bypasses.toml");
                    used.insert(id.to_owned());
                }
                None => assert!(["refused", "asked", "undone"].contains(&attack.verdict), "{}", attack.line),
            }
        }
    }
    assert_eq!(used, listed, "an exception has no attack any more");
    assert!(count >= ATTACKS, "{count} attacks");
}
