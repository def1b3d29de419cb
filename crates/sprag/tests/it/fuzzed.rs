//! Texts that fuzzing starts from and has found (`fuzz/seeds`): each is answered, and soon.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use sprag_core::rules::packs::PACKS;
use sprag_core::rules::{Ground, Pattern, Rule, RuleFile, RuleSet, Strictness, Subject, match_script};
use sprag_core::shell::{Script, Start};

/// A second is the bound for the shipped program; this one is not optimised, and the machine is busy.
const SOON: Duration = Duration::from_secs(20);

#[test]
fn every_seed_is_answered_soon() {
    let read = |toml: &str| toml::from_str::<RuleFile>(toml).unwrap().rules;
    let all: Vec<Rule> = PACKS.iter().flat_map(|pack| read(pack.toml)).collect();
    let rules = RuleSet::new(&all, Strictness::Strict).unwrap();
    let ground = Ground::new(Some("/home/ann/app"), Some("/home/ann"));
    let start = Start { cwd: Some("/home/ann/app".to_owned()), home: Some("/home/ann".to_owned()) };
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let mut tried = 0;
    for entry in fs::read_dir(seeds).unwrap() {
        let path = entry.unwrap().path();
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        let started = Instant::now();
        let script = Script::parse(&text, &start);
        rules.judge(&Subject::script(&script, &ground));
        let (first, rest) = text.split_once('\n').unwrap_or((&text, &text));
        if let Ok(pattern) = Pattern::parse(first) {
            match_script(&pattern, &Script::parse(rest, &start), &ground);
        }
        assert!(started.elapsed() < SOON, "{} took {:?}", path.display(), started.elapsed());
        tried += 1;
    }
    assert!(tried > 50, "only {tried} seeds were found");
}
