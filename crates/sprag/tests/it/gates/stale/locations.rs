//! Locations of a file: in another worktree, behind a link, too large for one read, moved by git, read by
//! another agent of the same session.

use std::fs;

use serde_json::json;

use sprag_base::result::Discard as _;

use super::{Call, Desk, context};
use crate::support::payload;

#[test]
fn the_same_file_in_another_worktree_is_noted_once() {
    let desk = Desk::new();
    desk.file("src/a.rs", "one\n");
    desk.sandbox.git(&["add", "."]);
    assert!(desk.sandbox.git(&["commit", "-qm", "one"]).status.success());
    let beside = desk.sandbox.project.with_file_name("beside");
    let added = desk.sandbox.git(&["worktree", "add", "-q", beside.to_str().unwrap(), "-b", "x"]);
    assert!(added.status.success());
    let call = desk.call("Write", json!({"file_path": beside.join("src/a.rs"), "content": "theirs\n"}));
    desk.sandbox.hook("claude", &payload("other", "PreToolUse", &beside, call.0.clone()));
    fs::write(beside.join("src/a.rs"), "theirs\n").unwrap();
    desk.sandbox.hook("claude", &payload("other", "PostToolUse", &beside, call.0.clone()));

    desk.reads("mine", "src/a.rs");
    let mine = desk.write_call("src/a.rs", "mine\n");
    let reply = desk.asks("mine", &mine).unwrap();
    let told = context(&reply);
    assert!(told.contains("also changed in worktree") && told.contains("beside"), "{told}");
    assert_eq!(context(&desk.asks("mine", &mine).unwrap()), "", "once is enough");
    // An absolute path names the same file from any directory.
    let from_here = desk.call("Write", json!({"file_path": beside.join("src/a.rs"), "content": "x\n"}));
    assert_eq!(desk.code("mine", &from_here), "stale_file");
}

#[test]
fn a_link_is_the_file_it_leads_to_and_a_pipe_is_none() {
    let desk = Desk::new();
    desk.file("a", "one\n");
    std::os::unix::fs::symlink("a", desk.path("link")).unwrap();
    desk.reads("mine", "link");
    desk.reads("other", "a");
    desk.writes("other", "a", "two\n");
    assert_eq!(desk.code("mine", &desk.write_call("a", "three\n")), "stale_file");
    assert_eq!(desk.code("mine", &desk.write_call("link", "three\n")), "stale_file");
    assert!(desk.sandbox.command("mkfifo").arg(desk.path("pipe")).status().unwrap().success());
    assert_eq!(desk.code("mine", &desk.write_call("pipe", "x")), "not_a_file");
    desk.reads("mine", "pipe");
    assert_eq!(desk.code("mine", &desk.bash("echo x > /dev/null")), "pass");
}

#[test]
fn a_large_file_is_told_by_its_stamp_and_then_by_its_content() {
    let desk = Desk::new();
    let large = "0123456789abcde\n".repeat(600_000);
    desk.file("large", &large);
    desk.reads("mine", "large");
    let edit = desk.bash("sed -i 1d large");
    assert_eq!(desk.code("mine", &edit), "pass");
    let file = fs::File::options().append(true).open(desk.path("large")).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(desk.code("mine", &edit), "pass", "another stamp, and the same content");
    desk.file("large", &large.replacen('0', "1", 1));
    assert_eq!(desk.code("mine", &edit), "stale_file");
}

#[test]
fn a_tree_that_git_moved_is_not_what_somebody_wrote() {
    let desk = Desk::new();
    desk.file("a", "one\n");
    desk.sandbox.git(&["add", "."]);
    assert!(desk.sandbox.git(&["commit", "-qm", "one"]).status.success());
    assert!(desk.sandbox.git(&["switch", "-qc", "x"]).status.success());
    desk.file("a", "on a branch\n");
    assert!(desk.sandbox.git(&["-c", "user.name=t", "commit", "-qam", "two"]).status.success());
    desk.reads("mine", "a");
    desk.runs("mine", "git switch -q main");
    assert_eq!(desk.text("a"), "one\n");
    let write = desk.write_call("a", "two\n");
    assert_eq!(desk.code("mine", &write), "pass");
    desk.reads("other", "a");
    // The lease of `mine` would block `other` until the call ends.
    desk.ended("mine", &write);
    desk.writes("other", "a", "theirs\n");
    assert_eq!(desk.code("mine", &write), "stale_file", "this is");
}

#[test]
fn agents_of_one_session_see_for_themselves() {
    let desk = Desk::new();
    desk.file("a", "one\n");
    desk.reads("mine", "a");
    let by = |agent: &str, call: &Call| {
        let mut call = call.clone();
        call.0["agent_id"] = json!(agent);
        call.0["agent_type"] = json!("helper");
        call
    };
    let write = desk.write_call("a", "by a helper\n");
    assert_eq!(desk.code("mine", &by("h1", &write)), "pass", "it starts with what its session saw");
    assert_eq!(desk.code("mine", &by("h2", &write)), "write_in_progress");
    desk.file("a", "by a helper\n");
    desk.ended("mine", &by("h1", &write));
    let (code, told) = desk.asks("mine", &by("h2", &desk.write_call("a", "x\n"))).unwrap_err();
    assert_eq!(code, "stale_file");
    assert!(told.contains("agent `h1` of this session wrote it"), "{told}");
    assert_eq!(desk.code("mine", &desk.write_call("a", "x\n")), "stale_file");
    assert_eq!(desk.code("mine", &by("h1", &desk.write_call("a", "x\n"))), "pass");
}

#[test]
fn a_place_for_claims_that_is_none_stops_nobody() {
    let desk = Desk::new();
    desk.file("a", "one\n");
    fs::remove_dir_all(desk.sandbox.store().join("claims")).discard("the folder may not exist");
    fs::write(desk.sandbox.store().join("claims"), "a file").unwrap();
    desk.reads("mine", "a");
    desk.writes("mine", "a", "two\n");
    desk.writes("mine", "a", "three\n");
    desk.file("a", "by hand\n");
    assert_eq!(
        desk.code("mine", &desk.write_call("a", "four\n")),
        "stale_file",
        "what was seen is known still"
    );
}
