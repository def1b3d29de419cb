//! The part of the demo with intents: what is out of scope, what was not seen, and whose a line is.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::world::DemoWorld;
use crate::failure::Failure;

const INTENTS: &str = "\
active_intents:
  - id: GREET
    name: Greet everybody
    owned_scope: ['greetings.txt']
";
const FILE: &str = "greetings.txt";

pub(crate) fn play(stage: &DemoWorld) -> Result<(), Failure> {
    out_of_scope(stage)?;
    unseen(stage)?;
    whose_line(stage)
}

/// A write needs an intent, and an intent owns only so much.
fn out_of_scope(stage: &DemoWorld) -> Result<(), Failure> {
    stage.title("6. A change serves an intent, and stays in its scope");
    stage.say("A person has written `.sprag/intents.yaml`: the intent GREET owns `greetings.txt`.");
    fs::create_dir_all(stage.project.join(".sprag"))?;
    fs::write(stage.project.join(".sprag/intents.yaml"), INTENTS)?;
    stage.git(&["add", "."])?;
    stage.git(&["commit", "-q", "-m", "what this is for"])?;
    stage.event("session-5", "SessionStart", json!({"source": "startup"}))?;
    write(stage, "session-5", FILE, "hello everybody\n")?;
    stage.command(&["intent", "select", "GREET", "--session", "session-5"], "")?;
    write(stage, "session-5", "notes.txt", "bye\n")?;
    let call =
        json!({"tool_name": "Bash", "tool_input": {"command": "cd . && sed -i s/hello/bye/ notes.txt"}});
    stage.event("session-5", "PreToolUse", call)?;
    Ok(())
}

/// Two sessions, one file.
fn unseen(stage: &DemoWorld) -> Result<(), Failure> {
    stage.title("7. Nobody overwrites what they have not seen");
    stage.ask("session-6", "SessionStart", json!({"source": "startup"}))?;
    stage.sprag(&["intent", "select", "GREET", "--session", "session-6"], b"")?;
    stage.say("Another session works for the same intent, and reads the file:");
    read(stage, "session-6")?;
    stage.say("Meanwhile the first one changes a line of it:");
    let edit = json!({"file_path": FILE, "old_string": "hello Bob", "new_string": "good morning Bob"});
    stage.file_tool("session-5", "Edit", edit, |path| {
        let text = fs::read_to_string(path)?;
        fs::write(path, text.replace("hello Bob", "good morning Bob"))?;
        Ok(json!({}))
    })?;
    stage.say("The other one would take that away again, sees what has changed, and reads first:");
    let list = |bob: &str| format!("hello Ada\n{bob}\nhello Cleo\nhello Dan\nhello Eve\ngood evening Fay\n");
    write(stage, "session-6", FILE, &list("hello Bob"))?;
    read(stage, "session-6")?;
    write(stage, "session-6", FILE, &list("good morning Bob"))
}

/// The commit is seen, and its lines have an intent.
fn whose_line(stage: &DemoWorld) -> Result<(), Failure> {
    stage.title("8. Who wrote this line, and why: sprag trace blame greetings.txt");
    stage.tool("session-6", "git commit -qam 'greet Bob and Fay'", || {
        sprag_host::git::in_own_repository(&stage.project, &["commit", "-qam", "greet Bob and Fay"])
            .map(|_| ())
    })?;
    for session in ["session-5", "session-6"] {
        stage.event(session, "Stop", json!({"last_assistant_message": "Greeted."}))?;
        stage.event(session, "SessionEnd", json!({"reason": "other"}))?;
    }
    stage.show(&["trace", "blame", FILE])
}

fn write(stage: &DemoWorld, session: &str, file: &str, text: &str) -> Result<(), Failure> {
    stage.file_tool(session, "Write", json!({"file_path": file, "content": text}), |path| {
        fs::write(path, text)?;
        Ok(json!({}))
    })
}

fn read(stage: &DemoWorld, session: &str) -> Result<(), Failure> {
    let shown = |path: &Path| -> std::io::Result<Value> {
        let text = fs::read_to_string(path)?;
        let lines = text.lines().count();
        let file = json!({"filePath": path, "content": text, "numLines": lines, "startLine": 1, "totalLines": lines});
        Ok(json!({"type": "text", "file": file}))
    };
    stage.file_tool(session, "Read", json!({"file_path": FILE}), shown)
}
