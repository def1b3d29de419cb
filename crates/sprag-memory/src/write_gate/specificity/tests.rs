use serde_json::{Value, json};

use super::*;
use crate::learning::schema;

fn candidate(summary: &str, detail: &str, tags: &[&str]) -> Candidate {
    let value = json!({
        "category": "domain", "summary": summary, "detail": detail, "tags": tags, "criteria_met": ["stable_fact"],
    });
    Candidate::read(&value).unwrap()
}

fn score(summary: &str, detail: &str, tags: &[&str], known: &[&str]) -> f32 {
    let known = known.iter().map(|name| (*name).to_owned()).collect();
    specificity(&candidate(summary, detail, tags), &known)
}

/// Statements that are true of every project.
const VAGUE: &[(&str, &str, &[&str])] = &[
    (
        "Always write clean code and test your changes",
        "Clean code is easier to maintain and tests catch bugs early, so make sure to follow best practices.",
        &["code-quality", "testing"],
    ),
    (
        "Understanding the codebase before making changes avoids mistakes",
        "Take time to read the existing code and understand the structure before you change something.",
        &["process"],
    ),
    (
        "Error handling is important for robust applications",
        "Errors should be handled properly everywhere so that users are not surprised.",
        &["errors"],
    ),
    (
        "Good communication is the key to success",
        "Keep everyone informed about progress and ask questions early when something is not clear.",
        &["team", "communication"],
    ),
    (
        "I learned a lot about the codebase today",
        "The project has many modules and various things to discover, which was interesting to work with.",
        &["learning"],
    ),
    (
        "Small commits are better than large ones",
        "Smaller changes are easier to review and easier to understand later.",
        &["git"],
    ),
    (
        "Performance matters and should be considered early",
        "Slow code is a problem for users, so think about performance when designing a feature.",
        &["performance"],
    ),
    (
        "Refactoring improves the structure of the code",
        "It is worth doing regularly because it keeps the complexity low and makes later work simpler.",
        &["refactoring"],
    ),
    (
        "The tests should pass before the work is finished",
        "Run all tests and fix the ones that fail before you say that the task is done.",
        &["tests"],
    ),
    (
        "Use meaningful names for variables and functions",
        "Names that say what a thing is for make the code easier to read for the whole team.",
        &["naming"],
    ),
    (
        "Documentation helps new developers",
        "Write documentation for important parts so that others can find their way without asking.",
        &["documentation"],
    ),
    (
        "Always validate user input",
        "Input from users can be wrong or dangerous, so it has to be validated before it is used.",
        &["security", "validation"],
    ),
];

/// Real learnings; the last column lists names that exist.
const REAL: &[(&str, &str, &[&str], &[&str])] = &[
    (
        "the session cookie expires after 20 minutes of silence",
        "the load balancer drops idle sockets, not the app; raise `idle_timeout` in `infra/lb.tf`",
        &["sessions", "lb"],
        &["infra/lb.tf"],
    ),
    (
        "invoices are numbered per legal entity, not per customer",
        "auditors require gapless numbers; the sequence lives with the tenant and restarts each January",
        &["invoicing", "audit"],
        &[],
    ),
    (
        "the parser drops the last line",
        "a file without a final newline loses its last line; end it with one",
        &["parser"],
        &[],
    ),
    (
        "migrations run inside one transaction unless they contain CONCURRENTLY",
        "postgres refuses `CREATE INDEX CONCURRENTLY` in a transaction; mark the file with `-- no-transaction`",
        &["postgres", "migrations"],
        &[],
    ),
    (
        "use `just db-reset` instead of dropping tables by hand",
        "dropping them leaves the enum types behind and the next migration fails with `type already exists`",
        &["database", "just"],
        &["just"],
    ),
    (
        "prices are stored in minor units as i64",
        "floats lost a cent per 10000 orders; `Money::from_minor` is the only constructor",
        &["money", "pricing"],
        &["money"],
    ),
    (
        "serde 1.0.220 changed the order of flattened maps",
        "snapshots in `tests/snapshots` differ after the upgrade; they are sorted now in `normalise()`",
        &["serde", "snapshots"],
        &["tests/snapshots"],
    ),
    (
        "the staging cluster has no access to the artifact mirror",
        "builds there hang for 5 minutes and then fail with `connection reset`; pin the image digest instead",
        &["staging", "ci"],
        &[],
    ),
    (
        "retry webhooks with jitter, never in lockstep",
        "all tenants retried at second 0 and took the queue down; see `backoff.rs`",
        &["webhooks", "queue"],
        &["backoff.rs"],
    ),
    (
        "a refund older than 180 days needs a manual approval",
        "the payment provider rejects it otherwise and the ledger stays unbalanced",
        &["refunds", "ledger"],
        &[],
    ),
    (
        "feature flags are read once per request",
        "`Flags::current` is cached in the request context, so a flip in the middle of a request is not seen",
        &["flags"],
        &["flags"],
    ),
    (
        "the Windows runner has no symlink permission",
        "tests that create symlinks are skipped there by `#[cfg(unix)]`",
        &["windows", "ci"],
        &[],
    ),
    (
        "set RUST_MIN_STACK for the fuzz target",
        "deeply nested input overflows the 2 MB default stack; 16 MB is enough for the seeds",
        &["fuzzing"],
        &[],
    ),
    (
        "attach strace to the worker to see why it hangs",
        "`strace -f -p PID` showed a futex wait: the pool was exhausted by nested calls",
        &["debugging", "worker"],
        &["worker"],
    ),
    (
        "the release branch is cut on Tuesdays",
        "hotfixes after that go to `release/*` first and are merged back by the release captain",
        &["release"],
        &[],
    ),
    (
        "tokio's block_in_place panics in a current-thread runtime",
        "the tests use that flavour; call `spawn_blocking` instead",
        &["tokio", "async"],
        &[],
    ),
    (
        "customers in Brazil have two tax numbers",
        "CPF is for persons and CNPJ for companies; the form has to accept both",
        &["tax", "brazil"],
        &[],
    ),
    (
        "generated files under api/gen are checked in",
        "CI compares them; run `make gen` after each change of `openapi.yaml`",
        &["openapi", "codegen"],
        &["api/gen", "openapi.yaml"],
    ),
    (
        "log lines must not contain the e-mail address",
        "the retention policy forbids it; use the account id as `acct`",
        &["logging", "privacy"],
        &[],
    ),
    (
        "the search index is rebuilt nightly at 02:00 UTC",
        "a product that was renamed shows its old name until then; `reindex --sku` does it at once",
        &["search", "catalog"],
        &["search"],
    ),
    (
        "prefer sqlite over postgres for the edge nodes",
        "a node has 256 MB and no operator; replication is done by litestream",
        &["edge", "sqlite"],
        &[],
    ),
    (
        "the vendored libgit2 is patched",
        "`patches/0003-longpaths.patch` lifts the 260 character limit; upgrading needs a rebase of it",
        &["libgit2"],
        &["patches/0003-longpaths.patch"],
    ),
    (
        "warehouse staff call a pallet a `skid`",
        "search has to find both words; the synonym list is in `synonyms.txt`",
        &["warehouse", "glossary"],
        &["synonyms.txt"],
    ),
    (
        "bisecting needs the submodules updated at each step",
        "otherwise the build takes headers of another commit; use `git bisect run ./ci/bisect.sh`",
        &["git", "submodules"],
        &["ci/bisect.sh"],
    ),
];

#[test]
fn what_is_true_everywhere_is_rejected() {
    // Every repository has directories with these names, so they prove nothing.
    let known = ["tests", "test", "code", "src", "docs", "process", "git", "errors"];
    for (summary, detail, tags) in VAGUE {
        let bare = score(summary, detail, tags, &[]);
        assert!(bare < REJECTED, "{bare}: {summary}");
        let there = score(summary, detail, tags, &known);
        assert!(there < REJECTED, "{there}: {summary}");
    }
}

#[test]
fn what_people_write_down_is_kept() {
    for (summary, detail, tags, known) in REAL {
        let found = score(summary, detail, tags, known);
        assert!(found >= REJECTED, "{found}: {summary}");
        let elsewhere = score(summary, detail, tags, &[]);
        assert!(elsewhere >= REJECTED && elsewhere <= found, "{elsewhere}: {summary}");
    }
}

#[test]
fn the_example_of_the_schema_is_specific() {
    let example = &schema()["examples"][0]["candidates"][0];
    let candidate = Candidate::read(example).unwrap();
    let known = ["db/schema.sql".to_owned(), "crates/api/tests".to_owned(), "crates/api".to_owned()].into();
    assert!(specificity(&candidate, &known) >= LOWERED, "{}", specificity(&candidate, &known));
    assert!(specificity(&candidate, &BTreeSet::new()) >= REJECTED);
    let names = names(&candidate);
    assert!(names.contains("db/schema.sql") && names.contains("crates/api/tests"), "{names:?}");
}

#[test]
fn a_name_that_is_there_counts_more_and_each_further_one_less() {
    let text = |names: &str| {
        candidate("about the thing that was changed", &format!("it is done in {names} for all"), &["x"])
    };
    let known: BTreeSet<String> = (0..9).map(|n| format!("src/a{n}.rs")).collect();
    let some = |count: usize| known.iter().take(count).cloned().collect::<Vec<_>>().join(" ");
    let scores: Vec<f32> = (1..4).map(|count| specificity(&text(&some(count)), &known)).collect();
    let steps: Vec<f32> = scores.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(steps.iter().all(|step| *step > 0.0) && steps[1] < steps[0], "{scores:?}");
    assert!(specificity(&text(&some(2)), &BTreeSet::new()) < specificity(&text(&some(2)), &known));
    assert_eq!(specificity(&text(&format!("{0} {0} {0}", some(1))), &known), scores[0], "said three times");
}

#[test]
fn quantities_and_versions_are_told_from_words() {
    for quantity in ["30s", "v1.2.3", "8080", "#412", "50%", "1.0.220", "2026-11-15", "16MB", "0x1f"] {
        assert!(is_quantity(quantity), "{quantity}");
    }
    for word in ["v", "vague", "#tag", "second", "3rdparty-library"] {
        assert!(!is_quantity(word), "{word}");
    }
    for name in ["src/main.rs", "foo_bar", "fooBar", "Vec::new", "--flag", "$HOME", "SQL", "a.toml"] {
        assert!(looks_like_name(name, None), "{name}");
    }
    for word in ["Always", "and/or", "read/write", "word", "Code"] {
        assert!(!looks_like_name(word, None), "{word}");
    }
}

#[test]
fn a_script_without_blanks_is_not_held_against_anyone() {
    let value: Value = json!({
        "category": "domain", "summary": "請求書の番号は法人ごとに振られる", "tags": ["請求書"], "criteria_met": ["stable_fact"],
        "detail": "番号は毎年一月一日に最初からやり直す。顧客ごとではない。",
    });
    assert!(specificity(&Candidate::read(&value).unwrap(), &BTreeSet::new()) >= REJECTED);
}
