//! Runs any text as a command line and as a pattern: Sprag must answer soon and without a panic. Inputs that
//! failed are kept in `seeds/`, which the usual tests replay.

#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

use sprag_policy::packs::PACKS;
use sprag_policy::{KnownPaths, Pattern, Rule, RuleFile, RuleSet, Strictness, Subject, match_script};
use sprag_shell::{Script, ShellStart};

fn rules() -> &'static RuleSet {
    static RULES: OnceLock<RuleSet> = OnceLock::new();
    RULES.get_or_init(|| {
        let read = |toml: &str| toml::from_str::<RuleFile>(toml).expect("packs can be read").rules;
        let all: Vec<Rule> = PACKS.iter().flat_map(|pack| read(pack.toml)).collect();
        RuleSet::new(&all, Strictness::Strict).expect("packs are rules")
    })
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    // The first line may be a pattern for the rest.
    let (first, rest) = text.split_once('\n').unwrap_or((&text, &text));
    let start = ShellStart { cwd: Some("/home/ann/app".to_owned()), home: Some("/home/ann".to_owned()) };
    let ground = KnownPaths::new(Some("/home/ann/app"), Some("/home/ann"));
    let script = Script::parse(&text, &start);
    rules().judge(&Subject::script(&script, &ground));
    if let Ok(pattern) = Pattern::parse(first) {
        let script = Script::parse(rest, &ShellStart::default());
        match_script(&pattern, &script, &KnownPaths::default());
    }
});
