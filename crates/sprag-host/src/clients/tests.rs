//! Laws of the clients, tested with the recorded payloads in `tests/recorded/`.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use sprag_base::text::Text;
use sprag_govern::verdict::Rewrite;
use sprag_policy::call::InputCompleteness;

use super::*;

fn recorded(client: &str) -> Vec<(String, Value)> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/recorded").join(client);
    let mut files: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    files
        .into_iter()
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            (name, serde_json::from_slice(&fs::read(&path).unwrap()).unwrap())
        })
        .collect()
}

fn parse(client: &Client, value: &Value) -> Result<ParsedPayload, Malformed> {
    let payload = HookPayload { bytes: serde_json::to_vec(value).unwrap(), whole: InputCompleteness::Yes };
    (client.parse)(&payload, &Env::Given(Default::default()))
}

/// Required members: an event cannot be read without them.
const REQUIRED: &[&str] = &["session_id", "hook_event_name", "tool_name"];

#[test]
fn a_reviewer_leaves_its_sandbox_only_where_ours_is() {
    let codex = codex::CLIENT.review.unwrap();
    assert!(codex.reading.contains(&"workspace-write") && !codex.reading.contains(&"danger-full-access"));
    assert!(codex.walled.contains(&"danger-full-access"));
    for client in CLIENTS.iter().filter_map(|client| client.review) {
        let all = [client.trying, client.reading, client.walled];
        assert!(all.iter().all(|args| args.contains(&PROMPT)));
    }
}

#[test]
fn recorded_payloads_parse_and_stay_parsed() {
    for client in CLIENTS {
        for (name, value) in recorded(client.name) {
            let plain = parse(client, &value).unwrap_or_else(|error| panic!("{name}: {error:?}"));
            let mut more = value.clone();
            more["a_field_of_tomorrow"] = json!({"x": [1, null]});
            let kind = |parsed: &ParsedPayload| parsed.input.as_ref().map(|input| input.event.kind());
            assert_eq!(kind(&parse(client, &more).unwrap()), kind(&plain), "{name}");
            for key in value.as_object().unwrap().keys().filter(|key| !REQUIRED.contains(&key.as_str())) {
                let mut fewer = value.clone();
                fewer.as_object_mut().unwrap().remove(key);
                assert_eq!(kind(&parse(client, &fewer).unwrap()), kind(&plain), "{name} without {key}");
            }
            for key in ["prompt", "last_assistant_message", "message"] {
                let mut longer = value.clone();
                longer[key] = json!("ä".repeat(200_000));
                parse(client, &longer).unwrap();
            }
        }
    }
}

/// Pins how each recorded payload is read: event, actor and the fields that gates read.
#[test]
fn recorded_payloads_read_as_these_events() {
    let mut told = String::new();
    for client in CLIENTS {
        for (name, value) in recorded(client.name) {
            let parsed = parse(client, &value).unwrap();
            let read = match &parsed.input {
                None => "-".to_owned(),
                Some(input) => format!("{:?} {:?}", input.actor, input.event),
            };
            told.push_str(&format!("{}/{name}: {read}\n", client.name));
        }
    }
    insta::assert_snapshot!(told);
}

fn rewrite(input: Value) -> Rewrite {
    Rewrite { input, why: Text::from("it has to be another way") }
}

/// Pins the answer of each client to every kind of verdict on every kind of event.
#[test]
fn verdicts_are_told_like_this() {
    use sprag_govern::reason::Reason;
    use sprag_govern::verdict::Ruling;
    let reason = || Reason::new("code", "why not", "the way out");
    let verdicts = [
        ("pass", Verdict::default()),
        ("note", Verdict { notes: vec![Text::from("a note")], ..Verdict::default() }),
        ("rewrite", Verdict { rewrite: Some(rewrite(json!({"command": "true"}))), ..Verdict::default() }),
        ("ask", Verdict { ruling: Ruling::Ask { gate: "g", reason: reason() }, ..Verdict::default() }),
        (
            "hold",
            Verdict {
                ruling: Ruling::Hold { gate: "g", reason: reason(), also: vec![reason()] },
                ..Verdict::default()
            },
        ),
    ];
    let mut told = String::new();
    for client in CLIENTS {
        for (native, _) in client.install.events {
            for (name, verdict) in &verdicts {
                let reply =
                    |presence| (client.render)(&RenderInput { native, presence, verdict, warning: None });
                let attended = reply(Presence::Attended);
                told.push_str(&format!("{} {native} {name}: {attended}\n", client.name));
                if reply(Presence::Headless) != attended {
                    told.push_str(&format!(
                        "{} {native} {name}, headless: {}\n",
                        client.name,
                        reply(Presence::Headless)
                    ));
                }
            }
        }
    }
    insta::assert_snapshot!(told);
}

#[test]
fn neutral_is_an_empty_object_everywhere() {
    for client in CLIENTS {
        for native in client.install.events.iter().map(|(native, _)| *native).chain(["Unheard", ""]) {
            let verdict = Verdict::default();
            let reply =
                RenderInput { native, presence: Presence::Attended, verdict: &verdict, warning: None };
            assert_eq!((client.render)(&reply), "{}");
        }
    }
}

#[test]
fn nothing_is_ever_allowed_for_the_user() {
    for client in CLIENTS {
        let verdict = Verdict { rewrite: Some(rewrite(json!({}))), ..Verdict::default() };
        let reply = RenderInput {
            native: "PreToolUse",
            presence: Presence::Attended,
            verdict: &verdict,
            warning: None,
        };
        assert!(!(client.render)(&reply).contains("allow"));
    }
}

#[test]
fn an_entry_of_ours_is_known_again() {
    for client in CLIENTS {
        for program in ["sprag", "/opt/my tools/sprag", "/it's/sprag"] {
            let entry = (client.install.entry)(program, 5);
            assert_eq!((client.install.program_of)(&entry).as_deref(), Some(program), "{entry}");
        }
        let foreign = (client.install.entry)("/usr/bin/atuin", 5);
        assert_eq!((client.install.program_of)(&foreign), None, "another tool's hook of the same form");
    }
}

#[test]
fn every_event_we_ask_for_means_something() {
    for client in CLIENTS {
        for (native, _) in client.install.events {
            assert!((client.kind_of)(native).is_some(), "{} {native}", client.name);
        }
    }
}
