//! The check that exported records are valid Agent Trace. It plays a session with all kinds of changes
//! through the hooks of the program, and validates the output of `sprag trace export` with the published
//! schemas.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::Report;
use super::schema::Schema;

const SCHEMAS: &[&str] = &["trace-record.spec-0.1.0.json", "trace-record.strict-fixed.json"];
/// A valid and an invalid sample. A schema that accepts the invalid one checks nothing.
const RIGHT: &str = "conformant-sample.json";
const WRONG: &str = "seed-shape-rejected.json";

pub fn score(sprag: &Path, data: &Path) -> anyhow::Result<Report> {
    let mut report = Report::default();
    let records = play(sprag)?;
    for name in SCHEMAS {
        let schema = Schema::new(read(&data.join(name))?);
        let faults = |value: &Value| schema.faults(value);
        let mut wrong = Vec::new();
        for record in &records {
            let found = faults(record)?;
            wrong.extend(found.into_iter().map(|fault| format!("{}: {fault}", record["id"])));
        }
        report.lines.push(format!("{name}: {} records, {} faults", records.len(), wrong.len()));
        if !wrong.is_empty() {
            report.missed.push(format!("{name}: {} faults, target none", wrong.len()));
        }
        report.errors.push(("faults", wrong));
        if !faults(&read(&data.join(RIGHT))?)?.is_empty() {
            report.missed.push(format!("{name}: `{RIGHT}` does not pass"));
        }
        if faults(&read(&data.join(WRONG))?)?.is_empty() {
            report.missed.push(format!("{name}: `{WRONG}` passes"));
        }
    }
    let count = |is: &dyn Fn(&Value) -> bool| records.iter().filter(|record| is(record)).count();
    let finals = count(&|record| record.get("vcs").is_some());
    report.lines.push(format!("final {finals}, provisional {}", records.len() - finals));
    if finals == 0 || finals == records.len() {
        report.missed.push("final or provisional records are missing".to_owned());
    }
    Ok(report)
}

fn read(path: &Path) -> anyhow::Result<Value> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("`{}` is not JSON", path.display()))
}

struct Scene<'a> {
    sprag: &'a Path,
    home: &'a Path,
    project: &'a Path,
}

/// Plays a session with calls, commands, a rename, a link, bytes and a commit. Returns the exported records.
fn play(sprag: &Path) -> anyhow::Result<Vec<Value>> {
    let temp = tempfile::tempdir()?;
    let root = temp.path().canonicalize()?;
    let (home, project) = (root.join("home"), root.join("project"));
    fs::create_dir_all(&home)?;
    fs::create_dir_all(project.join(".sprag"))?;
    let scene = Scene { sprag, home: &home, project: &project };
    fs::write(project.join("cart.rs"), "fn total() -> u32 {\n    1\n}\n")?;
    fs::write(project.join("old name.py"), "def f(x):\n    return x\n")?;
    scene.shell("git init -q && git add -A && git commit -qm start")?;
    let session = "0b8f6a34-5a0e-7c11-8c5e-3d1f0a9e7b22";
    scene.hook(session, "SessionStart", json!({"source": "startup"}))?;
    scene.write(session, "cart.rs", "// said\nfn total() -> u32 {\n    1\n}\n")?;
    scene.write(session, "new.go", "package a\n\nfunc f() int {\n\treturn 1\n}\n")?;
    scene.command(session, "sed -i 's/return x/return x + 1/' 'old name.py' && printf 'a\\0b' > bytes")?;
    scene.hook(session, "Stop", json!({}))?;
    scene.command(
        session,
        "git mv 'old name.py' moved.py && ln -s nowhere link && git add -A && git commit -qm work",
    )?;
    scene.write("another: session", "new.go", "package a\n")?;
    scene.hook("another: session", "Stop", json!({}))?;
    let exported = scene.run(Command::new(sprag).args(["trace", "export", "--all"]), b"")?;
    exported.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

impl Scene<'_> {
    fn run(&self, command: &mut Command, stdin: &[u8]) -> anyhow::Result<String> {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .envs([("GIT_AUTHOR_NAME", "x"), ("GIT_COMMITTER_NAME", "x")])
            .envs([("GIT_AUTHOR_EMAIL", "x@localhost"), ("GIT_COMMITTER_EMAIL", "x@localhost")])
            .current_dir(self.project)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start a program of the scene")?;
        child.stdin.take().context("a pipe was asked for")?.write_all(stdin)?;
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "{command:?} failed");
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn shell(&self, line: &str) -> anyhow::Result<()> {
        self.run(Command::new("sh").args(["-c", line]), b"").map(drop)
    }

    fn hook(&self, session: &str, event: &str, mut payload: Value) -> anyhow::Result<()> {
        payload["session_id"] = json!(session);
        payload["hook_event_name"] = json!(event);
        payload["cwd"] = json!(self.project);
        self.run(Command::new(self.sprag).args(["hook", "claude"]), payload.to_string().as_bytes()).map(drop)
    }

    fn call(
        &self,
        session: &str,
        tool: &str,
        input: &Value,
        act: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let payload = || json!({"tool_name": tool, "tool_input": input, "tool_use_id": input.to_string()});
        self.hook(session, "PreToolUse", payload())?;
        act()?;
        self.hook(session, "PostToolUse", payload())
    }

    fn write(&self, session: &str, path: &str, text: &str) -> anyhow::Result<()> {
        let file = self.project.join(path);
        let input = json!({"file_path": file, "content": text});
        self.call(session, "Write", &input, || Ok(fs::write(&file, text)?))
    }

    fn command(&self, session: &str, line: &str) -> anyhow::Result<()> {
        self.call(session, "Bash", &json!({"command": line}), || self.shell(line))
    }
}
