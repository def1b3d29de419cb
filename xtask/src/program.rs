//! The program under test: the caller gives its path, or the workspace builds it like a release.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::workspace;

pub fn given_or_built(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    match given {
        Some(path) => path.canonicalize().with_context(|| format!("no program at `{}`", path.display())),
        None => build(workspace::cargo("build").args(["--profile", "dist"])),
    }
}

/// Runs a `cargo build` and returns the path of the program. Cargo reports the path, which depends on its
/// targets and settings.
pub fn build(cargo: &mut Command) -> anyhow::Result<PathBuf> {
    cargo.args(["--package", "sprag", "--message-format=json-render-diagnostics"]);
    let output = cargo.stderr(Stdio::inherit()).output().context("cannot start `cargo`")?;
    ensure!(output.status.success(), "cargo cannot build `sprag`");
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let artifacts = messages
        .filter(|message| message["reason"] == "compiler-artifact" && message["target"]["name"] == "sprag");
    let mut programs = artifacts.filter_map(|artifact| artifact["executable"].as_str().map(PathBuf::from));
    programs.next().context("cargo built no program called `sprag`")
}
