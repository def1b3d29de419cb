//! Codex.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{BrokerTool, Client, Errand, Grant};
use crate::model::Asked;
use crate::model::script::{Call, Step, Turn};
use crate::place::Place;

pub const CLIENT: Client = Client {
    name: "codex",
    package: "@openai/codex",
    version: "0.166.0",
    program: |modules| Some(modules.join(".bin").join("codex")).filter(|program| program.is_file()),
    env,
    prepare,
    hooks_file: |place| config(place).join("hooks.json"),
    hooks,
    arguments,
    session,
    shell: |command| tool("exec_command", json!({"cmd": command})),
    // Codex has no tool for reading: the model uses the shell.
    read: |path| tool("exec_command", json!({"cmd": format!("cat '{path}'")})),
    write: None,
    broker,
    trust_server: |_| Ok(()),
    delegate,
    sandbox: Some(&["sandbox", "true"]),
};

const EVENTS: &[&str] = &[
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PreCompact",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "SessionEnd",
];

fn config(place: &Place) -> PathBuf {
    place.home().join(".codex")
}

fn env(place: &Place) -> Vec<(&'static str, String)> {
    vec![("CODEX_HOME", config(place).display().to_string()), ("OPENAI_SCRIPTED_KEY", "dummy".to_owned())]
}

fn prepare(place: &Place) -> anyhow::Result<()> {
    // A JSON string is also a TOML string.
    let url = json!(format!("{}/v1", place.model_url));
    let project = json!(place.project());
    let text = format!(
        r#"model = "gpt-5.1-codex"
model_provider = "scripted"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.scripted]
name = "scripted"
base_url = {url}
wire_api = "responses"
env_key = "OPENAI_SCRIPTED_KEY"
supports_websockets = false

[projects.{project}]
trust_level = "trusted"
"#
    );
    fs::create_dir_all(config(place))?;
    Ok(fs::write(config(place).join("config.toml"), text)?)
}

fn hooks(place: &Place) -> Value {
    let command = format!("{} hook codex", place.sprag().display());
    let entry = json!([{"hooks": [{"type": "command", "command": command, "timeout": 60}]}]);
    let events: serde_json::Map<String, Value> =
        EVENTS.iter().map(|event| ((*event).to_owned(), entry.clone())).collect();
    json!({"hooks": events})
}

fn arguments(errand: &Errand) -> Vec<String> {
    let sandbox = match errand.grant {
        Grant::Usual => "workspace-write",
        Grant::Everything => "danger-full-access",
        Grant::Nothing => "read-only",
    };
    // Only a user can trust hooks, and this driver is the user of this home.
    let bypass = "--dangerously-bypass-hook-trust";
    let mut arguments =
        ["exec", "--json", "--skip-git-repo-check", "-s", sandbox, bypass].map(str::to_owned).to_vec();
    if let Some(session) = errand.resume {
        arguments.extend(["run", "resume", session].map(str::to_owned));
    }
    arguments.push(errand.prompt.to_owned());
    arguments
}

fn session(stdout: &str) -> Option<String> {
    let lines = stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let started = lines.into_iter().find(|line| line["type"] == "thread.started")?;
    Some(started["thread_id"].as_str()?.to_owned())
}

fn delegate(prompt: &'static str) -> Vec<Step> {
    vec![Turn::call(agent_tool("spawn_agent", json!({"message": prompt}))).into(), Step::Drawn(wait)]
}

fn wait(asked: &Asked) -> Turn {
    let started: Value = serde_json::from_str(&asked.last_result).unwrap_or_default();
    Turn::call(agent_tool("wait_agent", json!({"targets": [started["agent_id"]], "timeout_ms": 30_000})))
}

fn broker(name: BrokerTool, input: Value) -> Call {
    let name = match name {
        BrokerTool::Search => "search",
        BrokerTool::Record => "record",
        BrokerTool::Observe => "observe",
    };
    Call { tool: name, namespace: Some("mcp__sprag"), input }
}

fn agent_tool(name: &'static str, input: Value) -> Call {
    Call { tool: name, namespace: Some("multi_agent_v1"), input }
}

fn tool(name: &'static str, input: Value) -> Call {
    Call { tool: name, namespace: None, input }
}
