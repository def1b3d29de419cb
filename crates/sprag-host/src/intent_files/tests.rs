use sprag_intent::{CriterionProof, Intent, IntentOrigin, IntentSharing, IntentStatus, Ownership};

use super::edit;
use super::file::{self, Entries};

const TEXT: &str = "\
# What we work on.
version: 2
active_intents:
  - id: INT-1  # the first
    name: 'Sign in'
    status: IN_PROGRESS
    constraints:
      - no new dependencies
    owned_scope:
      - src/auth/**
      - \"!src/auth/gen/**\"
    acceptance_criteria:
      - it works
      - {id: tests, text: tests pass, check: make test}
    owner: ann
    labels: [a, 2, true]
  - id: INT-2
    name: Ünicode ö
    exclusive: true
    owned_scope: [docs/**, 'README.md']
";

fn read(text: &str) -> Entries {
    file::read(text, IntentOrigin::Sprag)
}

#[test]
fn a_file_is_read_as_it_is_meant() {
    let entries = read(TEXT);
    assert_eq!((entries.bad, entries.warnings), (vec![], vec![]));
    let [one, two] = entries.intents.as_slice() else { panic!("{:?}", entries.intents) };
    assert_eq!(
        (one.id.as_str(), one.name.as_str(), one.status),
        ("INT-1", "Sign in", IntentStatus::InProgress)
    );
    assert_eq!(one.line, 4);
    assert_eq!(one.owned, Ownership::Globs(vec!["src/auth/**".to_owned(), "!src/auth/gen/**".to_owned()]));
    assert_eq!(one.criteria[0].proof, CriterionProof::Word);
    assert_eq!(
        (one.criteria[1].key.as_str(), &one.criteria[1].proof),
        ("tests", &CriterionProof::Check("make test".to_owned()))
    );
    assert_eq!(
        serde_json::Value::Object(file::rest(one)),
        serde_json::json!({"owner": "ann", "labels": ["a", 2, true]})
    );
    assert_eq!((two.sharing, two.status), (IntentSharing::Exclusive, IntentStatus::NotStarted));
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let entry = |rest: &str| format!("active_intents:\n  - id: A\n    {rest}\n");
    let bad_id = |id: &str| format!("active_intents:\n  - id: {id}\n    owned_scope: []\n");
    for (text, place, part) in [
        (entry("owned_scope: ['../x']"), "3:19", "relative"),
        (entry("owned_scope: [!src/x]"), "3:19", "quote a value"),
        (entry("owned_scope: x"), "3:18", "list"),
        (entry("status: OPEN"), "3:13", "unknown status"),
        (entry("name: [x]"), "3:11", "text"),
        (entry("name: x\n    name: y"), "4:5", "twice"),
        (entry("exclusive: 7"), "3:16", "true or false"),
        (entry("owned_scope: ['{a']"), "3:19", "brace"),
        (entry("name: \"x"), "3:11", ""),
        (bad_id("a b"), "2:9", "not an id"),
        (bad_id("''"), "2:9", "not an id"),
        (bad_id(&"x".repeat(65)), "2:9", "not an id"),
        (bad_id("[A]"), "2:9", "text"),
        ("active_intents:\n  - id: A\n  - name: x\n".to_owned(), "3:5", "without"),
        ("active_intents:\n  - id: A\n  - id: B\n  - id: A\n".to_owned(), "4:9", "line 2"),
        ("intents: []\n".to_owned(), "1:1", "active_intents"),
        ("- a\n".to_owned(), "1:1", "starts with"),
        ("active_intents: 3\n".to_owned(), "1:17", "list"),
        ("a: 1\n---\nb: 2\n".to_owned(), "2:1", "second document"),
        ("active_intents: [\n".to_owned(), "2:1", ""),
    ] {
        let entries = read(&text);
        let told: Vec<String> = entries.bad.iter().map(ToString::to_string).collect();
        let is_told = |told: &String| {
            told.starts_with(&format!(".sprag/intents.yaml:{place}: ")) && told.contains(part)
        };
        assert!(told.iter().any(is_told), "{text}\n{told:?}");
    }
    assert!(
        read("").bad.is_empty()
            && read("active_intents:\n").bad.is_empty()
            && read("# nothing\n").bad.is_empty()
    );
}

#[test]
fn a_foreign_file_is_taken_more_kindly() {
    let text = "active_intents:\n  - id: A\n    status: BLOCKED\n";
    let theirs = file::read(text, IntentOrigin::Orchestration);
    assert_eq!((theirs.bad.len(), theirs.warnings.len()), (0, 2));
    assert_eq!(theirs.intents[0].owned, Ownership::Everything);
    assert_eq!(read("active_intents:\n  - id: A\n").intents[0].owned, Ownership::Nothing);
}

#[test]
fn hostile_files_are_mistakes_and_cost_little() {
    let mut bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (this, last) in [("b", "a"), ("c", "b"), ("d", "c"), ("e", "d"), ("f", "e"), ("g", "f"), ("h", "g")] {
        bomb.push_str(&format!("{this}: &{this} [{}]\n", vec![format!("*{last}"); 9].join(", ")));
    }
    bomb.push_str("active_intents: *h\n");
    let many_keys: String = (0..200_000).map(|at| format!("k{at}: 1\n")).collect();
    let hostile = [
        bomb,
        "[".repeat(1_000_000),
        "{a: ".repeat(200_000),
        "- ".repeat(400_000),
        "? ".repeat(400_000),
        format!("active_intents:\n  - id: A\n    x: {}", "a ".repeat(400_000)),
        format!("active_intents: [{}]", "{id: A},".repeat(100_000)),
        format!("active_intents: [{}]", "a,".repeat(400_000)),
        many_keys,
        format!("active_intents: \"{}", "\\x".repeat(400_000)),
        format!("active_intents: {}", "&a ".repeat(300_000)),
        "\u{0}\u{1}active_intents: []".to_owned(),
        "%YAML 9.9\n---\nactive_intents: []\n%".to_owned(),
        format!("a: |\n{}", " \n".repeat(400_000)),
        "'".repeat(900_000),
        ": ".repeat(400_000),
        "!<".repeat(400_000),
        format!("#{}", "x".repeat(900_000)),
    ];
    for text in hostile {
        let entries = read(&text);
        let shown: String = text.chars().take(40).collect();
        // A long text or comment is not a mistake.
        let is_fine = text.contains("x: a a") || text.starts_with('#');
        assert_eq!((entries.bad.is_empty(), entries.intents.len() <= 1), (is_fine, true), "{shown}");
    }
}

#[test]
fn a_status_is_changed_in_place() {
    let one = edit::with_status(TEXT, IntentOrigin::Sprag, "INT-1", IntentStatus::Done).unwrap();
    assert_eq!(one, TEXT.replace("IN_PROGRESS", "DONE"));
    let two = edit::with_status(TEXT, IntentOrigin::Sprag, "INT-2", IntentStatus::InProgress).unwrap();
    assert_eq!(two, TEXT.replace("- id: INT-2\n", "- id: INT-2\n    status: IN_PROGRESS\n"));
    assert_eq!(edit::with_status(TEXT, IntentOrigin::Sprag, "INT-3", IntentStatus::Done), None);
    // A flow map has no line for a new key.
    let flow = "active_intents: [{id: A}]\n";
    assert_eq!(edit::with_status(flow, IntentOrigin::Sprag, "A", IntentStatus::Done), None);
    let flow = "active_intents: [{id: A, status: NOT_STARTED}]\n";
    assert_eq!(
        edit::with_status(flow, IntentOrigin::Sprag, "A", IntentStatus::Done).as_deref(),
        Some("active_intents: [{id: A, status: DONE}]\n")
    );
}

#[test]
fn a_scope_is_widened_in_place() {
    let add = |text: &str, id: &str| edit::with_pattern(text, IntentOrigin::Sprag, id, "lib/x y/**");
    let one = add(TEXT, "INT-1").unwrap();
    let dashes = "      - \"!src/auth/gen/**\"\n";
    assert_eq!(one, TEXT.replace(dashes, &format!("{dashes}      - \"lib/x y/**\"\n")));
    let two = add(TEXT, "INT-2").unwrap();
    assert_eq!(two, TEXT.replace("'README.md'", "'README.md', \"lib/x y/**\""));
    for text in [
        "active_intents:\n- id: A\n",
        "active_intents:\n- id: A\n  owned_scope: []\n",
        "active_intents:\n- id: A\n  owned_scope:\n  - a # b\n  name: x\n",
        "active_intents:\n- id: A\n  owned_scope:\n  - a",
        "active_intents:\r\n- id: A\r\n  owned_scope:\r\n  - a\r\n",
    ] {
        let new = add(text, "A").unwrap_or_else(|| panic!("{text}"));
        let globs = |intent: &Intent| intent.owned.globs().last().cloned();
        assert_eq!(globs(&read(&new).intents[0]).as_deref(), Some("lib/x y/**"), "{new}");
    }
}

#[test]
fn an_intent_is_added_at_the_end() {
    let patterns = ["src/**".to_owned()];
    let new = edit::with_intent(TEXT, "INT-3", "a: \"b\" # c", &patterns).unwrap();
    assert!(new.starts_with(TEXT));
    let intents = read(&new).intents;
    assert_eq!((intents.len(), intents[2].name.as_str()), (3, "a: \"b\" # c"));
    for text in ["", "active_intents:\n", "active_intents:\n- id: A\n  name: x\n"] {
        assert!(edit::with_intent(text, "B", "b", &[]).is_some(), "{text}");
    }
    assert_eq!(edit::with_intent("active_intents: []\n", "B", "b", &[]), None);
    assert_eq!(edit::with_intent(TEXT, "INT-1", "again", &[]), None);
}
