//! One case that can run many times: a temporary home and repository with the history of the case, and a
//! saved state to return to.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use super::cases::{Call, Case};
use super::saved::Saved;
use crate::place::Place;

const SESSION: &str = "6b0d7f52-6a3c-4f0e-9a53-1d4a2f0c9be1";
/// The number of calls after which the search for an event gives up.
const PATIENCE: usize = 5000;

pub struct Scene {
    pub case: &'static Case,
    place: Place,
    /// All scenes use the same file, because each copy would have to warm up separately.
    program: PathBuf,
    payload: PathBuf,
}

/// The state of a session's journal, for the conditions of cases.
#[derive(Default)]
pub struct Journal {
    pub lines: usize,
    pub ends_with_snapshot: bool,
}

impl Scene {
    /// Makes the scene in an empty folder, plays the history and tries the call once.
    pub fn set(case: &'static Case, program: &Path, root: &Path) -> anyhow::Result<(Scene, Saved)> {
        fs::create_dir_all(root)?;
        let place = Place::furnish(root, program, String::new())?;
        let scene = Scene { case, place, program: program.to_path_buf(), payload: root.join("payload.json") };
        (case.before)(&scene).with_context(|| format!("cannot prepare `{}`", case.name))?;
        let cwd = scene.place.project().display().to_string();
        fs::write(&scene.payload, case.call.payload(SESSION, &cwd).to_string())?;
        let mut saved = scene.save()?;
        let reply = scene.reply(&scene.payload)?;
        ensure!(case.says.is(&reply), "`{}` answered `{}`, not {:?}", case.name, reply.trim(), case.says);
        saved.restore()?;
        Ok((scene, saved))
    }

    /// Makes a hook call of the session of the case.
    pub fn call(&self, call: Call) -> anyhow::Result<()> {
        self.call_in(SESSION, call)
    }

    pub fn call_in(&self, session: &str, call: Call) -> anyhow::Result<()> {
        let payload = self.place.root.join("before.json");
        fs::write(&payload, call.payload(session, &self.place.project().display().to_string()).to_string())?;
        self.reply(&payload).map(|_| ())
    }

    /// Repeats a call until the condition holds, then restores the state before the last call.
    pub fn stop_short_of(&self, call: Call, is_it: fn(&Journal, &Journal) -> bool) -> anyhow::Result<()> {
        let mut before = self.journal()?;
        for _ in 0..PATIENCE {
            let mut saved = self.save()?;
            self.call(call)?;
            let after = self.journal()?;
            if is_it(&before, &after) {
                return Ok(saved.restore()?);
            }
            before = after;
        }
        bail!("the event did not happen within {PATIENCE} calls")
    }

    pub fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        Ok(fs::write(self.place.project().join(name), text)?)
    }

    /// Writes rules of the user, which apply beside the built-in ones.
    pub fn write_rules(&self, count: usize) -> anyhow::Result<()> {
        let dir = self.place.home().join(".config/sprag/policy");
        fs::create_dir_all(&dir)?;
        let rule = |number: usize| {
            let program = ["git push", "git commit", "deploy", "make"][number % 4];
            format!(
                "[[rule]]\nid = \"own-{number}\"\nany = [\"Bash:{program} --flag-{number} *\"]\n\
                 decision = \"deny\"\nreason = \"rule {number}\"\n\n"
            )
        };
        Ok(fs::write(dir.join("own.toml"), (0..count).map(rule).collect::<String>())?)
    }

    /// Returns the measured call. It does not change the directory, so that the standard library can start it
    /// the cheap way.
    pub fn command(&self) -> anyhow::Result<Command> {
        self.command_of(&self.program, &["hook", "claude"])
    }

    /// Returns a command for another program in place of the hook, with the same environment and input.
    pub fn command_of(&self, program: &Path, arguments: &[&str]) -> anyhow::Result<Command> {
        self.with_payload(program, arguments, &self.payload)
    }

    pub fn program(&self) -> &Path {
        &self.program
    }

    fn with_payload(&self, program: &Path, arguments: &[&str], payload: &Path) -> anyhow::Result<Command> {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.place.home())
            .env("PATH", self.place.path())
            .env("TMPDIR", self.place.tmp())
            .stdin(File::open(payload)?)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(command)
    }

    fn reply(&self, payload: &Path) -> anyhow::Result<String> {
        let mut command = self.with_payload(&self.program, &["hook", "claude"], payload)?;
        let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success() && said.is_empty(), "the hook failed: {} {said}", output.status);
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Saves the folders that a hook writes to.
    fn save(&self) -> anyhow::Result<Saved> {
        Ok(Saved::of(&[self.place.home(), self.store()])?)
    }

    fn store(&self) -> PathBuf {
        self.place.project().join(".git").join("sprag")
    }

    fn journal(&self) -> anyhow::Result<Journal> {
        let path = self.store().join("journal").join(format!("{SESSION}.jsonl"));
        let text =
            fs::read_to_string(&path).with_context(|| format!("no journal at `{}`", path.display()))?;
        let last: Value = serde_json::from_str(text.lines().last().unwrap_or_default()).unwrap_or_default();
        Ok(Journal { lines: text.lines().count(), ends_with_snapshot: last["kind"] == "snapshot" })
    }
}
