//! Help, completions, and the lists of sessions.

use serde_json::json;

use crate::support::Sandbox;

#[test]
fn completions_are_printed_for_every_shell() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        let ran = sandbox.run(&["completions", shell]);
        assert_eq!(ran.code, 0);
        assert!(ran.stdout.contains("SPRAG_COMPLETE"), "{shell}");
    }
}

#[test]
fn values_of_this_repository_are_completed() {
    let sandbox = Sandbox::new();
    sandbox.event("session-1", "UserPromptSubmit", json!({"prompt": "fix the parser"}));
    let complete = |words: &[&str]| {
        let index = (words.len() - 1).to_string();
        let mut sprag = sandbox.command(crate::support::SPRAG);
        sprag.env("SPRAG_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", &index).arg("--").args(words);
        String::from_utf8(sprag.output().unwrap().stdout).unwrap()
    };
    assert_eq!(complete(&["sprag", "session", "explain", "sess"]), "session-1");
    assert_eq!(complete(&["sprag", "config", "gat"]), "gates");
    assert_eq!(complete(&["sprag", "init", "--client", "cla"]), "claude");
}

#[test]
fn the_help_has_groups_and_unknown_commands_name_the_nearest() {
    let sandbox = Sandbox::new();
    let help = sandbox.run(&["--help"]).stdout;
    let groups: Vec<&str> = help.lines().filter(|line| line.ends_with(':')).collect();
    assert_eq!(groups, ["Start:", "Sessions:", "Rules:", "Memory:", "Plans:", "Settings:", "Options:"]);
    let commands = help.lines().filter(|line| line.starts_with("  ") && !line.trim_start().starts_with('-'));
    assert_eq!(commands.count(), 22, "{help}");
    assert!(sandbox.run(&["help", "agents"]).stdout.contains("\n  reflect "));
    assert!(sandbox.run(&["help", "run", "stop"]).stdout.contains("--kill"));
    insta::assert_snapshot!(sandbox.run(&["logz"]).stderr, @"
    sprag: unknown command `logz`
      next: sprag help trace log
      next: sprag help run logs
      next: sprag help
    ");
    insta::assert_snapshot!(sandbox.run(&["sessions"]).stderr, @"
    sprag: unknown command `sessions`
      next: sprag help session
      next: sprag help
    ");
}

#[test]
fn the_newest_session_is_explained_and_a_list_shows_prompts() {
    let sandbox = Sandbox::new();
    sandbox.event("s-1", "UserPromptSubmit", json!({"prompt": "make the parser faster"}));
    sandbox.event("s-2", "UserPromptSubmit", json!({"prompt": "write a changelog\nfor the release"}));
    assert!(sandbox.run(&["session", "explain"]).stdout.starts_with("session s-2\n"));
    let rows = sandbox.json(&["session", "list", "--json"]);
    assert_eq!(rows["sessions"][0]["prompt"], "write a changelog for the release");
    assert_eq!(rows["sessions"][1]["prompt"], "make the parser faster");
}
