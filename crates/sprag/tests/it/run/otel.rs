//! A run as spans for other programs: `sprag run spans`.

use serde_json::{Value, json};

use crate::support::SPRAG;
use crate::support::desk::Desk;

/// Returns name, parent and error of every span of the last run.
fn drawn(spans: &[Value]) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name_of =
        |id: &Value| spans.iter().find(|span| span["spanId"] == *id).map(|span| text(&span["name"]));
    let line = |span: &Value| {
        let parent = name_of(&span["parentSpanId"]).unwrap_or_default();
        (text(&span["name"]), parent, text(&span["status"]["message"]))
    };
    spans.iter().map(line).collect()
}

#[test]
fn a_run_can_be_drawn_with_its_agents_and_the_tools_they_called() {
    let desk = Desk::new();
    let event = |name: &str| {
        let payload = json!({
            "session_id": "c-1", "hook_event_name": name, "cwd": desk.sandbox.project, "tool_name": "Bash",
            "tool_use_id": "t-1", "tool_input": {"command": "ls"}, "tool_response": {"stdout": ""},
        });
        format!("echo '{payload}' | {SPRAG} hook claude >/dev/null\n")
    };
    let init = json!({"type": "system", "subtype": "init", "session_id": "c-1", "model": "m"});
    let script = format!(
        "echo '{init}'\n{}{}echo $TRACEPARENT >{}\necho a >a",
        event("PreToolUse"),
        event("PostToolUse"),
        desk.sandbox.home.join("told").display(),
    );
    let stage = desk.stage("a", &[], &script, "true").replace("]}", "], stream: claude}");
    desk.plan(&[stage, desk.stage("b", &["a"], "test -e twice || { touch twice; exit 3; }", "true")]);
    let ran = desk.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);

    let spans: Value = serde_json::from_str(&desk.sandbox.run(&["run", "spans"]).stdout).unwrap();
    let spans = spans["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone();
    let drawn = drawn(&spans);
    let has = |name: &str, parent: &str, error: &str| {
        let wanted = (name.to_owned(), parent.to_owned(), error.to_owned());
        assert!(drawn.contains(&wanted), "{wanted:?} of {drawn:?}");
    };
    has("invoke_workflow p", "", "");
    has("invoke_agent a", "invoke_workflow p", "");
    has("execute_tool Bash", "invoke_agent a", "");
    has("invoke_agent b", "invoke_workflow p", "its agent has crashed");
    has("invoke_agent b", "invoke_workflow p", "");
    has("land 2", "invoke_workflow p", "");
    let agent = spans.iter().find(|span| span["name"] == "invoke_agent a").unwrap();
    let (trace, span) = (agent["traceId"].as_str().unwrap(), agent["spanId"].as_str().unwrap());
    let told = std::fs::read_to_string(desk.sandbox.home.join("told")).unwrap();
    assert_eq!(told.trim(), format!("00-{trace}-{span}-01"), "what it tells others belongs to its span");
}

#[test]
fn without_a_run_there_is_nothing_to_draw() {
    let ran = Desk::new().sandbox.run(&["run", "spans"]);
    assert_ne!(ran.code, 0);
    assert!(ran.stderr.contains("sprag run"), "{}", ran.stderr);
}
