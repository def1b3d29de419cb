//! The law of dry runs: `sprag hook CLIENT --dry-run` gives the verdict of the real call and writes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::stories::play;
use crate::stories::scripts::{Script, scripts};
use crate::support::Sandbox;
use crate::support::players::Program;

#[test]
fn stories_have_the_same_verdicts_in_a_dry_run_as_claude() {
    play_all("claude");
}

#[test]
fn stories_have_the_same_verdicts_in_a_dry_run_as_codex() {
    play_all("codex");
}

fn play_all(client: &'static str) {
    for script in scripts().into_iter().filter(Script::runs_in_real_time).filter(|it| it.suits(client)) {
        let sandbox = Sandbox::new();
        let (token, intents) = (String::new(), Vec::new());
        play(&script, &mut Program { sandbox, client, token, intents, is_rehearsed: true });
    }
}

#[test]
fn recorded_payloads_have_the_same_verdicts_in_a_dry_run() {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sprag-host/tests/recorded");
    let mut count = 0;
    for client in ["claude", "codex"] {
        let sandbox = Sandbox::new();
        let mut paths: Vec<PathBuf> =
            fs::read_dir(recorded.join(client)).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            let text = fs::read_to_string(&path).unwrap();
            let text = text
                .replace("${PROJECT}", &sandbox.project.display().to_string())
                .replace("${HOME}", &sandbox.home.display().to_string());
            hook_after_dry_run(&sandbox, client, &serde_json::from_str(&text).unwrap());
            count += 1;
        }
    }
    assert!(count > 20, "only {count} payloads were found");
}

/// Plays an event as a dry run and then for real, and compares replies and files.
pub(crate) fn hook_after_dry_run(sandbox: &Sandbox, client: &str, payload: &Value) -> Value {
    let before = files_of(sandbox);
    let dry = sandbox.run_with(&["hook", client, "--dry-run"], payload.to_string().as_bytes());
    let after = files_of(sandbox);
    for (path, bytes) in &after {
        assert!(before.get(path) == Some(bytes), "a dry run wrote `{}` at {payload}", path.display());
    }
    assert_eq!(before.len(), after.len(), "a dry run removed a file at {payload}");
    let real = sandbox.hook(client, payload);
    let dry: Value =
        serde_json::from_str(&dry.stdout).unwrap_or_else(|error| panic!("{error}: {}", dry.stdout));
    assert_eq!(comparable(&dry), comparable(&real), "at {payload}");
    real
}

/// Returns a reply without the parts that differ in each call: the token of a reviewer and times in file
/// names.
fn comparable(reply: &Value) -> String {
    let text = serde_json::to_string_pretty(reply).unwrap();
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("sprt_") {
        out.push_str(&rest[..at + 5]);
        rest = rest[at + 5..].trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    out.push_str(rest);
    let is_long = |word: &str| word.len() >= 13 && word.bytes().all(|byte| byte.is_ascii_digit());
    out.split_inclusive(|c: char| !c.is_ascii_digit())
        .map(|part| {
            let word = part.trim_end_matches(|c: char| !c.is_ascii_digit());
            if is_long(word) { part.replacen(word, "TIME", 1) } else { part.to_owned() }
        })
        .collect()
}

/// Returns every file of worktree, store and home with its bytes; for a link, its target. Files that a check
/// writes elsewhere do not count.
fn files_of(sandbox: &Sandbox) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut open = vec![sandbox.project.clone(), sandbox.home.clone()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_symlink() {
                let target = fs::read_link(&path).unwrap_or_default();
                files.insert(path, target.into_os_string().into_encoded_bytes());
            } else if let Ok(bytes) = fs::read(&path) {
                files.insert(path, bytes);
            }
        }
    }
    files
}
