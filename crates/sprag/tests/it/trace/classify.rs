//! `sprag trace classify`: change sets as lines, commits and the index.

use serde_json::{Value, json};

use crate::support::{Ran, Sandbox};

const BEFORE: &str = "fn f(x: u8) -> u8 {\n    let a = x;\n    a + 1\n}\n";
const RENAMED: &str = "fn f(x: u8) -> u8 {\n    let value = x;\n    value + 1\n}\n";
const OTHER: &str = "fn f(x: u8) -> u8 {\n    let a = x;\n    a + 2\n}\n";

fn texts(id: &str, before: &str, after: &str) -> String {
    let file = json!({"path_before": "src/a.rs", "path_after": "src/a.rs", "before_text": before, "after_text": after});
    json!({"id": id, "files": [file], "label": "never read"}).to_string() + "\n"
}

fn ask(sandbox: &Sandbox, args: &[&str], lines: &str) -> Ran {
    let args: Vec<&str> = ["trace", "classify", "--jsonl"].into_iter().chain(args.iter().copied()).collect();
    sandbox.run_with(&args, lines.as_bytes())
}

fn commit(sandbox: &Sandbox, message: &str) {
    sandbox.git(&["add", "-A"]);
    let done = sandbox.git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", message]);
    assert!(done.status.success());
}

fn answers(ran: &Ran) -> Vec<Value> {
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn lines_are_answered_in_order_with_all_their_keys() {
    let sandbox = Sandbox::without_git();
    let lines =
        texts("one", BEFORE, RENAMED) + &texts("two", BEFORE, OTHER) + &texts("three", "fn f( {", OTHER);
    let ran = ask(&sandbox, &[], &lines);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let told = answers(&ran);
    let ids: Vec<&Value> = told.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, ["one", "two", "three"]);
    assert!(ran.stdout.lines().all(|line| {
        ["id", "verdict", "class", "level", "reason", "witness", "proof", "api"]
            .iter()
            .all(|key| line.contains(&format!("\"{key}\":")))
    }));
    assert_eq!(
        (&told[0]["verdict"], &told[0]["class"], &told[0]["level"]),
        (&json!("PROVED"), &json!("AST_REFACTOR"), &json!("L2"))
    );
    assert_eq!(told[0]["proof"]["before_root"], told[0]["proof"]["after_root"]);
    assert_eq!(told[1]["verdict"], "CHANGED");
    let place = json!({"path": "src/a.rs", "unit": "f", "before": {"line": 3, "text": "1"}, "after": {"line": 3, "text": "2"}});
    assert_eq!(told[1]["witness"], place);
    assert_eq!(
        (&told[2]["verdict"], &told[2]["reason"], &told[2]["proof"]),
        (&json!("UNPROVEN"), &json!("parse_error"), &Value::Null)
    );
}

#[test]
fn any_number_of_jobs_gives_the_same_bytes() {
    let sandbox = Sandbox::without_git();
    let lines: String =
        (0..40).map(|n| texts(&format!("n{n}"), BEFORE, if n % 3 == 0 { OTHER } else { RENAMED })).collect();
    let alone = ask(&sandbox, &["--jobs", "1"], &lines).stdout;
    assert_eq!(alone.lines().count(), 40);
    assert_eq!(alone, ask(&sandbox, &["--jobs", "7"], &lines).stdout);
}

#[test]
fn a_bad_line_is_told_and_the_next_one_answered() {
    let sandbox = Sandbox::without_git();
    let lines = "no json\n".to_owned()
        + "{\"id\": \"x\"}\n"
        + "{\"id\": \"y\", \"files\": [{\"path_before\": \"a.rs\", \"path_after\": \"a.rs\", \"before\": \"../a.rs\", \"after\": \"missing.rs\"}]}\n"
        + &texts("good", BEFORE, BEFORE);
    let ran = ask(&sandbox, &[], &lines);
    assert_eq!(ran.code, 3);
    let told = answers(&ran);
    let shown: Vec<(&Value, &Value, &Value)> =
        told.iter().map(|answer| (&answer["id"], &answer["line"], &answer["reason"])).collect();
    let bad = json!("bad_input");
    assert_eq!(
        shown,
        [
            (&Value::Null, &json!(1), &bad),
            (&json!("x"), &json!(2), &bad),
            (&json!("y"), &json!(3), &bad),
            (&json!("good"), &Value::Null, &Value::Null),
        ]
    );
}

#[test]
fn files_are_read_below_the_root_and_nothing_else_is() {
    let sandbox = Sandbox::without_git();
    sandbox.write("data/old.py", "def f():\n    return 'x'\n");
    sandbox.write("data/new.py", "def f():\n    return \"x\"  # now\n");
    let line = |after: &str| {
        let file = json!({"path_before": "m.py", "path_after": "m.py", "before": "old.py", "after": after});
        json!({"id": 7, "files": [file]}).to_string() + "\n"
    };
    let ran = ask(&sandbox, &["--root", "data", "--timing"], &line("new.py"));
    let told = answers(&ran);
    assert_eq!((&told[0]["id"], &told[0]["verdict"]), (&json!(7), &json!("PROVED")));
    assert!(told[0]["ms"].as_f64().unwrap() >= 0.0);
    let ran = ask(&sandbox, &["--root", "data"], &line("."));
    assert_eq!((ran.code, &answers(&ran)[0]["reason"]), (3, &json!("bad_input")));
}

#[test]
fn hostile_sources_prove_nothing_and_break_nothing() {
    let sandbox = Sandbox::without_git();
    let deep = format!("fn f() -> u8 {{ {}1{} }}", "(".repeat(10_000), ")".repeat(10_000));
    let long = format!("fn f() {{ let x = \"{}\"; }}", "a".repeat(2_000_000));
    let lines = texts("deep", &deep, &deep.replace('1', "2"))
        + &texts("nul", "fn f() {}\0", "fn f() {}")
        + &texts("long", &long, &long.replace("aa", "b"))
        + &texts("crlf", BEFORE, &BEFORE.replace('\n', "\r\n"))
        + &texts("mark", BEFORE, &format!("\u{feff}{BEFORE}"))
        + &texts("literal", "const A: &str = \"x\ny\";", "const A: &str = \"x\r\ny\";");
    let ran = ask(&sandbox, &[], &lines);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let told = answers(&ran);
    let verdicts: Vec<&str> = told.iter().map(|answer| answer["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["UNPROVEN", "UNPROVEN", "CHANGED", "PROVED", "PROVED", "CHANGED"]);
    assert_eq!((&told[0]["reason"], &told[1]["reason"]), (&json!("too_large"), &json!("binary")));
}

#[test]
fn commits_ranges_and_what_is_staged_are_judged() {
    let sandbox = Sandbox::new();
    let commit = |message: &str| commit(&sandbox, message);
    sandbox.write("src/a.rs", BEFORE);
    commit("first");
    sandbox.write("src/a.rs", RENAMED);
    sandbox.write("README.md", "words\n");
    commit("second");
    let told = sandbox.json(&["trace", "classify", "HEAD", "--json"]);
    assert_eq!((&told["verdict"], &told["level"]), (&json!("PROVED"), &json!("L2")));
    let told = sandbox.run(&["trace", "classify", "HEAD~1..HEAD"]);
    assert_eq!(
        (told.code, told.stdout.lines().next()),
        (0, Some("HEAD~1..HEAD: PROVED at L2, a refactoring"))
    );
    sandbox.write("src/a.rs", OTHER);
    sandbox.git(&["add", "-A"]);
    let told = sandbox.json(&["trace", "classify", "--staged", "--json"]);
    assert_eq!(told["verdict"], "CHANGED");
    // The first commit has no parent.
    let told = sandbox.json(&["trace", "classify", "HEAD~1", "--json"]);
    assert_eq!(told["verdict"], "CHANGED");
    sandbox.write("logo.png", "x");
    sandbox.git(&["add", "-A"]);
    let told = sandbox.json(&["trace", "classify", "--staged", "--json"]);
    assert_eq!((&told["verdict"], &told["reason"]), (&json!("UNPROVEN"), &json!("language")));
}

#[test]
fn a_name_that_somebody_else_in_the_repository_uses_is_not_ours_to_change() {
    let sandbox = Sandbox::new();
    let commit = |message: &str| commit(&sandbox, message);
    let library = |name: &str| format!("def {name}():\n    return 1\n\n\nvalue = {name}()\n");
    sandbox.write("lib/store.py", &library("load"));
    sandbox.write("app.py", "from lib.store import load\n");
    sandbox.write("NOTES.md", "`load` gives one\n");
    commit("first");
    sandbox.write("lib/store.py", &library("fetch"));
    commit("only half of it");
    let told = sandbox.json(&["trace", "classify", "HEAD", "--json"]);
    assert_eq!((&told["verdict"], &told["reason"]), (&json!("UNPROVEN"), &json!("rename_escapes")));
    sandbox.write("app.py", "from lib.store import fetch\n");
    sandbox.git(&["add", "-A"]);
    let told = sandbox.json(&["trace", "classify", "HEAD~1..HEAD", "--json"]);
    assert_eq!(told["verdict"], "UNPROVEN", "what is staged is no part of a commit");
    commit("the other half");
    let told = sandbox.json(&["trace", "classify", "HEAD~2..HEAD", "--json"]);
    assert_eq!((&told["verdict"], &told["proof"]["world"]), (&json!("PROVED"), &json!("tree")));
    // A rename to a name that another file already uses for something else is not proved either.
    sandbox.write("other.py", "def take():\n    return 2\n");
    commit("something else");
    sandbox.write("lib/store.py", &library("take"));
    sandbox.write("app.py", "from lib.store import take\n");
    sandbox.git(&["add", "-A"]);
    let told = sandbox.json(&["trace", "classify", "--staged", "--json"]);
    assert_eq!((&told["verdict"], &told["reason"]), (&json!("UNPROVEN"), &json!("rename_escapes")));
}

#[test]
fn a_moved_file_that_others_still_look_for_is_no_mere_move() {
    let sandbox = Sandbox::new();
    sandbox.write("a/util.py", "x = 1\n");
    sandbox.write("a/tool.py", "y = 1\n");
    sandbox.write("app.py", "from a.util import x\n");
    commit(&sandbox, "first");
    sandbox.git(&["mv", "a/util.py", "util.py"]);
    let told = sandbox.json(&["trace", "classify", "--staged", "--json"]);
    assert_eq!((&told["verdict"], &told["reason"]), (&json!("UNPROVEN"), &json!("rename_escapes")));
    sandbox.git(&["mv", "util.py", "a/util.py"]);
    sandbox.git(&["mv", "a/tool.py", "tool.py"]);
    let told = sandbox.json(&["trace", "classify", "--staged", "--json"]);
    assert_eq!(told["verdict"], "PROVED");
}

#[test]
fn a_change_that_is_not_there_is_an_answer_of_its_own() {
    let sandbox = Sandbox::new();
    let told = sandbox.run(&["trace", "classify", "nowhere"]);
    assert_eq!(told.code, 1);
    assert!(told.stderr.contains("git cannot read the changes of `nowhere`"), "{}", told.stderr);
    assert_eq!(sandbox.run(&["trace", "classify"]).code, 2);
    assert_eq!(sandbox.run(&["trace", "classify", "HEAD", "--jsonl"]).code, 2);
}
