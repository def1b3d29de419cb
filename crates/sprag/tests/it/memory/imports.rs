//! Import of other memories, export, and mirrors.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Sandbox, stored_lines};

const GROVE: &str = "# Grove Learnings\n\n## [cl_1] Avoid N+1 queries in the dashboard\n\n**Category:** Pitfall\n\
**Tags:** performance\n**Files:** src/dashboard.rs\n**Scope:** project\n**Confidence:** high\n**Status:** active\n\n\
Load the users with one query before the loop.\n\n---\n\n## [cl_2] Mine alone and nobody else's\n\n**Category:** domain\n\
**Scope:** personal\n\nThis is for one person and for no project.\n";

fn exported(sandbox: &Sandbox, args: &[&str]) -> Vec<Value> {
    let ran = sandbox.run(args);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn an_import_is_shown_then_written_then_known() {
    let sandbox = Sandbox::new();
    sandbox.write(".grove/learnings.md", GROVE);
    let stats = "{\"ts\":\"2026-02-06T10:00:00Z\",\"event\":\"surfaced\",\"learning_id\":\"cl_1\"}\n\
{\"ts\":\"2026-02-06T10:05:00Z\",\"event\":\"referenced\",\"learning_id\":\"cl_1\"}\nrubbish\n";
    sandbox.write(".grove/stats.log", stats);
    let shown = sandbox.run(&["memory", "import", "grove", "."]);
    insta::assert_snapshot!(shown.told(&sandbox), @r"
    exit 0
    --- stdout
    + pitfall  Avoid N+1 queries in the dashboard
    + domain  Mine alone and nobody else's
    2 new, 2 uses, 0 known, 1 not imported, from 2 files
    nothing was written
      next: sprag memory import grove . --apply
    --- stderr
    not imported: rubbish: not JSON
    ");
    assert_eq!(stored_lines(&sandbox.store()), Vec::<String>::new());
    let applied = sandbox.json(&["memory", "import", "grove", ".", "--apply", "--json"]);
    assert_eq!((applied["new"].as_array().unwrap().len(), &applied["applied"]), (2, &json!(true)));
    let lines = stored_lines(&sandbox.store());
    assert_eq!(lines.len(), 3);
    let again = sandbox.json(&["memory", "import", "grove", ".grove/learnings.md", "--apply", "--json"]);
    assert_eq!((&again["known"], again["new"].as_array().unwrap().len()), (&json!(2), 0));
    assert_eq!(stored_lines(&sandbox.store()), lines);
    let own = exported(&sandbox, &["memory", "export", "--personal"]);
    assert_eq!(own.len(), 2);
    assert!(lines.iter().all(|line| !line.contains("Mine alone")), "what is personal is not the project's");

    let learnings = exported(&sandbox, &["memory", "export"]);
    assert_eq!(learnings.len(), 1);
    assert_eq!(learnings[0]["summary"], "Avoid N+1 queries in the dashboard");
    assert_eq!(
        (&learnings[0]["origin"]["via"], &learnings[0]["confidence"]),
        (&json!("import grove"), &json!("high"))
    );
    assert_eq!(learnings[0]["status"], "active");
    let markdown = sandbox.run(&["memory", "export", "--format", "markdown"]).stdout;
    assert!(markdown.starts_with("## Avoid N+1 queries in the dashboard\n"), "{markdown}");
}

#[test]
fn every_source_can_be_read_from_a_folder() {
    for (source, file, text) in [
        (
            "loom",
            "doc/loom/knowledge/mistakes.md",
            "## Mount order\n\nThe broad mount must come first in the list.\n",
        ),
        (
            "mcp",
            "memory.jsonl",
            "{\"type\":\"entity\",\"name\":\"parser\",\"entityType\":\"part\",\"observations\":[\"Drops the last line\"]}\n",
        ),
        ("claude-md", "CLAUDE.md", "## Lessons\n- Never run the migration twice in a row\n"),
        (
            "total-recall",
            "memory/registers/decisions.md",
            "# Decisions\n- Use SQLite for the cache, it is one file\n",
        ),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write(file, text);
        let found = sandbox.json(&["memory", "import", source, ".", "--apply", "--json"]);
        assert_eq!(found["new"].as_array().unwrap().len(), 1, "{source}: {found}");
        let learning = exported(&sandbox, &["memory", "export"]).remove(0);
        assert_eq!(learning["confidence"], "low", "{source}");
        let again = sandbox.json(&["memory", "import", source, file, "--apply", "--json"]);
        assert_eq!(again["known"], 1, "{source}: {again}");
    }
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["memory", "import", "grove", "."]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("no memory of Grove"), "{}", ran.stderr);
    assert_eq!(sandbox.run(&["memory", "import", "grove", "nowhere"]).code, 2);
}

#[test]
fn what_is_learned_reaches_a_memory_of_the_project() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/rules/total-recall.md", "rules\n");
    fs::create_dir_all(sandbox.project.join("memory")).unwrap();
    sandbox.event("s1", "SessionStart", json!({"source": "startup"}));
    let candidate = |summary: &str, scope: &str| {
        json!({"category": "pitfall", "summary": summary, "scope": scope, "tags": ["parser"],
            "detail": "a file without a final newline loses its last line in src/parser.rs",
            "criteria_met": ["behavior_changing"]})
    };
    let submission = json!({"candidates": [
        candidate("the parser drops the last line of a file", "project"),
        candidate("I want short lines in my editor always", "personal"),
    ]});
    let ran = sandbox.run_with(&["reflect"], submission.to_string().as_bytes());
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let days: Vec<_> = fs::read_dir(sandbox.project.join("memory/daily")).unwrap().flatten().collect();
    let text = fs::read_to_string(days[0].path()).unwrap();
    assert!(text.contains("the parser drops the last line") && !text.contains("editor"), "{text}");
    let listed = sandbox.json(&["memory", "backends", "--ping", "--json"]);
    let recall = &listed["backends"][0];
    assert_eq!(
        (&recall["name"], &recall["used"], &recall["answers"], &recall["waiting"]),
        (&json!("total-recall"), &json!(true), &json!(true), &json!(0))
    );
}

/// An untrusted repository names a server to start.
#[test]
fn a_project_starts_no_server_of_its_own() {
    let sandbox = Sandbox::new();
    let mark = sandbox.project.join("started");
    let command = format!("[backends.mcp]\ncommand = [\"/bin/sh\", \"-c\", \"touch {}\"]\n", mark.display());
    sandbox.write(".sprag/config.toml", &command);
    let mut sandbox = sandbox;
    sandbox
        .vars
        .push(("SPRAG_BACKENDS__MCP__COMMAND".to_owned(), format!("/usr/bin/touch,{}", mark.display())));
    sandbox.event("s1", "SessionStart", json!({"source": "startup"}));
    let submission = json!({"candidates": [{"category": "pitfall", "summary": "the parser drops the last line of a file",
        "detail": "a file without a final newline loses its last line in src/parser.rs", "tags": ["parser"],
        "criteria_met": ["behavior_changing"]}]});
    sandbox.run_with(&["reflect"], submission.to_string().as_bytes());
    let listed = sandbox.json(&["memory", "backends", "--ping", "--json"]);
    assert_eq!(listed["backends"][1]["used"], false, "{listed}");
    assert!(!mark.exists());
}

#[test]
fn what_others_know_is_ranked_with_ours() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/rules/total-recall.md", "rules\n");
    let text =
        "# Stack\n\n- The parser needs clang 17 on every build machine\n- Lunch is at noon on most days\n";
    sandbox.write("memory/registers/tech-stack.md", text);
    let own = sandbox.json(&["search", "which compiler does the parser need: clang", "--all", "--json"]);
    assert_eq!(own["hits"], json!([]));
    let all = sandbox.json(&[
        "search",
        "which compiler does the parser need: clang",
        "--all",
        "--backends",
        "--json",
    ]);
    let hits = all["hits"].as_array().unwrap();
    assert_eq!(hits[0]["summary"], "The parser needs clang 17 on every build machine", "{all}");
    assert!(hits[0]["id"].as_str().unwrap().starts_with("total-recall:tech-stack:"), "{all}");
}

#[test]
fn a_path_that_leads_nowhere_is_the_callers_mistake() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["memory", "import", "grove", "no/such/file.md"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("does not exist") && ran.stderr.contains("next: "), "{}", ran.stderr);
}
