//! Tests with memories as other programs write them and as users edit them.

use super::*;
use crate::learning::{Category, Confidence, LearningScope};

fn read(importer: &str, name: &str, text: &str) -> ImportedMemory {
    (find(importer).unwrap().read)(&ImportText { name, text })
}

/// Renders each draft: category and summary, or its fault.
fn told(importer: &str, name: &str, text: &str) -> Vec<String> {
    let drafts = read(importer, name, text).drafts;
    let told = |draft: &LearningDraft| match draft.candidate(find(importer).unwrap()) {
        Ok(candidate) => format!("{} {}", candidate.category.name(), candidate.summary),
        Err(fault) => format!("not: {fault}"),
    };
    drafts.iter().map(told).collect()
}

const GROVE: &str = "\
# Grove Learnings

## [cl_20260206_001] Avoid N+1 queries in UserDashboard

**Category:** Pitfall
**Tags:** #performance, queries
**Files:** src/dashboard.rs, src/user.rs
**Scope:** team
**Confidence:** High
**Status:** active
**Created:** 2026-02-06T10:00:00Z
**Criteria:** behavior-changing, stable fact

Load the users with one query before the loop.

```sh
## [not_a_heading] it is code
```

---

### [cl_20260206_002] Short detail here
- **Category:** convention
- **Status:** archived (decayed 2026-05-07)

tiny

## Notes without an id
text
";

#[test]
fn grove_blocks_become_candidates() {
    let read = read("grove", "learnings.md", GROVE);
    assert_eq!(read.drafts.len(), 2);
    assert_eq!(read.passed.len(), 1);
    let grove = find("grove").unwrap();
    let first = read.drafts[0].candidate(grove).unwrap();
    assert_eq!(
        (first.category, first.scope, first.confidence),
        (Category::Pitfall, LearningScope::Team, Confidence::High)
    );
    assert_eq!(first.tags.iter().map(Text::as_str).collect::<Vec<_>>(), ["performance", "queries"]);
    assert_eq!(first.context_files.len(), 2);
    assert_eq!(first.criteria_met.len(), 2);
    assert!(first.detail.as_str().contains("not_a_heading"), "{}", first.detail);
    assert_eq!(read.drafts[0].at, Timestamp::parse("2026-02-06T10:00:00Z"));
    assert!(read.drafts[0].at.is_some());
    let second = read.drafts[1].candidate(grove).unwrap();
    assert_eq!((second.category, second.confidence), (Category::Convention, Confidence::Low));
    assert_eq!(read.drafts[1].fate, ImportedFate::Archived);
    assert!(second.detail.as_str().contains("tiny"));
    assert_ne!(read.drafts[0].idem(grove), read.drafts[1].idem(grove));
}

#[test]
fn grove_events_are_uses() {
    let log = r#"{"ts":"2026-02-06T10:00:00Z","event":"surfaced","learning_id":"L1","session_id":"a"}
{"ts":"2026-02-06T10:05:00Z","event":"referenced","learning_id":"L1","session_id":"a","ticket_id":"T"}
{"torn
{"ts":"2026-02-06T11:00:00Z","event":"archived","learning_id":"L2","reason":"passive_decay"}
{"ts":"2026-02-06T11:00:00Z","event":"reflection","candidates":5}
{"ts":"x","event":"dismissed","learning_id":"L1"}
"#;
    let read = read("grove", "stats.log", log);
    let what: Vec<ImportedUseKind> = read.uses.iter().map(|used| used.what).collect();
    assert_eq!(
        what,
        [
            ImportedUseKind::Surfaced,
            ImportedUseKind::Referred,
            ImportedUseKind::Archived,
            ImportedUseKind::Dismissed
        ]
    );
    assert_eq!(read.passed.len(), 1);
    assert_eq!(read.uses[3].at, None);
}

#[test]
fn loom_knowledge_is_a_heading_and_its_text() {
    let text = "\
# Mistakes

Intro of the file.

## Mount order inversion (2026-01-19)

Mounts are applied in the order of the list, so the broad one must come first.

## Hooks

### Ownership

The directory of hooks must belong to the user that runs them.

### Empty

";
    assert_eq!(
        told("loom", "mistakes.md", text),
        ["pitfall Mount order inversion (2026-01-19)", "pitfall Hooks: Ownership"]
    );
    assert_eq!(told("loom", "INDEX.md", text), Vec::<String>::new());
    assert_eq!(
        told("loom", "stack.md", "## Versions\n\nRust 1.91 or later is needed here.\n"),
        ["dependency stack: Versions"]
    );
}

#[test]
fn a_memory_graph_is_its_entities() {
    let text = r#"{"type":"entity","name":"parser","entityType":"component","observations":["Drops the last line of a file","Is slow"]}
{"type":"relation","from":"parser","to":"lexer","relationType":"uses"}
not json
{"type":"entity","name":"0192aaaa-one","entityType":"learning","observations":["summary: The lexer needs a newline","detail: It drops the last line of a file without.","category: pitfall","tag: lexer","file: src/lexer.rs","confidence: high","status: archived"]}
{"type":"entity","name":"x","entityType":"","observations":[]}
"#;
    let read = read("mcp", "memory.jsonl", text);
    assert_eq!(
        told("mcp", "memory.jsonl", text),
        [
            "domain parser: Drops the last line of a file",
            "pitfall The lexer needs a newline",
            "not: `x:` is too short",
        ]
    );
    assert!(read.drafts[0].fields["detail"].as_str().unwrap().contains("uses lexer"));
    assert_eq!(read.drafts[1].fate, ImportedFate::Archived);
    assert_eq!(read.passed.len(), 1);
}

#[test]
fn only_lessons_of_the_instructions_are_taken() {
    let text = "\
# Project

## Commands
- cargo test runs all the tests

## Lessons learned
- Never run the migration twice. It drops
  the index of the table.
- **Tests** need a terminal, so start them with script(1)
- short

### From the release
1. Tag the commit before the build starts

## Style
- Four spaces everywhere, no tabs at all
";
    assert_eq!(
        told("claude-md", "CLAUDE.md", text),
        [
            "pitfall Never run the migration twice.",
            "pitfall Tests need a terminal, so start them with script(1)",
            "not: `short` is too short",
            "pitfall Tag the commit before the build starts",
        ]
    );
    assert_eq!(read("claude-md", "CLAUDE.md", text).passed.len(), 2);
}

#[test]
fn registers_are_lists_of_points() {
    let text = "# Decisions\n\n## Storage\n\n- Use SQLite for the cache because it is one file\n- [superseded] Use Redis for the cache\n";
    assert_eq!(
        told("total-recall", "decisions.md", text),
        ["process Use SQLite for the cache because it is one file"]
    );
    assert_eq!(told("total-recall", "open-loops.md", text), Vec::<String>::new());
}

/// Any content is read without a panic, and every draft has an origin.
#[test]
fn any_text_is_read() {
    let pieces = [
        "",
        "#",
        "# ",
        "## [",
        "## []",
        "## [x]",
        "## [x] ",
        "```",
        "~~~\n# a",
        "- ",
        "**:**",
        "- **a:**",
        "{",
        "{}",
        "[]",
        "null",
        "\u{0}",
        "é## [é] é",
        "######## x",
        "1. x",
        "99999999. x",
        r#"{"type":"entity"}"#,
        r#"{"type":"entity","name":"n","observations":7}"#,
        r#"{"event":"surfaced"}"#,
        "<!-- x",
        "## [a] **Category:** b",
    ];
    for importer in IMPORTERS {
        for first in pieces {
            for second in pieces {
                let text = format!("{first}\n{second}\n{first}");
                for draft in (importer.read)(&ImportText { name: "x.md", text: &text }).drafts {
                    let fate = draft.candidate(importer);
                    assert!(fate.is_ok() || fate.is_err_and(|fault| !fault.is_empty()));
                }
            }
        }
    }
}

#[test]
fn a_secret_is_not_taken_over() {
    let text = "## Lessons\n- The deploy needs ghp_0123456789abcdefghij0123456789abcdef as its token\n";
    let told = told("claude-md", "CLAUDE.md", text);
    assert_eq!(told, ["pitfall The deploy needs [redacted:github_token] as its token"]);
}
