//! The path of the repository and its files. Commands name files relative to the root, so that they work in
//! any directory.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

/// Returns the folder of the workspace. `cargo run` sets the variable, so a copied program can work on
/// another clone.
pub fn root() -> PathBuf {
    let xtask = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&xtask).parent().expect("this package is a folder below the workspace root").to_path_buf()
}

/// Returns `cargo COMMAND` in the repository, with the cargo that runs this program if there is one.
pub fn cargo(command: &str) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.arg(command).current_dir(root());
    cargo
}

/// Returns every committed or new file that git does not ignore, relative to the root. New files count before
/// they are added, so that a check finds them before the commit.
pub fn files() -> anyhow::Result<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .context("cannot start `git`")?;
    ensure!(output.status.success(), "`git ls-files`: {}", String::from_utf8_lossy(&output.stderr).trim());
    let text = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    let mut files: Vec<String> = text.split_terminator('\0').map(str::to_owned).collect();
    // Git lists a removed file until its removal is committed.
    files.retain(|file| root().join(file).is_file());
    files.sort();
    files.dedup();
    Ok(files)
}

pub fn format(paths: &[String]) -> anyhow::Result<()> {
    if paths.is_empty() {
        return Ok(());
    }
    let status = Command::new("rustfmt")
        .args(["--edition", "2024"])
        .args(paths)
        .current_dir(root())
        .status()
        .context("cannot start `rustfmt`")?;
    ensure!(status.success(), "`rustfmt` failed");
    Ok(())
}
