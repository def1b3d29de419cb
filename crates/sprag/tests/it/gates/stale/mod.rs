//! Files that another session wrote: no write overwrites content that its session has not read, with any
//! tool. Every story goes through the hooks of real clients.

use std::fs;
use std::path::PathBuf;
use std::process::Child;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::store::parallel;
use crate::support::{Sandbox, payload};

mod laws;
mod locations;

/// Agents that work in one clone.
struct Desk {
    sandbox: Sandbox,
    calls: AtomicUsize,
}

/// A tool call.
#[derive(Clone)]
struct Call(Value);

impl Desk {
    /// Returns a clone with two sessions and no intents.
    fn new() -> Desk {
        let desk = Desk::alone();
        desk.joined_by("other");
        desk
    }

    fn alone() -> Desk {
        Desk { sandbox: Sandbox::new(), calls: AtomicUsize::new(0) }
    }

    /// Returns a clone with intents. Another gate checks which intent a change is for.
    fn with_intents() -> Desk {
        let mut desk = Desk::alone();
        desk.sandbox.vars.push(("SPRAG_INTENT__REQUIRED".to_owned(), "never".to_owned()));
        desk.sandbox.write(".orchestration/active_intents.yaml", "active_intents: []\n");
        desk
    }

    fn joined_by(&self, session: &str) {
        self.sandbox.event(session, "UserPromptSubmit", json!({"prompt": "go on"}));
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        self.sandbox.write(name, text)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.sandbox.project.join(name)).unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.sandbox.project.join(name)
    }

    fn event(&self, session: &str, name: &str, call: &Call) -> Value {
        let client = if session.starts_with("codex") { "codex" } else { "claude" };
        self.sandbox.hook(client, &payload(session, name, &self.sandbox.project, call.0.clone()))
    }

    fn call(&self, tool: &str, input: Value) -> Call {
        let id = self.calls.fetch_add(1, Ordering::SeqCst);
        Call(json!({"tool_name": tool, "tool_input": input, "tool_use_id": format!("call-{id}")}))
    }

    /// Asks whether a call may run. Returns the reply, or the code and text of the refusal.
    fn asks(&self, session: &str, call: &Call) -> Result<Value, (String, String)> {
        let reply = self.event(session, "PreToolUse", call);
        let told = &reply["hookSpecificOutput"];
        if told["permissionDecision"] != "deny" {
            return Ok(reply);
        }
        let reason = told["permissionDecisionReason"].as_str().unwrap().to_owned();
        let parsed: Value = serde_json::from_str(&reason).unwrap();
        assert_eq!(parsed["status"], "error");
        Err((parsed["code"].as_str().unwrap().to_owned(), reason))
    }

    fn code(&self, session: &str, call: &Call) -> String {
        self.asks(session, call).err().map_or_else(|| "pass".to_owned(), |(code, _)| code)
    }

    fn ended(&self, session: &str, call: &Call) -> Value {
        let mut call = call.clone();
        call.0["tool_response"] = json!({});
        self.event(session, "PostToolUse", &call)
    }

    fn reads(&self, session: &str, name: &str) {
        let call = self.call("Read", json!({"file_path": self.path(name)}));
        assert_eq!(self.code(session, &call), "pass");
        self.ended(session, &call);
    }

    fn bash(&self, command: &str) -> Call {
        self.call("Bash", json!({ "command": command }))
    }

    fn runs(&self, session: &str, command: &str) {
        let call = self.bash(command);
        assert_eq!(self.code(session, &call), "pass", "{command}");
        assert!(self.sandbox.command("sh").args(["-c", command]).output().unwrap().status.success());
        self.ended(session, &call);
    }

    fn write_call(&self, name: &str, text: &str) -> Call {
        self.call("Write", json!({"file_path": self.path(name), "content": text}))
    }

    /// Makes a whole write, which the gate must allow.
    fn writes(&self, session: &str, name: &str, text: &str) -> Value {
        let call = self.write_call(name, text);
        assert_eq!(self.code(session, &call), "pass", "{session} writes {name}");
        self.file(name, text);
        self.ended(session, &call)
    }
}

fn context(reply: &Value) -> &str {
    reply["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default()
}

const NOTEBOOK: &str = r#"{"cells": [{"id": "one", "cell_type": "code", "source": "1"}], "nbformat": 4}"#;

/// Returns the ways in which agents of both clients write a file with the text `one`.
fn ways(desk: &Desk, name: &str) -> Vec<(&'static str, Call)> {
    let path = desk.path(name);
    let patch = |text: String| {
        desk.call("apply_patch", json!({"command": format!("*** Begin Patch\n{text}\n*** End Patch\n")}))
    };
    let edit = json!({"old_string": "one", "new_string": "1"});
    vec![
        ("mine", desk.write_call(name, "1\n")),
        ("mine", desk.call("Edit", json!({"file_path": path, "old_string": "one", "new_string": "1"}))),
        ("mine", desk.call("MultiEdit", json!({"file_path": path, "edits": [edit]}))),
        (
            "mine",
            desk.call("NotebookEdit", json!({"notebook_path": path, "cell_id": "one", "new_source": "2"})),
        ),
        ("codex-1", patch(format!("*** Update File: {name}\n@@\n-one\n+1"))),
        ("codex-1", patch(format!("*** Add File: {name}\n+1"))),
        ("codex-1", patch(format!("*** Delete File: {name}"))),
        ("codex-1", patch(format!("*** Update File: {name}\n*** Move to: moved\n@@\n-one\n+1"))),
        ("mine", desk.bash(&format!("echo 1 > {name}"))),
        ("codex-1", desk.bash(&format!("cat > {name} <<'X'\n1\nX"))),
        ("mine", desk.bash(&format!("echo 1 | tee {name}"))),
        ("mine", desk.bash(&format!("sed -i s/one/1/ {name}"))),
        ("mine", desk.bash(&format!("perl -pi -e s/one/1/ {name}"))),
        ("mine", desk.bash(&format!("cp source {name}"))),
        ("mine", desk.bash(&format!("mv source {name}"))),
        ("mine", desk.bash(&format!("mv {name} elsewhere"))),
        ("mine", desk.bash(&format!("cd . && rm {name}"))),
        ("mine", desk.bash(&format!("bash -c 'truncate -s 0 {name}'"))),
        ("mine", desk.bash(&format!("dd if=source of={name}"))),
    ]
}

/// The store has hashes of ignored and secret files, and no copy of their content.
#[test]
fn no_private_content_is_copied() {
    let desk = Desk::new();
    desk.file(".gitignore", "private/\n");
    desk.file("src/nested/.gitignore", "*.local\n");
    assert!(desk.sandbox.git(&["init", "-q", "src/nested"]).status.success());
    let secret = "ghp_0123456789abcdefghij0123456789abcdef";
    let files = [
        ("private/notes.txt", "marker-one"),
        (".env", "marker-two"),
        ("server.pem", "marker-three"),
        ("src/nested/a.local", "marker-four"),
        ("config.txt", secret),
        ("plain.txt", "marker-plain"),
    ];
    for (name, marker) in files {
        desk.file(name, &format!("{marker} before\n"));
        desk.reads("a", name);
        desk.writes("a", name, &format!("{marker} after\n"));
        desk.reads("b", name);
        desk.writes("b", name, &format!("{marker} again\n"));
        // The gate works as before: the first session must read the file again.
        assert_eq!(desk.code("a", &desk.write_call(name, "x\n")), "stale_file", "{name}");
    }
    let copied = |marker: &str| {
        let home = desk.sandbox.home.as_os_str();
        let mut grep = desk.sandbox.command("grep");
        let found = grep.args(["-raF", marker, ".git/sprag"]).arg(home).output().unwrap();
        String::from_utf8_lossy(&found.stdout).into_owned()
    };
    for marker in ["marker-one", "marker-two", "marker-three", "marker-four", secret] {
        assert_eq!(copied(marker), "", "{marker}");
    }
    assert!(copied("marker-plain").contains("before"));
}

/// The other session wrote the file after this one read it, and ended before this one writes.
#[test]
fn the_work_of_a_session_that_ended_is_not_overwritten() {
    let desk = Desk::alone();
    desk.file("a.txt", "one\n");
    desk.file("own.txt", "one\n");
    desk.reads("first", "a.txt");
    desk.reads("first", "own.txt");
    desk.joined_by("second");
    desk.reads("second", "a.txt");
    desk.writes("second", "a.txt", "two\n");
    desk.sandbox.event("second", "SessionEnd", json!({"reason": "exit"}));
    let write = desk.write_call("a.txt", "three\n");
    let (code, told) = desk.asks("first", &write).unwrap_err();
    assert_eq!(code, "stale_file");
    assert!(told.contains("second"), "{told}");
    // The way on: read the file again. Files that the other session did not write stay free.
    assert_eq!(desk.code("first", &desk.write_call("own.txt", "x\n")), "pass");
    desk.reads("first", "a.txt");
    assert_eq!(desk.code("first", &desk.write_call("a.txt", "three\n")), "pass");
}

#[test]
fn every_way_of_writing_is_refused_on_a_file_that_changed() {
    let desk = Desk::new();
    desk.file("source", "1\n");
    for (at, _) in ways(&desk, "x").iter().enumerate() {
        let name = format!("file-{at}.ipynb");
        desk.file(&name, NOTEBOOK);
        let (session, call) = ways(&desk, &name).remove(at);
        desk.runs(session, &format!("cat {name}"));
        let same = desk.code(session, &call);
        assert_eq!(same, "pass", "{call}: nothing has changed", call = call.0);
        // The write never happened, and a session does not wait for its own lease.
        desk.file(&name, "one\n");
        assert_eq!(desk.code(session, &call), "stale_file", "{}", call.0);
    }
}

#[test]
fn one_may_write_again_what_one_has_written() {
    let desk = Desk::new();
    desk.file("a", "one\n");
    desk.reads("mine", "a");
    desk.writes("mine", "a", "two\n");
    desk.writes("mine", "a", "three\n");
    let edit =
        desk.call("Edit", json!({"file_path": desk.path("a"), "old_string": "three", "new_string": "4"}));
    assert_eq!(desk.code("mine", &edit), "pass");
    desk.file("a", "4\n");
    assert_eq!(desk.ended("mine", &edit), json!({}));
    desk.runs("mine", "sed -i s/4/five/ a");
    desk.runs("mine", "echo six >> a");
    desk.runs("mine", "echo seven > a");
    desk.writes("mine", "a", "eight\n");
    desk.runs("mine", "rm a");
    desk.writes("mine", "a", "nine\n");
    desk.writes("mine", "new", "one\n");
    desk.writes("mine", "new", "two\n");
}

#[test]
fn whoever_wrote_it_is_named_and_what_changed_is_shown() {
    let desk = Desk::new();
    desk.file("src/a.rs", "one\ntwo\nthree\n");
    desk.reads("mine", "src/a.rs");
    desk.reads("other", "src/a.rs");
    desk.writes("other", "src/a.rs", "one\nTWO\nthree\n");
    let mine = desk.write_call("src/a.rs", "mine\n");
    let (code, told) = desk.asks("mine", &mine).unwrap_err();
    assert_eq!(code, "stale_file");
    for part in ["session `other` wrote it at", "@@ -2,1 +2,1 @@ `-two` `+TWO`", "/src/a.rs", "read it again"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
    desk.reads("mine", "src/a.rs");
    assert_eq!(desk.code("mine", &mine), "pass", "it has been read again");

    // No known session made this change.
    desk.file("src/a.rs", "a person was here\n");
    let (code, told) = desk.asks("mine", &mine).unwrap_err();
    assert_eq!(code, "stale_file");
    assert!(told.contains("an unknown process wrote it"), "{told}");
}

#[test]
fn what_somebody_else_made_is_not_overwritten_unseen() {
    let desk = Desk::new();
    desk.writes("other", "new", "theirs\n");
    let mine = desk.write_call("new", "mine\n");
    let (code, told) = desk.asks("mine", &mine).unwrap_err();
    assert_eq!(code, "stale_file");
    assert!(told.contains("has not read: session `other` wrote it"), "{told}");
    desk.runs("mine", "grep theirs new");
    assert_eq!(desk.code("mine", &mine), "stale_file", "a part of it is not all of it");
    // The session knows the text that it appends, but not the text before it.
    desk.runs("mine", "echo more >> new");
    assert_eq!(desk.code("mine", &mine), "stale_file");
    desk.runs("mine", "cat new");
    assert_eq!(desk.code("mine", &mine), "pass");
}

#[test]
fn only_intents_ask_for_reading_before_overwriting() {
    let desk = Desk::new();
    desk.file("a", "one\n");
    assert_eq!(desk.code("mine", &desk.write_call("a", "two\n")), "pass");

    let desk = Desk::with_intents();
    let lines = "line\n".repeat(2500);
    desk.file("a", &lines);
    let write = desk.write_call("a", "two\n");
    let edit = desk.call("Edit", json!({"file_path": desk.path("a"), "old_string": "x", "new_string": "y"}));
    let stale = |call: &Call| desk.code("mine", call);
    assert_eq!(stale(&write), "unread_file");
    assert_eq!(stale(&desk.bash("echo two > a")), "unread_file");
    assert_eq!(stale(&edit), "pass", "it names what it replaces");
    assert_eq!(stale(&desk.bash("echo two >> a")), "pass");
    assert_eq!(stale(&desk.write_call("b", "two\n")), "pass", "there is nothing to be read");
    desk.runs("mine", "head -3 a");
    let (code, told) = desk.asks("mine", &write).unwrap_err();
    assert_eq!(code, "unread_file");
    assert!(told.contains("has read only a part of it"), "{told}");
    desk.reads("mine", "a");
    assert_eq!(stale(&write), "unread_file", "a tool shows 2000 lines");
    let rest = desk.call("Read", json!({"file_path": desk.path("a"), "offset": 2001}));
    stale(&rest);
    desk.ended("mine", &rest);
    assert_eq!(stale(&write), "pass");
}

#[test]
fn alone_it_is_only_noted_and_it_counts_once_somebody_comes() {
    let desk = Desk::alone();
    desk.file("a", "one\n");
    desk.reads("mine", "a");
    desk.file("a", "two\n");
    let write = desk.write_call("a", "three\n");
    assert_eq!(desk.code("mine", &write), "pass");
    desk.joined_by("other");
    assert_eq!(desk.code("mine", &write), "stale_file");
    desk.sandbox.event("other", "SessionEnd", json!({"reason": "other"}));
    assert_eq!(desk.code("mine", &write), "pass", "it has gone again");
}

#[test]
fn the_user_says_when() {
    let mut desk = Desk::new();
    desk.file("a", "one\n");
    desk.reads("mine", "a");
    desk.file("a", "two\n");
    let write = desk.write_call("a", "three\n");
    desk.sandbox.vars.push(("SPRAG_STALE__MODE".to_owned(), "off".to_owned()));
    assert_eq!(desk.code("mine", &write), "pass");
    desk.sandbox.vars.pop();
    assert_eq!(desk.code("mine", &write), "stale_file");

    let mut desk = Desk::alone();
    desk.sandbox.vars.push(("SPRAG_STALE__MODE".to_owned(), "always".to_owned()));
    desk.file("a", "one\n");
    assert_eq!(desk.code("mine", &desk.write_call("a", "x\n")), "pass", "it is not asked for reading");
    desk.reads("mine", "a");
    desk.file("a", "two\n");
    assert_eq!(desk.code("mine", &desk.write_call("a", "three\n")), "stale_file");
}

#[test]
fn one_writes_at_a_time() {
    let desk = Desk::new();
    desk.file("a", "one\n");
    desk.reads("mine", "a");
    desk.reads("other", "a");
    let theirs = desk.write_call("a", "theirs\n");
    assert_eq!(desk.code("other", &theirs), "pass");
    let (code, told) = desk.asks("mine", &desk.write_call("a", "mine\n")).unwrap_err();
    assert_eq!(code, "write_in_progress");
    assert!(told.contains("session `other` is writing `"), "{told}");
    assert_eq!(desk.code("mine", &desk.write_call("b", "mine\n")), "pass");
    desk.file("a", "theirs\n");
    assert_eq!(desk.code("mine", &desk.write_call("a", "mine\n")), "stale_file", "while the call runs");
    desk.ended("other", &theirs);
    assert_eq!(desk.code("mine", &desk.write_call("a", "mine\n")), "stale_file");
}

/// Each round is one version of the file that all sessions have read.
#[test]
fn fifty_at_once_and_one_of_them_wins_each_version() {
    const WRITERS: usize = 50;
    const VERSIONS: usize = 4;
    let desk = Desk::alone();
    desk.file("a", "version 0\n");
    let barrier = Barrier::new(WRITERS);
    let wins: Vec<AtomicUsize> = (0..VERSIONS).map(|_| AtomicUsize::new(0)).collect();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (desk, barrier, wins) = (&desk, &barrier, &wins);
            scope.spawn(move || {
                let session = format!("s-{writer}");
                desk.joined_by(&session);
                for (version, wins) in wins.iter().enumerate() {
                    barrier.wait();
                    desk.reads(&session, "a");
                    barrier.wait();
                    let text = format!("version {} by {session}\n", version + 1);
                    let call = desk.write_call("a", &text);
                    match desk.asks(&session, &call) {
                        Ok(_) => {
                            let before = desk.text("a");
                            assert!(before.starts_with(&format!("version {version}")), "{before}");
                            fs::write(desk.path("a"), &text).unwrap();
                            wins.fetch_add(1, Ordering::SeqCst);
                            assert_eq!(desk.ended(&session, &call), json!({}));
                        }
                        Err((code, told)) => {
                            assert!(["stale_file", "write_in_progress"].contains(&code.as_str()), "{told}");
                        }
                    }
                }
            });
        }
    });
    let wins: Vec<usize> = wins.into_iter().map(AtomicUsize::into_inner).collect();
    assert_eq!(wins, [1; VERSIONS]);
    assert!(desk.text("a").starts_with(&format!("version {VERSIONS} by ")));
}

#[test]
fn a_writer_that_was_killed_after_writing_still_owns_what_it_wrote() {
    let desk = Desk::new();
    desk.file("a", "one\n");
    desk.reads("mine", "a");
    let call = desk.write_call("a", "two\n");
    assert_eq!(desk.code("mine", &call), "pass");
    desk.file("a", "two\n");
    // The hook never gets the end of this call.
    assert_eq!(desk.code("mine", &desk.write_call("a", "three\n")), "pass");
    let child: Child = parallel::start(
        &desk.sandbox,
        &payload("mine", "PostToolUse", &desk.sandbox.project, call.0.clone()),
    );
    let mut child = child;
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(desk.code("mine", &desk.write_call("a", "three\n")), "pass");
}

#[test]
fn an_update_that_went_wrong_is_told_and_both_versions_are_kept() {
    let desk = Desk::new();
    desk.file("a", "one\n");
    desk.reads("mine", "a");
    let call =
        desk.call("Edit", json!({"file_path": desk.path("a"), "old_string": "one", "new_string": "two"}));
    assert_eq!(desk.code("mine", &call), "pass");
    // An editor writes without a hook.
    desk.file("a", "one, by hand\n");
    let reply = desk.ended("mine", &call);
    let told = context(&reply);
    assert!(told.contains("lost_update: "), "{told}");
    let kept: Vec<&str> = told.split('`').filter(|part| part.contains("/claims/lost/")).collect();
    let texts: Vec<String> = kept.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    assert_eq!(texts, ["two\n", "one, by hand\n"]);
    assert_eq!(desk.code("mine", &desk.write_call("a", "three\n")), "stale_file");

    // The client decides about line ends.
    desk.reads("mine", "a");
    let call = desk.write_call("a", "x\ny\n");
    assert_eq!(desk.code("mine", &call), "pass");
    desk.file("a", "x\r\ny\r\n");
    assert_eq!(desk.ended("mine", &call), json!({}));
}
