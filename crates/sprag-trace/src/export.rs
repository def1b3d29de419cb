//! Exports records in the format Agent Trace 0.1.0, which other programs read. Data without a field in that
//! format goes to `metadata`.

use serde_json::{Map, Value, json};

use sprag_base::ids::SessionId;
use sprag_base::record::Record;
use sprag_base::text::Text;

use super::{
    ChangeSource, Contributor, ContributorKind, Finality, LineRange, RecordedClassification, TraceRecord,
    TracedFile,
};

pub const MEDIA_TYPE: &str = "application/vnd.agent-trace.record+json";
pub const VERSION: &str = "0.1.0";
/// The key of Sprag's data in `metadata`.
pub const OURS: &str = "dev.sprag";

/// The exporting program.
pub struct ExportTool<'a> {
    pub name: &'a str,
    pub version: &'a str,
}

/// Renders a record. Returns `None` for a record that is not a change.
pub fn render(record: &Record, tool: &ExportTool<'_>) -> Option<Value> {
    let trace = TraceRecord::from_record(record)?;
    let session = trace.session(record);
    let files: Vec<Value> = trace.files.iter().map(|it| file(it, &trace, session)).collect();
    let mut out = json!({
        "version": VERSION,
        "id": record.id,
        "timestamp": record.at,
        "tool": {"name": tool.name, "version": tool.version},
        "files": files,
        "metadata": {OURS: ours(&trace)},
    });
    if let Finality::Final { revision, .. } = &trace.stage {
        out["vcs"] = json!({"type": "git", "revision": revision});
    }
    Some(out)
}

fn file(file: &TracedFile, trace: &TraceRecord, session: Option<&SessionId>) -> Value {
    let mut related = Vec::new();
    if let Some(served) = &trace.intent {
        related
            .push(json!({"type": "specification", "url": format!("intent:{}", encoded(served.id.as_str()))}));
    }
    if let Some(session) = session {
        related.push(json!({"type": "session", "url": session_url(session)}));
    }
    for id in &file.supersedes {
        related.push(json!({"type": "supersedes", "url": format!("urn:uuid:{id}")}));
    }
    let mut talk = json!({
        "contributor": contributor(&trace.contributor),
        "ranges": file.ranges.iter().map(range).collect::<Vec<_>>(),
        "related": related,
    });
    if let Some(session) = session.filter(|_| trace.contributor.kind != ContributorKind::Unknown) {
        talk["url"] = json!(session_url(session));
    }
    json!({"path": file.path, "conversations": [talk]})
}

fn range(range: &LineRange) -> Value {
    let mut out =
        json!({"start_line": range.start, "end_line": range.end, "content_hash": range.content_hash});
    if let Some(who) = &range.contributor {
        out["contributor"] = contributor(who);
    }
    out
}

fn contributor(who: &Contributor) -> Value {
    let mut out = json!({"type": who.kind.name()});
    if let Some(model) = &who.model {
        out["model_id"] = json!(model);
    }
    out
}

fn ours(trace: &TraceRecord) -> Map<String, Value> {
    let mut out = Map::new();
    let mut put = |name: &str, value: Value| {
        if !value.is_null() {
            out.insert(name.to_owned(), value);
        }
    };
    put("intent_id", json!(trace.intent.as_ref().map(|served| &served.id)));
    put("intent_fingerprint", json!(trace.intent.as_ref().map(|served| named(served.fingerprint.as_str()))));
    put("provisional", json!(matches!(trace.stage, Finality::Provisional { .. })));
    put("base", json!(trace.stage.base()));
    let (source, call) = match &trace.source {
        ChangeSource::Call { tool, .. } => ("call", Some(tool)),
        ChangeSource::Command => ("command", None),
        ChangeSource::Found => ("found", None),
        ChangeSource::Stop => ("stop", None),
        ChangeSource::Commit => ("commit", None),
        ChangeSource::Rewrite => ("rewrite", None),
    };
    put("source", json!(source));
    put("tool_call", json!(call));
    put("verdict", json!(trace.verdict.name()));
    put("mutation_class", json!(trace.verdict.class()));
    put("declared_class", json!(trace.declared));
    match &trace.verdict {
        RecordedClassification::Proved { proof, .. } => put("proof", proof.clone()),
        RecordedClassification::Changed { witness } => put("witness", json!(witness)),
        RecordedClassification::Unproven { reason } => put("reason", json!(reason)),
    }
    put("units", json!(all(trace, |file| file.units.iter().map(|unit| json!(unit)).collect())));
    put("deleted", json!(all(trace, |file| file.deleted.iter().map(range).collect())));
    let renamed = trace.files.iter().filter_map(|it| Some(json!({"from": it.from.as_ref()?, "to": it.path})));
    put("renamed", json!(Some(renamed.collect::<Vec<_>>()).filter(|it| !it.is_empty())));
    put("cut", json!(trace.is_cut.then_some(true)));
    put("prev", json!(trace.prev));
    out
}

/// Adds the prefix `sha256:` to a bare hash.
fn named(hash: &str) -> String {
    let is_bare = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_bare { format!("sha256:{hash}") } else { hash.to_owned() }
}

/// Collects values from all files and adds the path to each value.
fn all(trace: &TraceRecord, of: impl Fn(&TracedFile) -> Vec<Value>) -> Vec<Value> {
    let with_path = |file: &TracedFile| {
        let path = file.from.clone().unwrap_or_else(|| file.path.clone());
        of(file)
            .into_iter()
            .map(move |mut value| {
                value["path"] = json!(path);
                value
            })
            .collect::<Vec<_>>()
    };
    trace.files.iter().flat_map(with_path).collect()
}

/// Returns a URI for a session. Some clients use ids that are not UUIDs.
pub fn session_url(session: &SessionId) -> String {
    if is_uuid(session.as_str()) {
        format!("urn:uuid:{}", session.as_str())
    } else {
        format!("sprag-session:{}", encoded(session.as_str()))
    }
}

fn is_uuid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    lengths == [8, 4, 4, 4, 12] && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Percent-encodes a text for a URI.
fn encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let mut out = String::new();
    for byte in text.bytes() {
        if is_plain(byte) { out.push(char::from(byte)) } else { out.push_str(&format!("%{byte:02X}")) }
    }
    out
}

/// Returns the name of a model in the form that Agent Trace prescribes.
pub fn model_id(client: &str, model: &str) -> Text<250> {
    let maker = match client {
        _ if model.contains('/') => return Text::from(model),
        "claude" => "anthropic",
        "codex" => "openai",
        "gemini" => "google",
        _ => return Text::from(model),
    };
    Text::new(format!("{maker}/{model}"))
}

#[cfg(test)]
mod tests {
    use sprag_base::record_kinds::TypedRecord as _;
    use sprag_base::sha256::Sha256Sum;
    use sprag_base::time::Timestamp;

    use super::*;
    use crate::{ChangeRecord, ServedIntent, TracedUnit};

    #[test]
    fn a_record_has_what_the_form_wants_and_nothing_else() {
        let trace = TraceRecord {
            stage: Finality::Final {
                revision: Text::new("a".repeat(40)),
                base: Some(Text::new("b".repeat(40))),
            },
            source: ChangeSource::Commit,
            place: None,
            session: None,
            intent: Some(ServedIntent { id: Text::from("INT-1"), fingerprint: Text::from("sha256:00") }),
            declared: None,
            contributor: Contributor::ai(Some(model_id("claude", "claude-x"))),
            verdict: RecordedClassification::unproven("language"),
            files: vec![TracedFile {
                path: "src/a b.rs".to_owned(),
                ranges: vec![LineRange {
                    start: 1,
                    end: 3,
                    content_hash: Sha256Sum::hash_bytes(b"x"),
                    contributor: None,
                }],
                deleted: vec![LineRange {
                    start: 4,
                    end: 4,
                    content_hash: Sha256Sum::hash_bytes(b"y"),
                    contributor: None,
                }],
                units: vec![TracedUnit {
                    unit: Text::from("fn a"),
                    start: 1,
                    end: 3,
                    hash: Text::from("unit1:0"),
                }],
                supersedes: vec![Text::from("0b8f6a34-5a0e-7c11-8c5e-3d1f0a9e7b22")],
                ..TracedFile::default()
            }],
            is_cut: false,
            prev: Some(Sha256Sum::hash_bytes(b"z")),
        };
        let mut record = ChangeRecord::Final(trace).record(Timestamp::from_millis(0));
        record.id = "0b8f6a34-5a0e-7c11-8c5e-3d1f0a9e7b23".to_owned();
        record.session = Some(SessionId::new("odd id"));
        let out = render(&record, &ExportTool { name: "sprag", version: "0.1.0" }).unwrap();
        let keys: Vec<&String> = out.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["files", "id", "metadata", "timestamp", "tool", "vcs", "version"]);
        let talk = &out["files"][0]["conversations"][0];
        assert_eq!(talk["url"], "sprag-session:odd%20id");
        assert_eq!(talk["contributor"]["model_id"], "anthropic/claude-x");
        assert_eq!(talk["related"][2]["url"], "urn:uuid:0b8f6a34-5a0e-7c11-8c5e-3d1f0a9e7b22");
        let ours = &out["metadata"][OURS];
        assert_eq!(ours["mutation_class"], "INTENT_EVOLUTION");
        assert_eq!(ours["units"][0]["path"], "src/a b.rs");
        assert_eq!(ours["provisional"], false);
        assert_eq!(named(&"0a".repeat(32)), format!("sha256:{}", "0a".repeat(32)));
        assert!(ours.get("declared_class").is_none() && ours.get("proof").is_none());
    }
}
