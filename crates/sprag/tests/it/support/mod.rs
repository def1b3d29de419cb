//! A temporary home and repository, and the program run in them with an empty environment.

pub(crate) mod desk;
pub(crate) mod players;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use sprag_base::result::Discard as _;

pub(crate) const SPRAG: &str = env!("CARGO_BIN_EXE_sprag");

pub(crate) struct Sandbox {
    _temp: TempDir,
    pub home: PathBuf,
    pub project: PathBuf,
    pub vars: Vec<(String, String)>,
    is_person: bool,
}

/// The result of a run of the program.
pub(crate) struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Sandbox {
    /// Makes an empty git repository.
    pub(crate) fn new() -> Sandbox {
        let sandbox = Sandbox::without_git();
        let done = sandbox.git(&["init", "-q", "-b", "main"]);
        assert!(done.status.success());
        sandbox
    }

    pub(crate) fn without_git() -> Sandbox {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let (home, project) = (root.join("home"), root.join("project"));
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(&project).unwrap();
        fs::create_dir_all(root.join("tmp")).unwrap();
        let vars = vec![("TMPDIR".to_owned(), root.join("tmp").display().to_string())];
        Sandbox { _temp: temp, home, project, vars, is_person: false }
    }

    /// Calls hooks from a shell of a person, so that the test does not count as a client and may act as that
    /// person.
    pub(crate) fn of_a_person(mut self) -> Sandbox {
        self.is_person = true;
        self
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", &self.home)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            // Machines have different sandboxes, so tests that need one turn it on.
            .env("SPRAG_SANDBOX", "off")
            .envs(self.vars.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.project);
        command
    }

    /// Puts a program `git` before the real one on PATH.
    pub(crate) fn with_git(&mut self, script: &str) {
        self.with_program("git", script);
    }

    pub(crate) fn with_program(&mut self, name: &str, script: &str) {
        let bin = self.home.join("bin");
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join(name), format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        self.vars.retain(|(name, _)| name != "PATH");
        self.vars.push(("PATH".to_owned(), format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display())));
    }

    pub(crate) fn git(&self, args: &[&str]) -> Output {
        let identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
        self.command("git").args(identity).args(args).output().unwrap()
    }

    /// Writes a file of the project, as a person would.
    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let is_configuration = path.starts_with('.');
        let path = self.project.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        if is_configuration {
            self.accept();
        }
        path
    }

    /// Writes the user's configuration, as a person would.
    pub(crate) fn write_config(&self, text: &str) -> PathBuf {
        let path = self.home.join(".config/sprag/config.toml");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        self.accept();
        path
    }

    /// Accepts the protected files as they are, like `sprag trust` of a person.
    pub(crate) fn accept(&self) {
        let manifests = self.home.join(".local/state/sprag/guarded");
        if manifests.exists() {
            fs::remove_dir_all(manifests).unwrap();
        }
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.project.join(".git/sprag")
    }

    pub(crate) fn journal(&self, session: &str) -> PathBuf {
        self.store().join("journal").join(format!("{session}.jsonl"))
    }

    /// Runs `sprag` with these arguments.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.run_with(args, b"")
    }

    pub(crate) fn run_with(&self, args: &[&str], stdin: &[u8]) -> Ran {
        let mut command = self.command(SPRAG);
        command.args(args);
        ran(command, stdin)
    }

    fn run_hook(&self, client: &str, stdin: &[u8]) -> Ran {
        if !self.is_person {
            return self.run_with(&["hook", client], stdin);
        }
        let script = self.home.join("hook.sh");
        fs::write(&script, format!("{SPRAG} hook {client}\n")).unwrap();
        let mut command = self.command("sh");
        command.arg(script);
        ran(command, stdin)
    }
    /// Runs `sprag` and returns the one JSON object on stdout.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let ran = self.run(args);
        serde_json::from_str(&ran.stdout)
            .unwrap_or_else(|error| panic!("{args:?}: {error}\n{}", ran.told(self)))
    }

    /// Sends one event and returns the reply.
    pub(crate) fn hook(&self, client: &str, payload: &Value) -> Value {
        let ran = self.run_hook(client, payload.to_string().as_bytes());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {:?}", ran.stdout))
    }

    pub(crate) fn event(&self, session: &str, name: &str, more: Value) -> Value {
        self.hook("claude", &payload(session, name, &self.project, more))
    }

    pub(crate) fn bash(&self, session: &str, command: &str) -> Value {
        self.event(session, "PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": command}}))
    }

    /// Replaces the parts that differ from run to run.
    pub(crate) fn plain(&self, text: &str) -> String {
        let root = self.project.parent().unwrap().display().to_string();
        mask_times(&text.replace(&root, "ROOT").replace(SPRAG, "SPRAG"))
    }
}

impl Ran {
    /// Returns code, stdout and stderr together, for snapshots.
    pub(crate) fn told(&self, sandbox: &Sandbox) -> String {
        let mut told = format!("exit {}\n", self.code);
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                told.push_str(&format!("--- {name}\n{}", sandbox.plain(text)));
            }
        }
        told.trim_end().to_owned()
    }
}

pub(crate) fn ran(mut command: Command, stdin: &[u8]) -> Ran {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let bytes = stdin.to_vec();
    let writing = std::thread::spawn(move || pipe.write_all(&bytes));
    let output = child.wait_with_output().unwrap();
    // The output of the program is enough to detect a broken pipe.
    writing.join().unwrap().discard("a program may end without reading its input");
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

pub(crate) fn payload(session: &str, name: &str, cwd: &Path, mut more: Value) -> Value {
    more["session_id"] = json!(session);
    more["hook_event_name"] = json!(name);
    more["cwd"] = json!(cwd);
    more
}

/// A conflict with so few lines that it opens no other obligation.
pub(crate) const CONFLICT: &str = "one\n<<<<<<< ours\ntwo\n=======\n>>>>>>> theirs\n";

/// Returns the lines of all journals and logs of a store.
pub(crate) fn stored_lines(store: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    for dir in ["log", "journal"] {
        for entry in fs::read_dir(store.join(dir)).into_iter().flatten().flatten() {
            let text = fs::read_to_string(entry.path()).unwrap();
            lines.extend(text.lines().map(str::to_owned).filter(|line| !line.is_empty()));
        }
    }
    lines
}

/// Replaces `2026-11-15T09:01:01.000Z` by `TIME`, and `09:01:01` at the start of a line by `CLOCK`.
fn mask_times(text: &str) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        if is_shape(rest.trim_start(), "00:00:00 ") {
            let indent = rest.len() - rest.trim_start().len();
            out.push_str(&rest[..indent]);
            out.push_str("CLOCK");
            rest = &rest[indent + 8..];
        }
        while let Some(at) = rest
            .char_indices()
            .map(|(at, _)| at)
            .find(|&at| is_shape(&rest[at..], "0000-00-00T00:00:00.000Z"))
        {
            out.push_str(&rest[..at]);
            out.push_str("TIME");
            rest = &rest[at + 24..];
        }
        out.push_str(rest);
    }
    out
}

fn is_shape(text: &str, shape: &str) -> bool {
    text.len() >= shape.len()
        && text
            .bytes()
            .zip(shape.bytes())
            .all(|(byte, like)| if like == b'0' { byte.is_ascii_digit() } else { byte == like })
}
