//! The scenes that pictures are made from. A scene runs the real program in an empty home and returns its
//! pictures.

mod agent;
mod held_stop;
mod plan_run;

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use tempfile::TempDir;

use crate::place::Place;

/// A file for `docs/pictures`.
pub struct Picture {
    pub name: &'static str,
    pub text: String,
}

pub struct Scene {
    pub name: &'static str,
    pub play: fn(&Place) -> anyhow::Result<Vec<Picture>>,
}

pub const SCENES: &[Scene] = &[
    Scene { name: "a session", play: held_stop::play },
    Scene { name: "a run of a plan", play: plan_run::play },
];

impl Scene {
    /// Plays the scene in a folder of its own and removes the folder.
    pub fn pictures(&self, program: &Path) -> anyhow::Result<Vec<Picture>> {
        let folder: TempDir = tempfile::Builder::new().prefix("pictures-").tempdir()?;
        let root = folder.path().canonicalize()?;
        let place = Place::furnish(&root, program, String::new())?;
        let pictures = (self.play)(&place).with_context(|| format!("cannot show {}", self.name))?;
        for picture in &pictures {
            let path = root.display().to_string();
            ensure!(!picture.text.contains(&path), "`{}` shows the temporary path `{path}`", picture.name);
        }
        folder.close().context("cannot remove the folder of the scene")?;
        Ok(pictures)
    }
}

/// Runs a command in the project and returns what it prints.
fn output(mut command: Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    ensure!(
        output.status.success(),
        "{command:?} failed: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn git(place: &Place, arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = place.command(Path::new("git"));
    command.args(arguments);
    output(command)
}

fn sprag(place: &Place, arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = place.command(&place.sprag());
    command.args(arguments);
    output(command)
}
