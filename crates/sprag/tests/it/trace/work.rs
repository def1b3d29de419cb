//! A repository with a trace, and agents that work in it.

use std::fs;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::{Ran, Sandbox};

pub(crate) struct Work {
    pub sandbox: Sandbox,
    calls: std::cell::Cell<usize>,
}

impl Work {
    /// Makes a repository with one commit.
    pub(crate) fn new() -> Work {
        let work = Work::unborn();
        work.sandbox.write("src/a.rs", "fn a() {\n    one();\n}\n");
        work.sandbox.write("notes.txt", "first\nsecond\nthird\n");
        work.git("add -A && git commit -qm first");
        work
    }

    /// Makes a repository without commits.
    pub(crate) fn unborn() -> Work {
        Work::of(Sandbox::new())
    }

    pub(crate) fn of(mut sandbox: Sandbox) -> Work {
        for name in ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"] {
            sandbox.vars.push((name.to_owned(), "test".to_owned()));
        }
        for name in ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"] {
            sandbox.vars.push((name.to_owned(), "test@localhost".to_owned()));
        }
        let intents = ["INT-1", "INT-2", "INT-A", "INT-B"];
        let entry = |id: &&str| format!("- id: {id}\n  name: work\n  owned_scope: ['**']\n");
        let entries: String = intents.iter().map(entry).collect();
        sandbox.write(".sprag/intents.yaml", &format!("active_intents:\n{entries}"));
        Work { sandbox, calls: std::cell::Cell::new(0) }
    }

    /// Starts a session that selects an intent.
    pub(crate) fn session(&self, id: &str, intent: &str) {
        self.sandbox.event(id, "SessionStart", json!({"source": "startup"}));
        self.select(id, intent, "INTENT_EVOLUTION");
    }

    pub(crate) fn select(&self, session: &str, intent: &str, class: &str) {
        let ran =
            self.sandbox.run(&["intent", "select", intent, "--class", class, "--session", session, "--json"]);
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    }

    pub(crate) fn edit(&self, session: &str, path: &str, old: &str, new: &str) {
        let file = self.sandbox.project.join(path);
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(old), "{text}");
        let input = json!({"file_path": file, "old_string": old, "new_string": new});
        self.call(session, "Edit", input, || fs::write(&file, text.replacen(old, new, 1)).unwrap());
    }

    pub(crate) fn write(&self, session: &str, path: &str, text: &str) {
        let file = self.sandbox.project.join(path);
        let input = json!({"file_path": file, "content": text});
        self.call(session, "Write", input, || {
            self.sandbox.write(path, text);
        });
    }

    pub(crate) fn shell(&self, session: &str, line: &str) {
        self.call(session, "Bash", json!({"command": line}), || self.run_shell(line));
    }

    /// Plays a call from its request to its end.
    pub(crate) fn call(&self, session: &str, tool: &str, input: Value, act: impl FnOnce()) {
        self.calls.set(self.calls.get() + 1);
        let id = format!("call-{}", self.calls.get());
        let more = json!({"tool_name": tool, "tool_input": input, "tool_use_id": id});
        self.sandbox.event(session, "PreToolUse", more.clone());
        act();
        self.sandbox.event(session, "PostToolUse", more);
    }

    pub(crate) fn stop(&self, session: &str) -> Value {
        self.sandbox.event(session, "Stop", json!({}))
    }

    /// Runs git as a person at a terminal.
    pub(crate) fn git(&self, line: &str) {
        self.run_shell(&format!("git {line}"));
    }

    pub(crate) fn run_shell(&self, line: &str) {
        let done = self.sandbox.command("sh").args(["-c", line]).output().unwrap();
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// Returns all records in the exported form.
    pub(crate) fn records(&self) -> Vec<Value> {
        self.exported(&["--all"])
    }

    pub(crate) fn finals(&self) -> Vec<Value> {
        self.exported(&["--final"])
    }

    fn exported(&self, more: &[&str]) -> Vec<Value> {
        let args: Vec<&str> = ["trace", "export", "--json"].iter().chain(more).copied().collect();
        self.sandbox.json(&args)["records"].as_array().unwrap().clone()
    }

    pub(crate) fn verify(&self) -> Ran {
        self.sandbox.run(&["trace", "verify", "--json"])
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.sandbox.project.join(path)).unwrap()
    }

    /// Returns the path of the log and its lines.
    pub(crate) fn log(&self) -> (std::path::PathBuf, Vec<String>) {
        let dir = self.sandbox.store().join("log");
        let path = fs::read_dir(dir).unwrap().next().unwrap().unwrap().path();
        let lines = fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
        (path, lines)
    }
}

pub(crate) fn ours(record: &Value) -> &Value {
    &record["metadata"]["dev.sprag"]
}

/// Returns `path:first-last` of all lines that the record claims.
pub(crate) fn lines_of(record: &Value) -> Vec<String> {
    let files = record["files"].as_array().unwrap().iter();
    files
        .flat_map(|file| {
            let ranges = file["conversations"][0]["ranges"].as_array().unwrap().iter();
            ranges.map(|it| {
                format!("{}:{}-{}", file["path"].as_str().unwrap(), it["start_line"], it["end_line"])
            })
        })
        .collect()
}

pub(crate) fn hash(text: &str) -> String {
    let digits: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digits}")
}
