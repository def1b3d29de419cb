//! Seeds and findings of fuzzing (`fuzz/seeds`): the policy answers each within its bounds of work.

use std::fs;
use std::path::Path;

use sprag_policy::packs::PACKS;
use sprag_policy::{KnownPaths, Pattern, Rule, RuleFile, RuleSet, Strictness, Subject, match_script};
use sprag_shell::{Script, ShellStart};

/// The limit on commands of one text; paths and doubts belong to commands.
const COMMANDS: usize = 4096;

#[test]
fn every_seed_is_answered_within_the_bounds() {
    let read = |toml: &str| toml::from_str::<RuleFile>(toml).unwrap().rules;
    let all: Vec<Rule> = PACKS.iter().flat_map(|pack| read(pack.toml)).collect();
    let rules = RuleSet::new(&all, Strictness::Strict).unwrap();
    let ground = KnownPaths::new(Some("/home/ann/app"), Some("/home/ann"));
    let start = ShellStart { cwd: Some("/home/ann/app".to_owned()), home: Some("/home/ann".to_owned()) };
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let mut tried = 0;
    for entry in fs::read_dir(seeds).unwrap() {
        let path = entry.unwrap().path();
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        let script = Script::parse(&text, &start);
        rules.judge(&Subject::script(&script, &ground));
        let (first, rest) = text.split_once('\n').unwrap_or((&text, &text));
        if let Ok(pattern) = Pattern::parse(first) {
            match_script(&pattern, &Script::parse(rest, &start), &ground);
        }
        let found = script.commands.len() + script.wrappers.len();
        assert!(found <= 2 * COMMANDS, "{}: {found} commands", path.display());
        tried += 1;
    }
    assert!(tried > 50, "only {tried} seeds were found");
}
