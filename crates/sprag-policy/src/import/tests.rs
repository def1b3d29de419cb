//! Tests of imported and skipped rules, and properties that hold for any text.

use proptest::prelude::*;

use super::*;
use crate::pattern::subject::{MatchLevel, Subject};
use crate::rule::Strictness;
use crate::rule_set::{RuleDecision, RuleSet, rule_outcome};
use crate::{KnownPaths, check_examples};

fn source(text: &str, owner: RuleOwner) -> RuleText<'_> {
    RuleText { name: "/p/file", text, owner, base: "/p" }
}

fn imported(name: &str, text: &str, owner: RuleOwner) -> Import {
    import(find(name).unwrap(), &[source(text, owner)]).unwrap()
}

/// Returns the patterns of one rule of Claude Code, or the reason why it was skipped.
fn claude(list: &str, rule: &str, owner: RuleOwner) -> Result<Vec<String>, String> {
    let text = serde_json::json!({"permissions": {list: [rule]}}).to_string();
    let mut import = imported("claude", &text, owner);
    match import.rules.pop() {
        Some(found) => Ok(found.rule.any),
        None => Err(import.skipped.remove(0).why),
    }
}

fn codex(text: &str) -> Import {
    imported("codex", text, RuleOwner::User)
}

#[test]
fn commands_of_claude() {
    for (list, rule, wanted) in [
        ("deny", "Bash", &["Bash"][..]),
        ("deny", "Bash(*)", &["Bash"]),
        ("allow", "Bash", &["Bash:*", "Via:*"]),
        ("deny", "Bash(git push:*)", &["Bash:git push *"]),
        ("ask", "Bash(npm run test)", &["Bash:npm run test"]),
        ("ask", "Bash(npm run test *)", &["Bash:npm run test *"]),
        ("allow", "Bash(git log *)", &["Bash:git log *"]),
        ("deny", "Bash(ls*)", &["Bash:ls*"]),
        ("deny", "Bash(sudo:*)", &["Bash:sudo *"]),
        ("deny", "Bash(git * main)", &["Bash:git ** main"]),
        ("allow", "Bash(git * main)", &["Bash:git * ** main"]),
        ("deny", "Bash(* --force)", &["Bash:** --force"]),
        ("deny", "Bash(git push --force:*)", &["Bash:git push --force *"]),
        // The allow rule does not cover words after an option.
        ("allow", "Bash(ls -la:*)", &["Bash:ls -la"]),
        ("ask", "Bash(./scripts/*.sh)", &["Bash:./scripts/*.sh", "Bash:./scripts/* ** *.sh"]),
    ] {
        assert_eq!(claude(list, rule, RuleOwner::User).unwrap(), wanted, "{list} {rule}");
    }
    let found = claude("deny", "Bash(git push *--force*)", RuleOwner::User).unwrap();
    assert!(found.contains(&"Bash:git push ** --force*".to_owned()), "{found:?}");
    for (list, rule, why) in [
        ("deny", "Bash(curl * | sh)", "only plain words of one command are supported: `|`"),
        ("deny", "Bash(git push", "the `)` is missing"),
        ("deny", "Bash()", "no command given"),
        ("allow", "Bash(* --version)", "an option and a `*` in one allow rule would allow more than before"),
        ("allow", "Bash(* x)", "an allow rule must name a program"),
        (
            "allow",
            "Bash(node --check x.js)",
            "options of an allow rule must come last: Sprag matches options anywhere",
        ),
        ("allow", "Bash(npm run test:*)", "an allow rule cannot cover unread code: npm run test"),
        ("deny", "Bash(FOO=1 x)", "example `FOO=1 x`: does not match"),
    ] {
        assert_eq!(claude(list, rule, RuleOwner::User).unwrap_err(), why, "{list} {rule}");
    }
}

#[test]
fn paths_of_claude() {
    for (list, rule, owner, wanted) in [
        ("deny", "Edit(src/**)", RuleOwner::User, &["Write:src/**"][..]),
        ("deny", "Write(/out/**)", RuleOwner::Project, &["Write:/p/out/**"]),
        ("deny", "Edit(src/**)", RuleOwner::Project, &["Write:/p/src/**"]),
        ("deny", "Read(~/.ssh/**)", RuleOwner::User, &["Read:~/.ssh/**"]),
        ("deny", "Read(//etc/passwd)", RuleOwner::User, &["Read:/etc/passwd", "Read:/etc/passwd/**"]),
        ("deny", "Read(.env)", RuleOwner::User, &["Read:**/.env", "Read:**/.env/**"]),
        ("deny", "Read(./secrets/)", RuleOwner::User, &["Read:**/secrets/**"]),
        ("allow", "Edit(docs/)", RuleOwner::User, &["Write:./docs/**", "Write:./**/docs/**"]),
        ("allow", "Edit(/docs/*.md)", RuleOwner::Project, &["Write:/p/docs/*.md", "Write:/p/docs/*.md/**"]),
        ("deny", "Edit(a/**/b/**)", RuleOwner::User, &["Write:a/**/b/**", "Write:a/b/**"]),
        ("deny", "Edit(**)", RuleOwner::User, &["Write:./**"]),
    ] {
        assert_eq!(claude(list, rule, owner).unwrap(), wanted, "{list} {rule}");
    }
    for (rule, why) in [
        ("Read(a?b)", "path patterns do not support `?`"),
        ("Read(../x)", "path patterns support neither `!` nor `..`"),
        ("Read(~root/x)", "the home directory of another user is unknown"),
    ] {
        assert_eq!(claude("deny", rule, RuleOwner::User).unwrap_err(), why, "{rule}");
    }
}

#[test]
fn other_tools_of_claude() {
    for (list, rule, wanted) in [
        ("deny", "mcp__github", "mcp__github__*"),
        ("deny", "mcp__github__*", "mcp__github__*"),
        ("allow", "mcp__github__list_issues", "mcp__github__list_issues"),
        ("deny", "WebFetch", "WebFetch"),
        ("allow", "WebFetch(domain:docs.rs)", "WebFetch(url={https,http}://docs.rs{,/*})"),
        ("deny", "WebFetch(domain:x.test)", "WebFetch(url=*://{,*@}x.test{,/*,:*,?*,#*})"),
        ("ask", "Agent(Explore)", "{Task,Agent}(subagent_type=Explore)"),
        ("ask", "Task(Explore)", "{Task,Agent}(subagent_type=Explore)"),
        ("deny", "Edit", "{Edit,MultiEdit,Write,NotebookEdit,apply_patch}"),
    ] {
        assert_eq!(claude(list, rule, RuleOwner::User).unwrap(), [wanted], "{list} {rule}");
    }
    for (list, rule) in [
        ("allow", "*"),
        ("allow", "WebFetch(domain:*.x.test)"),
        ("deny", "WebFetch(x)"),
        ("deny", "Skill(deploy)"),
        ("deny", "mcp__a__b(c)"),
        ("deny", ""),
    ] {
        assert!(claude(list, rule, RuleOwner::User).is_err(), "{list} {rule}");
    }
}

#[test]
fn a_rule_has_a_stable_id_its_source_and_examples() {
    let text = "{\n  \"permissions\": {\n    \"deny\": [\"Bash(git push:*)\", \"Bash(git push)\"],\n    \"defaultMode\": \"plan\",\n    \"ask\": [7]\n  }\n}\n";
    let import = imported("claude", text, RuleOwner::User);
    let ids: Vec<&str> = import.rules.iter().map(|found| found.rule.id.as_str()).collect();
    assert_eq!(ids[0], "claude-deny-bash-git-push");
    assert!(ids[1].starts_with("claude-deny-bash-git-push-") && ids.len() == 2, "{ids:?}");
    let rule = &import.rules[0].rule;
    assert_eq!(rule.reason, "denied by `Bash(git push:*)` of `/p/file`");
    assert_eq!(
        (rule.matching.as_slice(), rule.not_match.as_slice()),
        (&["git push".to_owned(), "git push x".to_owned()][..], &["echo 'git push'".to_owned()][..],)
    );
    let skipped: Vec<(Option<usize>, &str)> =
        import.skipped.iter().map(|skipped| (skipped.line, skipped.text.as_str())).collect();
    assert_eq!(skipped, [(None, "7"), (Some(4), "defaultMode = \"plan\"")]);
    // The same rule in a second file is imported once.
    let twice = import_two(text, text);
    assert_eq!(twice.rules.len(), 2);
}

fn import_two(one: &str, two: &str) -> Import {
    import(find("claude").unwrap(), &[source(one, RuleOwner::User), source(two, RuleOwner::User)]).unwrap()
}

#[test]
fn what_cannot_be_read_is_told_with_its_line() {
    let told =
        |name: &str, text: &str| import(find(name).unwrap(), &[source(text, RuleOwner::User)]).unwrap_err().1;
    assert_eq!(told("claude", "{\n  \"permissions\": [,\n}").line, 2);
    assert_eq!(told("claude", "[]").what, "the file is not a JSON object");
    assert_eq!(told("claude", "").line, 1);
    let broken = told("codex", "x = 1\nprefix_rule(\n  pattern = [\"a\"\n");
    assert_eq!((broken.line, broken.what.as_str()), (3, "this `[` is not closed"));
    assert_eq!(told("codex", "\n'open").line, 2);
    assert_eq!(told("codex", "a)").what, "`)` has no opening bracket");
    assert_eq!(told("codex", "(\n]").what, "`]` does not close the `(` of line 1");
}

#[test]
fn work_is_bounded_however_long_a_line_is() {
    let read = |name: &str, text: &str| import(find(name).unwrap(), &[source(text, RuleOwner::User)]);
    assert_eq!(read("codex", &"a;".repeat(100_000)).unwrap_err().1.what, "more than 20000 statements");
    assert_eq!(codex(&format!("{}x", " ".repeat(500_000))).skipped.len(), 1);
    let deep = format!("prefix_rule(pattern = {}{})", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(codex(&deep).skipped.len(), 1);
    let rules: Vec<String> = (0..MOST + 10).map(|at| format!("tool{at}")).collect();
    let many = serde_json::json!({"permissions": {"ask": rules}}).to_string();
    let import = read("claude", &many).unwrap();
    assert_eq!((import.rules.len(), import.skipped.len()), (MOST, 10));
}

#[test]
fn rules_of_codex() {
    let import = codex(
        r#"
# rules of mine
prefix_rule(
    pattern = ["git", ["push", "fetch"]],  # two of them
    decision = "prompt",
    justification = "it talks to others",
    match = [["git", "push", "a b"], "git fetch --all"],
    not_match = ["git status"],
)
prefix_rule(pattern=["rm", "-rf"], decision='forbidden')
prefix_rule(["ls"]); prefix_rule(pattern = ["cargo", "test", "--workspace"], decision = """allow""")
"#,
    );
    assert_eq!(import.skipped, []);
    let any: Vec<&str> = import.rules.iter().flat_map(|found| &found.rule.any).map(String::as_str).collect();
    assert_eq!(any, ["Bash:git {push,fetch} *", "Bash:rm -rf *", "Bash:ls *", "Bash:cargo test --workspace"]);
    let rule = &import.rules[0].rule;
    assert_eq!((rule.id.as_str(), rule.decision), ("codex-ask-git-push-fetch", Decision::Ask));
    assert_eq!(rule.reason, "it talks to others (`/p/file:3`)");
    assert_eq!(rule.matching[..2], ["git push 'a b'", "git fetch --all"]);
    assert_eq!(import.rules[1].rule.reason, "denied by `/p/file:10`");
}

#[test]
fn what_codex_computes_is_listed() {
    let import = codex(
        r#"load("x.rules", "y")
WORDS = ["a"]
def f(x):
    prefix_rule(pattern = ["hidden"])

prefix_rule(pattern = WORDS)
prefix_rule(pattern = ["a" + "b"])
prefix_rule(pattern = ["a"], decision = "maybe")
prefix_rule(pattern = ["a"], colour = "red")
prefix_rule(pattern = [])
prefix_rule(pattern = ["a"], match = ["b"])
prefix_rule(pattern = ["a", "*"])
prefix_rule(pattern = ["a", "\x41"])
host_executable(name = "git", paths = ["/usr/bin/git"])
"#,
    );
    assert_eq!(import.rules, []);
    let told: Vec<(usize, &str)> =
        import.skipped.iter().map(|skipped| (skipped.line.unwrap(), skipped.why.as_str())).collect();
    let literal = "only `prefix_rule` calls with literal arguments are supported";
    assert_eq!(
        told,
        [
            (1, "`load` is not a supported rule"),
            (2, literal),
            (3, literal),
            (6, literal),
            (7, literal),
            (8, "unknown decision `maybe`"),
            (9, "unknown or invalid argument `colour`"),
            (10, "the pattern is empty"),
            (11, "example `b`: does not match"),
            (12, "`*` contains a literal `*`, which a pattern cannot express"),
            (13, literal),
            (14, "`host_executable` is not a supported rule"),
        ]
    );
}

/// Matches a text like Claude Code: `*` is any text, and the last one may be missing.
fn text_fits(pattern: &str, text: &str) -> bool {
    fn fits(pattern: &[u8], text: &[u8]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some((b'*', rest)) => (0..=text.len()).any(|at| fits(rest, &text[at..])),
            Some((c, rest)) => text.split_first().is_some_and(|(d, after)| c == d && fits(rest, after)),
        }
    }
    let is_bare = pattern.matches('*').count() == 1
        && pattern.strip_suffix(" *").is_some_and(|before| fits(before.as_bytes(), text.as_bytes()));
    is_bare || fits(pattern.as_bytes(), text.as_bytes())
}

proptest! {
    #[test]
    fn any_text_is_imported_or_told(text in "\\PC{0,80}") {
        for importer in IMPORTERS {
            for owner in [RuleOwner::User, RuleOwner::Project] {
                if let Err((_, broken)) = import(importer, &[source(&text, owner)]) {
                    prop_assert!(broken.line >= 1 && !broken.what.is_empty());
                }
            }
        }
    }

    #[test]
    fn whatever_is_imported_holds(
        list in "(allow|ask|deny)",
        rule in "(Bash|Edit|Read|WebFetch|Task|mcp__a|\\PC{0,4})(\\((domain:)?[-a-c*/~.:{}!<>\\[\\]= \"]{0,16}\\))?",
    ) {
        let text = serde_json::json!({"permissions": {list: [rule]}}).to_string();
        let import = imported("claude", &text, RuleOwner::User);
        prop_assert_eq!(import.rules.len() + import.skipped.len(), 1);
        for Imported { rule, .. } in &import.rules {
            prop_assert!(RuleSet::new([rule], Strictness::Usual).is_ok());
            prop_assert_eq!(check_examples(rule, script).unwrap(), []);
        }
    }

    #[test]
    fn any_rules_file_is_read_to_its_end(
        text in "(prefix_rule\\(|pattern ?= ?|decision=|\\[|\\]|\\)|,|\"[a-c*-]{0,3}\"|'''|#|\n| |;|x|=){0,24}",
    ) {
        if let Err((_, broken)) = import(find("codex").unwrap(), &[source(&text, RuleOwner::User)]) {
            prop_assert!(broken.line <= text.matches('\n').count() + 1);
        }
    }

    /// An imported rule restricts everything that its original restricted.
    #[test]
    fn nothing_is_lost_of_a_rule_that_restricts(
        pattern in "[abc]{1,2}( (a|b|-f|\\*|a\\*|\\*b|a\\*b|\\*-f\\*)){0,3}",
        line in "[abc]{1,2}( (a|b|ab|-f|-fx|axb)){0,4}",
    ) {
        if text_fits(&pattern, &line) {
            let any = claude("deny", &format!("Bash({pattern})"), RuleOwner::User);
            if let Ok(any) = any {
                let ground = KnownPaths::default();
                let script = Script::parse(&line, &ShellStart::default());
                let rule = crate::tests::rule("x", Decision::Deny, &any.iter().map(String::as_str).collect::<Vec<_>>());
                let outcome = rule_outcome(&rule.ready().unwrap(), &Subject::script(&script, &ground));
                prop_assert_eq!(outcome, MatchLevel::Match, "{:?}", any);
            }
        }
    }

    /// An imported rule allows nothing that its original did not allow, except for `--`, which Sprag skips.
    #[test]
    fn nothing_is_added_to_a_rule_that_allows(
        pattern in "[abc]{1,2}( (a|b|\\*|a\\*|\\*b|a\\*b)){0,3}",
        line in "[abc]{1,2}( (a|b|ab|-f|axb)){0,4}",
    ) {
        if let Ok(any) = claude("allow", &format!("Bash({pattern})"), RuleOwner::User) {
            let ground = KnownPaths::default();
            let script = Script::parse(&line, &ShellStart::default());
            let rule = crate::tests::rule("x", Decision::Allow, &any.iter().map(String::as_str).collect::<Vec<_>>());
            let set = RuleSet::new([&rule], Strictness::Usual).unwrap();
            if set.judge(&Subject::script(&script, &ground)).verdict == RuleDecision::Allow {
                prop_assert!(text_fits(&pattern, &line), "{:?}", any);
            }
        }
    }
}
