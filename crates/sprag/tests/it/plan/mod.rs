//! Plans from outside: `plan new`, `plan check` and `plan graph`.

use std::fs;

use serde_json::json;

use crate::support::Sandbox;

const PLAN: &str = "\
# Shop

Sell things.

```yaml sprag
version: 1
name: shop
slots: 2
gates: [make gate]
stages:
  - {id: model, working_dir: ., files: ['model/**'], acceptance: [make model]}
  - {id: view, working_dir: ., files: ['view/**'], acceptance: [make view], dependencies: [model]}
  - {id: words, working_dir: ., files: ['docs/**'], artifacts: ['docs/*.md']}
  - id: all
    type: integration-verify
    working_dir: .
    dependencies: [view, words]
    truths: [make all]
```
";

fn with_plan(text: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("plan.md", text);
    sandbox
}

#[test]
fn a_new_plan_has_nothing_wrong() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["plan", "new", "shop"]);
    assert_eq!(
        ran.told(&sandbox),
        "exit 0\n--- stdout\nwrote plan `shop` to `plans/shop.md`\n  next: sprag plan check plans/shop.md"
    );
    let ran = sandbox.run(&["plan", "check", "plans/shop.md", "--strict"]);
    assert_eq!(ran.told(&sandbox), "exit 0\n--- stdout\nplan `shop`: 3 stages, no problems");
    // It is not written over.
    sandbox.write("plans/shop.md", "mine");
    let ran = sandbox.run(&["plan", "new", "shop"]);
    assert_eq!(
        ran.told(&sandbox),
        "exit 1\n--- stderr\nsprag: file `plans/shop.md` already exists\n  next: sprag plan check plans/shop.md"
    );
    assert_eq!(fs::read_to_string(sandbox.project.join("plans/shop.md")).unwrap(), "mine");
    assert_eq!(sandbox.run(&["plan", "new", "My Shop"]).code, 2);
    assert_eq!(sandbox.json(&["plan", "new", "other", "--file", "p.md", "--json"])["file"], "p.md");
}

#[test]
fn a_new_plan_is_not_written_through_a_link() {
    let sandbox = Sandbox::new();
    let elsewhere = sandbox.home.join("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, sandbox.project.join("plans")).unwrap();
    assert_eq!(sandbox.run(&["plan", "new", "shop"]).code, 4);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn all_problems_are_told_at_once() {
    let text = PLAN
        .replace("slots: 2", "slot: 2")
        .replace("dependencies: [model]", "dependencies: [modle]")
        .replace("working_dir: .\n", "working_dir: ..\n");
    let sandbox = with_plan(&text);
    let ran = sandbox.run(&["plan", "check", "plan.md"]);
    assert_eq!(
        ran.told(&sandbox),
        "exit 1\n--- stdout\n\
        plan.md:8:1 unknown-field a plan has no field `slot`, did you mean `slots`?\n\
        plan.md:12:92 unknown-dependency stage `view` depends on unknown stage `modle`, did you mean `model`?\n\
        plan.md:16:18 traversal stage `all`: `working_dir`: `..` leads out of the worktree, write a relative path without `..`"
    );
    let told = sandbox.json(&["plan", "check", "plan.md", "--json"]);
    assert_eq!(told["problems"][0]["code"], "unknown-field");
    assert_eq!((&told["problems"][2]["line"], &told["problems"][2]["column"]), (&json!(16), &json!(18)));
    // A command that needs a valid plan reports the same problems.
    let ran = sandbox.run(&["plan", "graph", "plan.md"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("plan.md:12:92 unknown-dependency")
            && ran.stderr.contains("sprag plan check plan.md")
    );
}

#[test]
fn a_circle_is_told_as_the_way_around() {
    let sandbox =
        with_plan(&PLAN.replace("acceptance: [make model]", "acceptance: [make model], dependencies: [all]"));
    let ran = sandbox.run(&["plan", "check", "plan.md"]);
    assert!(ran.stdout.contains(" cycle stages wait for each other: "), "{}", ran.stdout);
    assert!(ran.stdout.contains("view -> all") && ran.stdout.contains("all -> model"), "{}", ran.stdout);
}

#[test]
fn a_warning_is_an_error_only_if_that_is_wanted() {
    let sandbox = with_plan(&PLAN.replace("'docs/**'", "'**/*.md'"));
    let ran = sandbox.run(&["plan", "check", "plan.md"]);
    assert_eq!(
        ran.told(&sandbox),
        "exit 0\n--- stdout\n\
        warning: plan.md:13:10 overlap stages `model` and `words` may run at the same time and change the same files (`model/**` and `**/*.md`), make one depend on the other, or narrow their scopes\n\
        warning: plan.md:13:10 overlap stages `view` and `words` may run at the same time and change the same files (`view/**` and `**/*.md`), make one depend on the other, or narrow their scopes\n\
        plan `shop`: 4 stages, 2 warnings"
    );
    assert_eq!(sandbox.run(&["plan", "check", "plan.md", "--strict"]).code, 1);
    let told = sandbox.json(&["plan", "check", "plan.md", "--json"]);
    assert_eq!(
        (told["problems"].as_array().unwrap().len(), told["warnings"].as_array().unwrap().len()),
        (0, 2)
    );
}

#[test]
fn intents_are_those_of_the_repository() {
    let sandbox = with_plan(&PLAN.replace("files: ['model/**']", "intents: [MODEL]"));
    let ran = sandbox.run(&["plan", "check", "plan.md"]);
    assert!(
        ran.stdout.contains("unknown-intent stage `model`: there is no intent `MODEL`"),
        "{}",
        ran.stdout
    );
    sandbox.write(".sprag/intents.yaml", "active_intents:\n  - {id: MODEL, owned_scope: ['model/**']}\n");
    assert_eq!(sandbox.run(&["plan", "check", "plan.md", "--strict"]).code, 0);
    let shown = sandbox.json(&["plan", "show", "plan.md", "model", "--json"]);
    assert_eq!(shown["stage"]["scope"]["globs"], json!(["model/**"]));
    sandbox.write(".sprag/intents.yaml", "active_intents: 3\n");
    let ran = sandbox.run(&["plan", "check", "plan.md"]);
    assert!(
        ran.stdout.contains("unread-intents") && ran.stdout.contains("`sprag intent check`"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_graph_by_levels_and_for_those_who_draw() {
    let sandbox = with_plan(PLAN);
    let ran = sandbox.run(&["plan", "graph", "plan.md"]);
    assert_eq!(
        ran.told(&sandbox),
        "exit 0\n--- stdout\n\
        level 0\n  model\n  words\nlevel 1\n  view <- model\nlevel 2\n  all <- view, words\n\
        critical path: model -> view -> all\n3 of 4 stages are on it; 2 could run at the same time, the limit is 2"
    );
    let graph = sandbox.json(&["plan", "graph", "plan.md", "--json"]);
    assert_eq!(graph["levels"], json!([["model", "words"], ["view"], ["all"]]));
    assert_eq!(graph["critical_path"], json!(["model", "view", "all"]));
    let dot = sandbox.run(&["plan", "graph", "plan.md", "--dot"]).stdout;
    assert!(dot.starts_with("digraph \"shop\" {") && dot.contains("  \"model\" -> \"view\";\n"), "{dot}");
    let mermaid = sandbox.run(&["plan", "graph", "plan.md", "--mermaid"]).stdout;
    assert!(mermaid.contains("  s0[\"model\"]\n") && mermaid.contains("  s0 --> s1\n"), "{mermaid}");
    assert_eq!(sandbox.run(&["plan", "graph", "plan.md", "--dot", "--json"]).code, 2);
}

#[test]
fn a_plan_is_shown_as_it_is_understood() {
    let sandbox = with_plan(PLAN);
    let ran = sandbox.run(&["plan", "show", "plan.md"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for part in ["plan shop", "integration-verify", "would run", "  make gate", "  make all", "  claude"] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    assert_eq!(ran.stdout.matches("  claude\n").count(), 1);
    let shown = sandbox.json(&["plan", "show", "plan.md", "--json"]);
    assert_eq!(shown["digest"], sandbox.json(&["plan", "check", "plan.md", "--json"])["digest"]);
    assert_eq!(shown["plan"]["stages"][1]["context_budget"], 75);
    let ran = sandbox.run(&["plan", "show", "plan.md", "view"]);
    assert!(
        ran.stdout.contains("after        model") && ran.stdout.contains("  - make view"),
        "{}",
        ran.stdout
    );
    let ran = sandbox.run(&["plan", "show", "plan.md", "vew"]);
    assert_eq!(
        ran.told(&sandbox),
        "exit 1\n--- stderr\nsprag: the plan has no stage `vew`\n  next: sprag plan show plan.md view"
    );
}

#[test]
fn what_is_no_file_of_a_plan_is_refused() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["plan", "check", "none.md"]);
    assert_eq!(
        ran.told(&sandbox),
        "exit 1\n--- stderr\nsprag: there is no file `none.md`\n  next: sprag plan new NAME"
    );
    fs::create_dir_all(sandbox.project.join("dir")).unwrap();
    assert_eq!(sandbox.run(&["plan", "check", "dir"]).code, 1);
    sandbox.write("long.md", &"x".repeat(1024 * 1024 + 1));
    assert!(sandbox.run(&["plan", "check", "long.md"]).stdout.contains("long.md:1:1 too-long"));
    fs::write(sandbox.project.join("bytes.md"), b"a\nb\xff").unwrap();
    assert!(sandbox.run(&["plan", "check", "bytes.md"]).stdout.starts_with("bytes.md:2:2 not-text"));
    // No text of the plan moves the cursor or starts a new line.
    sandbox.write("evil.md", "```yaml sprag\n\"a\\e[31m\\nb\": 1\n```\n");
    let ran = sandbox.run(&["plan", "check", "evil.md"]);
    assert!(!ran.stdout.contains('\u{1b}') && ran.stdout.contains("no field `a [31m b`"), "{}", ran.stdout);
}
