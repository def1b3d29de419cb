//! Claude Code.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{BrokerTool, Client, Errand, Grant};
use crate::model::script::{Call, Step, Turn};
use crate::place::Place;

pub const CLIENT: Client = Client {
    name: "claude",
    package: "@anthropic-ai/claude-code",
    version: "2.1.325",
    program,
    env,
    prepare: |_| Ok(()),
    hooks_file: |place| config(place).join("settings.json"),
    hooks,
    arguments,
    session,
    shell: |command| tool("Bash", json!({"command": command, "description": "run a command"})),
    read: |path| tool("Read", json!({"file_path": path})),
    write: Some(|path, content| tool("Write", json!({"file_path": path, "content": content}))),
    broker,
    trust_server,
    delegate,
    sandbox: None,
};

const EVENTS: &[&str] = &[
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "TaskCompleted",
    "PreCompact",
    "Notification",
    "SessionEnd",
];

/// Returns the path of the real program, which is in the package of the platform. The main package has only a
/// placeholder that an install script would replace. npm installs a single platform package.
fn program(modules: &Path) -> Option<PathBuf> {
    let packages = fs::read_dir(modules.join("@anthropic-ai")).ok()?;
    let mut found: Vec<PathBuf> = packages
        .flatten()
        .filter(|package| package.file_name().to_string_lossy().starts_with("claude-code-"))
        .map(|package| package.path().join("claude"))
        .filter(|program| program.is_file())
        .collect();
    found.sort();
    found.into_iter().next()
}

fn config(place: &Place) -> PathBuf {
    place.home().join(".claude")
}

fn env(place: &Place) -> Vec<(&'static str, String)> {
    vec![
        ("ANTHROPIC_BASE_URL", place.model_url.clone()),
        ("ANTHROPIC_API_KEY", "dummy".to_owned()),
        ("CLAUDE_CONFIG_DIR", config(place).display().to_string()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ("DISABLE_AUTOUPDATER", "1".to_owned()),
    ]
}

fn hooks(place: &Place) -> Value {
    let command =
        json!({"type": "command", "command": place.sprag(), "args": ["hook", "claude"], "timeout": 60});
    let entry = json!([{"hooks": [command]}]);
    let events: serde_json::Map<String, Value> =
        EVENTS.iter().map(|event| ((*event).to_owned(), entry.clone())).collect();
    json!({"hooks": events})
}

fn arguments(errand: &Errand) -> Vec<String> {
    let fixed = ["-p", errand.prompt, "--model", "claude-sonnet-4-5", "--output-format", "json"];
    let mut arguments: Vec<String> = fixed.map(str::to_owned).to_vec();
    if let Some(session) = errand.resume {
        arguments.extend(["--resume", session].map(str::to_owned));
    }
    if let Some(folder) = errand.plugin {
        arguments.extend(["--plugin-dir".to_owned(), folder.display().to_string()]);
    }
    match errand.grant {
        Grant::Usual | Grant::Everything => {
            arguments.extend(["--allowedTools", "Bash,Read,Write,Edit,Agent"].map(str::to_owned));
        }
        Grant::Nothing => {}
    }
    arguments
}

fn session(stdout: &str) -> Option<String> {
    let result: Value = serde_json::from_str(stdout).ok()?;
    Some(result["session_id"].as_str()?.to_owned())
}

fn delegate(prompt: &'static str) -> Vec<Step> {
    // The default is the background, where the agent could end after the session.
    let input = json!({"description": "a part of the work", "prompt": prompt, "run_in_background": false});
    vec![Turn::call(tool("Agent", input)).into()]
}

fn broker(name: BrokerTool, input: Value) -> Call {
    let name = match name {
        BrokerTool::Search => "mcp__sprag__search",
        BrokerTool::Record => "mcp__sprag__record",
        BrokerTool::Observe => "mcp__sprag__observe",
    };
    tool(name, input)
}

/// Trusts the project's server, which the client otherwise asks a person about.
fn trust_server(place: &Place) -> anyhow::Result<()> {
    let path = config(place).join("settings.json");
    let mut settings: Value = serde_json::from_slice(&fs::read(&path)?)?;
    settings["enabledMcpjsonServers"] = json!(["sprag"]);
    Ok(fs::write(path, settings.to_string())?)
}

fn tool(name: &'static str, input: Value) -> Call {
    Call { tool: name, namespace: None, input }
}
