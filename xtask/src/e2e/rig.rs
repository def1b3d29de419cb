//! A real client in a temporary home, between a scripted model and the program under test. It runs sessions
//! and returns the results; the cases judge them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::Value;
use tempfile::TempDir;

use super::clients::{Client, Errand, Grant};
use super::install::Installed;
use super::outcome::Stopped;
use crate::model::Model;
use crate::model::script::{Part, Script};
use crate::model::seen::Request;
use crate::place::Place;
use crate::process::{self, Ending, Finished};

/// The deadline of a run, which takes some seconds. A busy machine needs more time; a hanging run must end.
const DEADLINE: Duration = Duration::from_secs(120);
const PROMPT: &str = "do the scripted task";

/// The parts that all rigs of one invocation share.
pub struct Kit {
    pub program: PathBuf,
    pub installer: Installer,
    pub plugin: PathBuf,
}

/// The writer of the hooks in the client's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installer {
    Program,
    /// This driver, for a program without `init`.
    Driver,
}

/// The way by which the client gets the hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hooks {
    UserSettings,
    /// The user's settings, for a case about questions to the user.
    Asking,
    /// The user's settings, for a case about background agents or agent types.
    Agents,
    /// The user's settings, for a case about hooks that a client skips because no user trusted them.
    Untrusted,
    Plugin,
}

/// The state of the client's sandbox on this machine.
#[derive(Clone, Debug)]
pub enum Sandbox {
    /// The client has no sandbox.
    Absent,
    Works,
    Broken(String),
}

pub struct Rig<'a> {
    pub client: &'static Client,
    pub place: Place,
    pub sandbox: &'a Sandbox,
    program: &'a Path,
    /// The plugin folder, if it has the hooks.
    pub plugin: Option<&'a Path>,
    model: Model,
    runs: usize,
    folder: TempDir,
}

/// One session of the client, from its start to its end.
pub struct Run {
    pub finished: Finished,
    pub session: Option<String>,
    pub requests: Vec<Request>,
}

impl<'a> Rig<'a> {
    pub fn new(
        kit: &'a Kit,
        installed: &'a Installed,
        sandbox: &'a Sandbox,
        hooks: Hooks,
    ) -> anyhow::Result<Rig<'a>> {
        let (folder, root) = work_folder()?;
        let model = Model::start(&root.join("model.jsonl")).context("cannot start the scripted model")?;
        let place = Place::furnish(&root, &kit.program, model.url())?;
        let client = installed.client;
        (client.prepare)(&place)?;
        let plugin = match hooks {
            Hooks::UserSettings | Hooks::Asking | Hooks::Agents | Hooks::Untrusted => None,
            Hooks::Plugin => Some(kit.plugin.as_path()),
        };
        Ok(Rig { client, place, sandbox, program: &installed.program, plugin, model, runs: 0, folder })
    }

    /// Writes the hooks into the client's settings, unless a plugin has them. This is separate from `new`, so
    /// that the folder exists for inspection after a failure.
    pub fn write_hooks(&mut self, installer: Installer) -> anyhow::Result<()> {
        if self.plugin.is_some() {
            return Ok(());
        }
        let file = (self.client.hooks_file)(&self.place);
        match installer {
            Installer::Program => {
                let arguments = ["init", "--client", self.client.name, "--user", "--yes", "--hooks-only"];
                let finished = self.sprag(&arguments)?;
                ensure!(
                    finished.ending == Ending::Code(0),
                    "`sprag {}` ended with {:?}: {}",
                    arguments.join(" "),
                    finished.ending,
                    finished.stderr.trim()
                );
                ensure!(file.is_file(), "`sprag init` did not write `{}`", file.display());
            }
            Installer::Driver => {
                fs::create_dir_all(file.parent().expect("a settings file lies in a folder of the home"))?;
                fs::write(&file, (self.client.hooks)(&self.place).to_string())?;
            }
        }
        Ok(())
    }

    /// Runs one session; the model answers with `script`.
    pub fn run(&mut self, script: Script, grant: Grant) -> Result<Run, Stopped> {
        self.run_asking(PROMPT, script, grant)
    }

    /// Runs one session with another prompt.
    pub fn run_asking(&mut self, prompt: &str, script: Script, grant: Grant) -> Result<Run, Stopped> {
        self.ask(prompt, None, script, grant)
    }

    /// Resumes a session that has ended.
    pub fn resume_asking(
        &mut self,
        session: &str,
        prompt: &str,
        script: Script,
        grant: Grant,
    ) -> Result<Run, Stopped> {
        self.ask(prompt, Some(session), script, grant)
    }

    fn ask(
        &mut self,
        prompt: &str,
        resume: Option<&str>,
        script: Script,
        grant: Grant,
    ) -> Result<Run, Stopped> {
        let grant = match (self.sandbox, grant) {
            // Without its sandbox the client refuses every command. This case does not need the sandbox, so
            // it runs without it.
            (Sandbox::Broken(_), Grant::Usual) => Grant::Everything,
            (Sandbox::Broken(why), Grant::Nothing) => return Err(Stopped::Skipped { why: why.clone() }),
            _ => grant,
        };
        self.model.play(script);
        let errand = Errand { prompt, grant, plugin: self.plugin, resume };
        let mut command = self.place.command(self.program);
        command.args((self.client.arguments)(&errand)).envs((self.client.env)(&self.place));
        let finished = process::run(command, &self.next_outputs(), DEADLINE)?;
        let session = (self.client.session)(&finished.stdout);
        Ok(Run { finished, session, requests: self.model.take_requests() })
    }

    /// Returns the path of the client.
    pub fn program(&self) -> &Path {
        self.program
    }

    /// Puts the client on the path, so that the model and its processes can start it.
    pub fn put_client_on_path(&self) -> anyhow::Result<()> {
        let text = format!("#!/bin/sh\nexec '{}' \"$@\"\n", self.program.display());
        self.place.stand_in(self.client.name, &text)
    }

    /// Runs the program under test in the project, as a user does.
    pub fn sprag(&mut self, arguments: &[&str]) -> anyhow::Result<Finished> {
        let mut command = self.place.command(&self.place.sprag());
        command.args(arguments).envs((self.client.env)(&self.place));
        process::run(command, &self.next_outputs(), DEADLINE)
    }

    /// Runs a command of the program that starts clients; the model answers with `script`.
    pub fn sprag_with(
        &mut self,
        script: Script,
        arguments: &[&str],
    ) -> anyhow::Result<(Finished, Vec<Request>)> {
        self.model.play(script);
        let finished = self.sprag(arguments)?;
        Ok((finished, self.model.take_requests()))
    }

    /// Runs a command of the program that prints one JSON object, and returns the object.
    pub fn sprag_json(&mut self, arguments: &[&str]) -> anyhow::Result<Value> {
        let finished = self.sprag(arguments)?;
        let command = arguments.join(" ");
        ensure!(
            finished.ending == Ending::Code(0),
            "`sprag {command}` ended with {:?}: {} {}",
            finished.ending,
            finished.stderr.trim(),
            finished.stdout.trim()
        );
        serde_json::from_str(&finished.stdout)
            .with_context(|| format!("`sprag {command}` printed no JSON: {}", finished.stdout.trim()))
    }

    fn next_outputs(&mut self) -> PathBuf {
        self.runs += 1;
        self.place.root.join(format!("run-{}", self.runs))
    }

    /// Returns the text of a file of the project, if it exists.
    pub fn file(&self, name: &str) -> Option<String> {
        let bytes = fs::read(self.place.project().join(name)).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Keeps the folder for inspection.
    pub fn keep(self) -> PathBuf {
        self.folder.keep()
    }

    pub fn remove(self) -> anyhow::Result<()> {
        self.folder.close().context("cannot remove the work folder")
    }
}

impl Run {
    pub fn main(&self) -> Vec<&Request> {
        self.part(Part::Main)
    }

    pub fn track(&self, name: &'static str) -> Vec<&Request> {
        self.part(Part::Track(name))
    }

    fn part(&self, part: Part) -> Vec<&Request> {
        self.requests.iter().filter(|request| request.part == part).collect()
    }
}

/// Reports whether the program can install its own hooks.
pub fn installer(program: &Path) -> anyhow::Result<Installer> {
    let (folder, root) = work_folder()?;
    let place = Place::furnish(&root, program, String::new())?;
    let mut command = place.command(&place.sprag());
    command.args(["init", "--help"]);
    let finished = process::run(command, &root.join("init"), DEADLINE)?;
    folder.close()?;
    Ok(if finished.ending == Ending::Code(0) { Installer::Program } else { Installer::Driver })
}

/// Tries the client's sandbox once, for all rigs of this client.
pub fn sandbox(kit: &Kit, installed: &Installed) -> anyhow::Result<Sandbox> {
    let client = installed.client;
    let Some(arguments) = client.sandbox else { return Ok(Sandbox::Absent) };
    let (folder, root) = work_folder()?;
    let place = Place::furnish(&root, &kit.program, String::new())?;
    (client.prepare)(&place)?;
    let mut command = place.command(&installed.program);
    command.args(arguments).envs((client.env)(&place));
    let finished = process::run(command, &root.join("sandbox"), DEADLINE)?;
    folder.close()?;
    if finished.ending == Ending::Code(0) {
        return Ok(Sandbox::Works);
    }
    let said = finished.stderr.lines().last().unwrap_or("no output");
    Ok(Sandbox::Broken(format!(
        "the sandbox of `{}` does not work here: {:?}: {said}",
        client.name, finished.ending
    )))
}

/// Makes a work folder and returns its real path, because clients compare folders by name.
fn work_folder() -> anyhow::Result<(TempDir, PathBuf)> {
    let folder = tempfile::Builder::new().prefix("e2e-").tempdir()?;
    let root = folder.path().canonicalize()?;
    Ok((folder, root))
}
