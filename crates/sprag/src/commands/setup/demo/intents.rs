//! The acts of the demo about intents: scope, unseen changes, and the intent of a line.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::world::{Answer, DemoWorld, Detail};
use crate::failure::Failure;

const INTENTS: &str = "\
active_intents:
  - id: GREET
    name: Greet the team
    owned_scope: ['greetings.txt']
";
const FILE: &str = "greetings.txt";

pub(crate) fn play(stage: &DemoWorld) -> Result<(), Failure> {
    out_of_scope(stage)?;
    unseen(stage)?;
    line_intents(stage)
}

fn out_of_scope(stage: &DemoWorld) -> Result<(), Failure> {
    stage.title("Scoped: intent GREET owns `greetings.txt` and nothing else (.sprag/intents.yaml)");
    fs::create_dir_all(stage.project.join(".sprag"))?;
    fs::write(stage.project.join(".sprag/intents.yaml"), INTENTS)?;
    stage.git(&["add", "."])?;
    stage.git(&["commit", "-q", "-m", "add intents"])?;
    if stage.is_full() {
        stage.event("session-5", "SessionStart", json!({"source": "startup"}))?;
        write(stage, "session-5", FILE, "hello all\n")?;
        stage.command(&["intent", "select", "GREET", "--session", "session-5"], "")?;
        write(stage, "session-5", "notes.txt", "bye\n")?;
    } else {
        stage.ask("session-5", "SessionStart", json!({"source": "startup"}))?;
        stage.act("runs:", "sprag intent select GREET", Answer::Allowed);
        stage.sprag(&["intent", "select", "GREET", "--session", "session-5"], b"")?;
    }
    let call =
        json!({"tool_name": "Bash", "tool_input": {"command": "cd . && sed -i s/hello/bye/ notes.txt"}});
    stage.event("session-5", "PreToolUse", call)?;
    Ok(())
}

/// Plays two sessions that change the same file.
fn unseen(stage: &DemoWorld) -> Result<(), Failure> {
    stage.title("Fresh: no session overwrites changes that it has not read");
    stage.ask("session-6", "SessionStart", json!({"source": "startup"}))?;
    stage.sprag(&["intent", "select", "GREET", "--session", "session-6"], b"")?;
    stage.say("  Session 6 reads the file. Session 5 changes a line of it. Now session 6 would undo that:");
    stage.file_tool(Detail::Full, "session-6", "Read", json!({"file_path": FILE}), show_file)?;
    let edit = json!({"file_path": FILE, "old_string": "hello Bob", "new_string": "good morning Bob"});
    stage.file_tool(Detail::Full, "session-5", "Edit", edit, |path| {
        let text = fs::read_to_string(path)?;
        fs::write(path, text.replace("hello Bob", "good morning Bob"))?;
        Ok(json!({}))
    })?;
    let list = |bob: &str| format!("hello Ada\n{bob}\nhello Cleo\nhello Dan\nhello Eve\ngood evening Fay\n");
    write(stage, "session-6", FILE, &list("hello Bob"))?;
    stage.file_tool(Detail::Full, "session-6", "Read", json!({"file_path": FILE}), show_file)?;
    let text = list("good morning Bob");
    stage.file_tool(Detail::Full, "session-6", "Write", json!({"file_path": FILE, "content": text}), |path| {
        fs::write(path, &text)?;
        Ok(json!({}))
    })
}

/// Commits, and asks for the intent of each line.
fn line_intents(stage: &DemoWorld) -> Result<(), Failure> {
    stage.title("Traced: the intent of every line (sprag trace blame greetings.txt)");
    let commit =
        json!({"tool_name": "Bash", "tool_input": {"command": "git commit -qam 'greet Bob and Fay'"}});
    stage.quietly("session-6", "PreToolUse", commit.clone())?;
    stage.git(&["commit", "-qam", "greet Bob and Fay"])?;
    stage.ask("session-6", "PostToolUse", commit)?;
    for session in ["session-5", "session-6"] {
        stage.ask(session, "Stop", json!({"last_assistant_message": "Greeted."}))?;
        stage.ask(session, "SessionEnd", json!({"reason": "other"}))?;
    }
    if stage.is_full() {
        return stage.show(&["trace", "blame", FILE]);
    }
    // Lines from before the first intent have none.
    let ran = stage.sprag(&["trace", "blame", FILE], b"")?;
    let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
    for line in printed.lines().filter(|line| line.starts_with("lines ") || line.contains(" GREET ")) {
        stage.say(&format!("  {line}"));
    }
    Ok(())
}

fn write(stage: &DemoWorld, session: &str, file: &str, text: &str) -> Result<(), Failure> {
    stage.file_tool(Detail::Short, session, "Write", json!({"file_path": file, "content": text}), |path| {
        fs::write(path, text)?;
        Ok(json!({}))
    })
}

/// Returns what a client reports after it read a file.
fn show_file(path: &Path) -> std::io::Result<Value> {
    let text = fs::read_to_string(path)?;
    let lines = text.lines().count();
    let file =
        json!({"filePath": path, "content": text, "numLines": lines, "startLine": 1, "totalLines": lines});
    Ok(json!({"type": "text", "file": file}))
}
