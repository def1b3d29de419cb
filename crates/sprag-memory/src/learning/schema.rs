//! The JSON Schema of a submission, for agents and for clients that constrain their output. Its limits are
//! the constants of the reader.

use serde_json::{Value, json};

use super::{
    CANDIDATES, Category, Confidence, DETAIL_LEAST, DETAIL_MOST, EVIDENCE_MOST, FILE_MOST, FILES_MOST,
    KeepReason, LearningKind, LearningScope, SUMMARY_LEAST, SUMMARY_MOST, TAG_MOST, TAGS_MOST, TRIGGER_MOST,
};

pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "a submission of learnings",
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

/// Returns a small example with the required members and their values, for an agent that pays for every byte.
pub fn brief_schema() -> String {
    let list = |names: Vec<&str>| names.join("|");
    let categories = list(Category::ALL.iter().map(|category| category.name()).collect());
    let criteria = list(KeepReason::ALL.iter().map(|criterion| criterion.name()).collect());
    let example = json!({"candidates": [{
        "category": "pitfall",
        "summary": "`cargo test -p api` needs `db/schema.sql` loaded first",
        "detail": "Without it tests fail with `relation users does not exist`; `just db-reset` loads it.",
        "tags": ["tests", "postgres"],
        "criteria_met": ["behavior_changing"],
        "evidence": ["db/schema.sql:1-12"],
    }]});
    format!(
        "{example}\ncategory: {categories}\nsummary: {SUMMARY_LEAST} to {SUMMARY_MOST} characters; detail: \
         {DETAIL_LEAST} to {DETAIL_MOST}, with the reason or the alternative\ncriteria_met: {criteria}\n\
         optional: evidence, context_files, scope, confidence, trigger (`sprag reflect --schema --full`)"
    )
}

fn candidate() -> Value {
    json!({
        "type": "object",
        "required": ["category", "summary", "detail", "tags", "criteria_met"],
        "properties": {
            "category": {
                "description": "pattern: a reusable approach; pitfall: a mistake and its fix; convention: how this \
                    project does it; dependency: about a library or service; process: about the way of working; \
                    domain: about the subject of the project; debugging: a diagnosis that worked",
                "enum": names(Category::ALL, Category::name),
            },
            "summary": {
                "description": "one sentence that is useful without the detail",
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
                "description": "search words: modules, tools, topics",
                "type": "array",
                "minItems": 1,
                "maxItems": TAGS_MOST,
                "items": {"type": "string", "minLength": 1, "maxLength": TAG_MOST},
            },
            "scope": {
                "description": "project and team: for everyone on the project; personal: only for this user; \
                    ephemeral: only for this session",
                "enum": names(LearningScope::ALL, LearningScope::name),
                "default": LearningScope::Project,
            },
            "criteria_met": {
                "description": "reasons to keep it. behavior_changing: the agent acts differently next time; \
                    decision_rationale: the reason for a choice; stable_fact: it matters in \
                    later sessions; explicit_request: the user asked to remember it",
                "type": "array",
                "minItems": 1,
                "items": {"enum": names(KeepReason::ALL, KeepReason::name)},
            },
            "confidence": {
                "description": "how certain the statement is",
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
                "description": "fact: how things are; preference: what the user wants; decision: what was \
                    chosen; negative: a failed attempt",
                "enum": names(LearningKind::ALL, LearningKind::name),
                "default": LearningKind::Fact,
            },
            "trigger": {
                "description": "situations in which the learning helps, and in which it does not",
                "type": "object",
                "properties": {
                    "when": {"type": "string", "maxLength": TRIGGER_MOST},
                    "when_not": {"type": "string", "maxLength": TRIGGER_MOST},
                },
            },
            "evidence": {
                "description": "evidence: `path`, `path:10-20` or `commit HASH`. If it changes, the learning \
                    becomes stale",
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
