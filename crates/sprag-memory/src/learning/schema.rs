//! The form of a submission as JSON Schema, for agents and for clients that constrain their output. Its
//! bounds are the constants the reader uses.

use serde_json::{Value, json};

use super::{
    CANDIDATES, Category, Confidence, DETAIL_LEAST, DETAIL_MOST, EVIDENCE_MOST, FILE_MOST, FILES_MOST,
    KeepReason, LearningKind, LearningScope, SUMMARY_LEAST, SUMMARY_MOST, TAG_MOST, TAGS_MOST, TRIGGER_MOST,
};

pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "learnings handed in for remembering",
        "type": "object",
        "required": ["candidates"],
        "properties": {
            "candidates": {
                "description": "what was learned, the most useful first",
                "type": "array",
                "minItems": 1,
                "maxItems": CANDIDATES,
                "items": candidate(),
            },
        },
        "examples": [example()],
    })
}

fn candidate() -> Value {
    json!({
        "type": "object",
        "required": ["category", "summary", "detail", "tags", "criteria_met"],
        "properties": {
            "category": {
                "description": "pattern: a reusable approach; pitfall: a mistake and its fix; convention: how this \
                    project does it; dependency: about a library or service; process: about the way of working; \
                    domain: about the business; debugging: a way of finding out that worked",
                "enum": names(Category::ALL, Category::name),
            },
            "summary": {
                "description": "one sentence that helps without the detail",
                "type": "string",
                "minLength": SUMMARY_LEAST,
                "maxLength": SUMMARY_MOST,
            },
            "detail": {
                "description": "what the summary leaves out: names, versions, the reason, what to do instead; no secrets",
                "type": "string",
                "minLength": DETAIL_LEAST,
                "maxLength": DETAIL_MOST,
            },
            "tags": {
                "description": "words to find it by: modules, tools, topics",
                "type": "array",
                "minItems": 1,
                "maxItems": TAGS_MOST,
                "items": {"type": "string", "minLength": 1, "maxLength": TAG_MOST},
            },
            "scope": {
                "description": "project and team: for everybody who works here; personal: for this user alone; \
                    ephemeral: for this session",
                "enum": names(LearningScope::ALL, LearningScope::name),
                "default": LearningScope::Project,
            },
            "criteria_met": {
                "description": "why it is worth keeping. behavior_changing: next time something is done differently; \
                    decision_rationale: why one thing was chosen over another; stable_fact: it will matter in \
                    later sessions; explicit_request: the user asked to remember it",
                "type": "array",
                "minItems": 1,
                "items": {"enum": names(KeepReason::ALL, KeepReason::name)},
            },
            "confidence": {
                "description": "how sure it is",
                "enum": names(Confidence::ALL, Confidence::name),
                "default": Confidence::Medium,
            },
            "context_files": {
                "description": "files it is about, relative to the repository",
                "type": "array",
                "maxItems": FILES_MOST,
                "items": {"type": "string", "minLength": 1, "maxLength": FILE_MOST},
            },
            "kind": {
                "description": "fact: how things are; preference: what the user wants; decision: what was chosen; negative: what \
                    was tried and does not work",
                "enum": names(LearningKind::ALL, LearningKind::name),
                "default": LearningKind::Fact,
            },
            "trigger": {
                "description": "when it should come to mind, and when not",
                "type": "object",
                "properties": {
                    "when": {"type": "string", "maxLength": TRIGGER_MOST},
                    "when_not": {"type": "string", "maxLength": TRIGGER_MOST},
                },
            },
            "evidence": {
                "description": "what shows that it is so: `path`, `path:10-20` or `commit HASH`. If that changes, the learning is \
                    marked as stale",
                "type": "array",
                "maxItems": EVIDENCE_MOST,
                "items": {"type": "string", "minLength": 1, "maxLength": FILE_MOST},
            },
        },
    })
}

fn example() -> Value {
    json!({
        "candidates": [{
            "category": Category::Pitfall,
            "summary": "`cargo test -p api` needs the schema of `db/schema.sql` loaded first",
            "detail": "Without it every test in `crates/api/tests` fails with `relation \"users\" does not exist`, which \
                reads like a bug in the query. `just db-reset` loads it; CI does so in the step `prepare`.",
            "tags": ["tests", "postgres", "crates/api"],
            "scope": LearningScope::Project,
            "criteria_met": [KeepReason::BehaviorChanging, KeepReason::StableFact],
            "confidence": Confidence::High,
            "context_files": ["db/schema.sql", "crates/api/tests/users.rs"],
            "trigger": {"when": "running the tests of `crates/api`"},
            "evidence": ["db/schema.sql:1-12"],
        }],
    })
}

fn names<T: Copy>(all: &[T], name: fn(T) -> &'static str) -> Vec<&'static str> {
    all.iter().map(|&one| name(one)).collect()
}
