//! Exported records have the form of Agent Trace 0.1.0. This test states the allowed form again, strictly,
//! and rejects everything else.

use serde_json::{Value, json};

use super::work::Work;

/// Checks the members of an object: allowed ones and required ones.
fn members(value: &Value, must: &[&str], may: &[&str], place: &str) {
    let object = value.as_object().unwrap_or_else(|| panic!("{place} is no object: {value}"));
    for name in must {
        assert!(object.contains_key(*name), "{place} has no `{name}`: {value}");
    }
    for name in object.keys() {
        assert!(must.contains(&name.as_str()) || may.contains(&name.as_str()), "{place} has `{name}`");
    }
}

fn is_uuid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_scheme
        && !rest.is_empty()
        && rest.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte))
}

fn check_contributor(value: &Value) {
    members(value, &["type"], &["model_id"], "contributor");
    assert!(["human", "ai", "mixed", "unknown"].contains(&value["type"].as_str().unwrap()));
    assert!(value.get("model_id").is_none_or(|it| it.as_str().unwrap().chars().count() <= 250));
}

pub(super) fn check(record: &Value) {
    members(record, &["version", "id", "timestamp", "files"], &["vcs", "tool", "metadata"], "record");
    assert_eq!(record["version"], "0.1.0");
    assert!(is_uuid(record["id"].as_str().unwrap()));
    let at = record["timestamp"].as_str().unwrap();
    assert!(at.ends_with('Z') && at.len() == 24 && at.as_bytes()[10] == b'T', "{at}");
    if let Some(vcs) = record.get("vcs") {
        members(vcs, &["type", "revision"], &[], "vcs");
        assert_eq!(vcs["type"], "git");
        assert_eq!(vcs["revision"].as_str().unwrap().len(), 40);
    }
    members(&record["tool"], &["name", "version"], &[], "tool");
    for file in record["files"].as_array().unwrap() {
        members(file, &["path", "conversations"], &[], "file");
        let path = file["path"].as_str().unwrap();
        assert!(!path.starts_with('/') && !path.contains(".."), "{path}");
        for talk in file["conversations"].as_array().unwrap() {
            members(talk, &["ranges"], &["url", "contributor", "related"], "conversation");
            assert!(talk.get("url").is_none_or(|url| is_uri(url.as_str().unwrap())), "{talk}");
            check_contributor(&talk["contributor"]);
            for range in talk["ranges"].as_array().unwrap() {
                members(range, &["start_line", "end_line"], &["content_hash", "contributor"], "range");
                let (start, end) =
                    (range["start_line"].as_u64().unwrap(), range["end_line"].as_u64().unwrap());
                assert!(1 <= start && start <= end);
                let hash = range["content_hash"].as_str().unwrap();
                assert!(hash.starts_with("sha256:") && hash.len() == 71, "{hash}");
            }
            for related in talk["related"].as_array().unwrap() {
                members(related, &["type", "url"], &[], "related");
                assert!(is_uri(related["url"].as_str().unwrap()), "{related}");
            }
        }
    }
    let ours = &record["metadata"]["dev.sprag"];
    assert!(ours["provisional"].is_boolean(), "{ours}");
    let is_proved = ours["verdict"] == "PROVED";
    assert_eq!(ours["mutation_class"] == "AST_REFACTOR", is_proved);
    assert_eq!(ours.get("proof").is_some(), is_proved);
    assert_eq!(ours.get("witness").is_some(), ours["verdict"] == "CHANGED");
    assert_eq!(ours.get("reason").is_some(), ours["verdict"] == "UNPROVEN");
    assert_eq!(record.get("vcs").is_none(), ours["provisional"] == true);
}

#[test]
fn every_kind_of_record_has_the_form() {
    let work = Work::new();
    work.session("0b8f6a34-5a0e-7c11-8c5e-3d1f0a9e7b22", "INT-1");
    work.session("an odd: id/ü", "INT-2");
    work.edit("0b8f6a34-5a0e-7c11-8c5e-3d1f0a9e7b22", "src/a.rs", "one();", "two();");
    work.edit("an odd: id/ü", "notes.txt", "second", "2nd");
    work.run_shell(
        "rm src/a.rs && printf 'a\\0b' > bin && ln -s nowhere link && mv notes.txt 'odd name.txt'",
    );
    work.stop("an odd: id/ü");
    work.git("add -A && git commit -qm all");
    work.stop("0b8f6a34-5a0e-7c11-8c5e-3d1f0a9e7b22");
    let records = work.records();
    assert!(records.len() >= 4, "{records:?}");
    records.iter().for_each(check);
    let lines = work.sandbox.run(&["trace", "export", "--all"]).stdout;
    lines.lines().for_each(|line| check(&serde_json::from_str(line).unwrap()));
}

#[test]
fn an_older_shape_does_not_pass_for_it() {
    let old = json!({
        "id": "6f1c2a7e-2b1d-4c3e-9a5b-0d6f7e8a9b10", "timestamp": "2026-11-15T07:00:00.000Z",
        "mutation_class": "AST_REFACTOR", "files": [],
    });
    assert!(std::panic::catch_unwind(|| check(&old)).is_err());
}
