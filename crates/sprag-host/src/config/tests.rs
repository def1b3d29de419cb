//! Tests of the layers and of the settings that each layer may change.

use super::*;

fn merged(layers: &[(Layer, &str, bool)]) -> Resolved {
    let mut merge = Merge::new();
    for (layer, text, is_trusted) in layers {
        let trust = if *is_trusted { FileTrust::Trusted } else { FileTrust::Untrusted };
        merge.text(*layer, Path::new("config.toml"), text, trust);
    }
    merge.finish()
}

#[test]
fn the_reference_says_what_the_code_does() {
    assert_eq!(merged(&[]).typed, Settings::default());
    let known: Vec<String> = merged(&[]).settings.into_keys().collect();
    let mut ruled: Vec<String> = sections()
        .flat_map(|section| section.keys.iter().map(|key| format!("{}.{}", section.name, key.name)))
        .collect();
    ruled.sort();
    assert_eq!(known, ruled);
}

#[test]
fn a_higher_layer_wins_and_is_named() {
    let resolved = merged(&[(Layer::User, "[circuit_breaker]\nmax_blocks = 2\n", false)]);
    let setting = &resolved.settings["circuit_breaker.max_blocks"];
    assert_eq!((setting.layer, resolved.typed.govern.circuit_breaker.max_blocks), (Layer::User, 2));
}

#[test]
fn mistakes_are_named_with_their_line() {
    for (text, says) in [
        (
            "[circuit_breaker]\nmax_block = 2\n",
            "config.toml:2: unknown key `circuit_breaker.max_block`, did you mean `circuit_breaker.max_blocks`?",
        ),
        ("[notes]\ndebts = 1\n", "config.toml:2: `notes.debts` is of type boolean, not integer"),
        ("x = = 1", "config.toml:1: "),
        (
            "[integrity]\nconflict_markers = \"perhaps\"\n",
            "config.toml:2: `integrity.conflict_markers`: unknown variant `perhaps`",
        ),
        ("[circuit_breaker]\nmax_blocks = -1\n", "config.toml:2: `circuit_breaker.max_blocks`: "),
    ] {
        let resolved = merged(&[(Layer::User, text, false)]);
        let told = resolved.problems[0].to_string();
        assert!(told.starts_with(says), "{told}");
        assert_eq!(resolved.typed, Settings::default());
    }
}

#[test]
fn a_project_tightens_until_it_is_trusted() {
    let looser = "[circuit_breaker]\nmax_blocks = 1\n[notes]\ndebts = false\n";
    let resolved = merged(&[(Layer::Project, looser, false)]);
    assert_eq!(resolved.typed, Settings::default());
    assert_eq!(resolved.ignored.len(), 2);
    assert_eq!(merged(&[(Layer::Project, looser, true)]).typed.govern.circuit_breaker.max_blocks, 1);
    let tighter = "[circuit_breaker]\nmax_blocks = 5\n";
    assert_eq!(merged(&[(Layer::Project, tighter, false)]).typed.govern.circuit_breaker.max_blocks, 5);
}

#[test]
fn the_environment_is_a_layer() {
    let env = |name: &str, value: &str| Env::Given([(name.to_owned(), value.into())].into());
    let mut merge = Merge::new();
    merge.environment(&env("SPRAG_CIRCUIT_BREAKER__MAX_BLOCKS", "2"));
    let resolved = merge.finish();
    assert_eq!(resolved.settings["circuit_breaker.max_blocks"].layer, Layer::Environment);
    let mut merge = Merge::new();
    merge.environment(&env("SPRAG_CIRCUIT_BREAKER__MAX_BLOCKS", "two"));
    merge.environment(&env("SPRAG_CIRCUIT_BRAKER__MAX_BLOCKS", "2"));
    let resolved = merge.finish();
    assert_eq!(resolved.problems.len(), 2);
    assert_eq!(resolved.typed, Settings::default());
}
