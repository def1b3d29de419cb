//! `sprag policy import`: takes over rules of clients, and reports the rules that it cannot take over.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use insta::assert_snapshot;

use crate::support::Sandbox;

const SETTINGS: &str = r#"{
  "permissions": {
    "allow": ["Bash(git log:*)", "Bash(npm run test:*)", "Edit(/docs/**)"],
    "deny": ["Bash(git push:*)", "Bash(curl * | sh)"],
    "ask": ["mcp__github"],
    "defaultMode": "acceptEdits"
  }
}
"#;

const RULES: &str = r#"# mine
prefix_rule(
    pattern = ["git", ["push", "fetch"]],
    decision = "prompt",
    justification = "it talks to others",
    match = [["git", "push", "a b"], "git fetch --all"],
    not_match = ["git status"],
)
WORDS = ["rm"]
prefix_rule(pattern = ["rm", "-rf"], decision = "forbidden")
"#;

impl Sandbox {
    fn write_home(&self, path: &str, text: &str) -> PathBuf {
        let path = self.home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }
}

#[test]
fn rules_of_claude() {
    let sandbox = Sandbox::new();
    sandbox.write_home(".claude/settings.json", SETTINGS);
    assert_snapshot!(sandbox.run(&["policy", "import", "claude"]).told(&sandbox), @r##"
    exit 0
    --- stdout
    # Rules of Claude Code, made by `sprag policy import claude`. The next import overwrites this file.

    [[rule]]
    id = "claude-deny-bash-git-push"
    any = ["Bash:git push *"]
    decision = "deny"
    reason = "denied by `Bash(git push:*)` of `ROOT/home/.claude/settings.json`"
    match = ["git push", "git push x"]
    not_match = ["echo 'git push'"]

    [[rule]]
    id = "claude-ask-mcp-github"
    any = ["mcp__github__*"]
    decision = "ask"
    reason = "approval required by `mcp__github` of `ROOT/home/.claude/settings.json`"
    match = ["@mcp__github__x {}"]

    [[rule]]
    id = "claude-allow-bash-git-log"
    any = ["Bash:git log *"]
    decision = "allow"
    reason = "allowed by `Bash(git log:*)` of `ROOT/home/.claude/settings.json`"
    match = ["git log", "git log x"]
    not_match = ["git log && other x"]

    [[rule]]
    id = "claude-allow-edit-docs"
    any = ["Write:ROOT/home/.claude/docs/**"]
    decision = "allow"
    reason = "allowed by `Edit(/docs/**)` of `ROOT/home/.claude/settings.json`"
    match = ['@Edit {"file_path":"ROOT/home/.claude/docs/x"}']
    not_match = ['@Edit {"file_path":"/elsewhere/x"}', '@Read {"file_path":"ROOT/home/.claude/docs/x"}']
    --- stderr
    ROOT/home/.claude/settings.json:4: not imported: `Bash(curl * | sh)`: only plain words of one command are supported: `|`
    ROOT/home/.claude/settings.json:3: not imported: `Bash(npm run test:*)`: an allow rule cannot cover unread code: npm run test
    ROOT/home/.claude/settings.json:6: not imported: `defaultMode = "acceptEdits"`: a setting of the client, not a rule
    "##);
}

#[test]
fn rules_of_codex() {
    let sandbox = Sandbox::new();
    sandbox.write(".codex/rules/a.rules", RULES);
    sandbox.write(".codex/rules/notes.txt", "not rules");
    assert_snapshot!(sandbox.run(&["policy", "import", "codex"]).told(&sandbox), @r##"
    exit 0
    --- stdout
    # Rules of Codex, made by `sprag policy import codex`. The next import overwrites this file.

    [[rule]]
    id = "codex-ask-git-push-fetch"
    any = ["Bash:git {push,fetch} *"]
    decision = "ask"
    reason = "it talks to others (`ROOT/project/.codex/rules/a.rules:2`)"
    match = ["git push 'a b'", "git fetch --all", "git push", "git push x"]
    not_match = ["git status", "echo 'git push'"]

    [[rule]]
    id = "codex-deny-rm-rf"
    any = ["Bash:rm -rf *"]
    decision = "deny"
    reason = "denied by `ROOT/project/.codex/rules/a.rules:10`"
    match = ["rm -rf", "rm -rf x"]
    not_match = ["echo 'rm -rf'"]
    --- stderr
    ROOT/project/.codex/rules/a.rules:9: not imported: `WORDS = ["rm"]`: only `prefix_rule` calls with literal arguments are supported
    "##);
}

#[test]
fn what_is_printed_is_a_rule_file() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/settings.json", SETTINGS);
    sandbox.write(".claude/settings.local.json", r#"{"permissions": {"deny": ["Read(.env)"]}}"#);
    sandbox.write_home(".codex/rules/default.rules", RULES);
    for client in ["claude", "codex"] {
        let printed = sandbox.run(&["policy", "import", client]);
        assert_eq!(printed.code, 0);
        let file = sandbox.write("rules.toml", &printed.stdout);
        let tried = sandbox.run(&["policy", "test", "--packs", "ci", "--config", file.to_str().unwrap()]);
        assert_eq!(tried.code, 0, "{}", tried.stdout);
    }
    let told = sandbox.json(&["policy", "import", "claude", "--json"]);
    let ids: Vec<&str> =
        told["rules"].as_array().unwrap().iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    assert_eq!(
        ids,
        [
            "claude-deny-bash-git-push",
            "claude-ask-mcp-github",
            "claude-allow-bash-git-log",
            "claude-allow-edit-docs",
            "claude-deny-read-env",
        ]
    );
    let skipped = &told["skipped"][0];
    assert_eq!((&skipped["line"], &skipped["text"]), (&4.into(), &"Bash(curl * | sh)".into()));
    // The denied command is denied in every form.
    let printed = sandbox.run(&["policy", "import", "claude"]);
    let file = sandbox.write("rules.toml", &printed.stdout);
    let args = ["policy", "explain", "--json", "--config", file.to_str().unwrap(), "cd x && sudo git push"];
    assert_eq!(sandbox.json(&args)["rule"], "claude-deny-bash-git-push");
}

#[test]
fn an_import_is_written_and_replaced() {
    let sandbox = Sandbox::new();
    let settings = sandbox.write_home(".claude/settings.json", SETTINGS);
    let project =
        sandbox.write(".claude/settings.json", r#"{"permissions": {"allow": ["Bash(git show:*)"]}}"#);
    let write = ["policy", "import", "claude", "--write"];
    assert_snapshot!(sandbox.run(&write).told(&sandbox), @r##"
    exit 0
    --- stdout
    + claude-deny-bash-git-push
    + claude-ask-mcp-github
    + claude-allow-bash-git-log
    + claude-allow-edit-docs
    wrote 4 rules to `ROOT/home/.config/sprag/policy/imported-claude.toml`
    --- stderr
    ROOT/home/.claude/settings.json:4: not imported: `Bash(curl * | sh)`: only plain words of one command are supported: `|`
    ROOT/home/.claude/settings.json:3: not imported: `Bash(npm run test:*)`: an allow rule cannot cover unread code: npm run test
    ROOT/home/.claude/settings.json:6: not imported: `defaultMode = "acceptEdits"`: a setting of the client, not a rule
    ROOT/project/.claude/settings.json:1: not imported: `Bash(git show:*)`: an allow rule of a project is not imported for all projects; name the file to import it
    "##);
    let file = sandbox.home.join(".config/sprag/policy/imported-claude.toml");
    assert_eq!(sandbox.run(&["policy", "test", "--config", file.to_str().unwrap()]).code, 0);
    let again = sandbox.json(&["policy", "import", "claude", "--write", "--json"]);
    assert_eq!(again["added"].as_array().unwrap().len(), 0);
    fs::write(&settings, SETTINGS.replace("git push:*", "git push")).unwrap();
    let ran = sandbox.run(&write);
    assert!(ran.stdout.starts_with("~ claude-deny-bash-git-push\n"), "{}", ran.stdout);
    // An explicit file name counts.
    let named = ["policy", "import", "claude", project.to_str().unwrap(), "--write"];
    let ran = sandbox.run(&named);
    assert!(ran.stdout.contains("+ claude-allow-bash-git-show\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("- claude-deny-bash-git-push\n"), "{}", ran.stdout);
}

#[test]
fn no_agent_writes_an_import() {
    let sandbox = Sandbox::new();
    sandbox.write_home(".claude/settings.json", SETTINGS);
    // This test calls the hook itself, so it counts as the client, and its processes run below a client.
    sandbox.bash("s", "make");
    let ran = sandbox.run(&["policy", "import", "claude", "--write"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.starts_with("sprag: people only: "), "{}", ran.stderr);
    assert!(!sandbox.home.join(".config/sprag/policy").exists());
    assert_eq!(sandbox.run(&["policy", "import", "claude"]).code, 0, "looking is free");
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["policy", "import", "claude"]);
    assert_eq!(
        (ran.code, ran.stderr.lines().next()),
        (1, Some("sprag: no permission rules of Claude Code were found"))
    );
    let broken = sandbox.write("broken.json", "{\n  \"permissions\": [,\n}");
    let long = sandbox.write("long.json", &" ".repeat(1_100_000));
    let open = sandbox.write("open.rules", "\n\nprefix_rule(pattern = [\"a\"]");
    let link = sandbox.project.join("link");
    symlink("/dev/zero", &link).unwrap();
    for (client, file, says) in [
        ("claude", broken, "/broken.json:2: expected value"),
        ("claude", long, "/long.json`: larger than 1048576 bytes"),
        ("claude", link, "/link`: not a regular file"),
        ("claude", PathBuf::from("nowhere.json"), "/nowhere.json`: No such file"),
        ("codex", open, "/open.rules:3: this `(` is not closed"),
    ] {
        let ran = sandbox.run(&["policy", "import", client, file.to_str().unwrap()]);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(says), "{}", ran.stderr);
    }
    assert_eq!(sandbox.run(&["policy", "import", "nobody"]).code, 2);
}
