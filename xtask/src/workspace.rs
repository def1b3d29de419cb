//! Where the repository is and what is in it. Commands name files relative to it, so that they can
//! be started from anywhere.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

/// Returns the folder of the workspace. `cargo run` sets the variable, so a program that was copied into another
/// clone can be pointed at it.
pub fn root() -> PathBuf {
    let xtask = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&xtask).parent().expect("this package is a folder below the workspace root").to_path_buf()
}

/// `cargo COMMAND` in the repository: the same cargo that runs us, if one does.
pub fn cargo(command: &str) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.arg(command).current_dir(root());
    cargo
}

/// Every file that is or could be committed, relative to the root. New files count before they are
/// added, so that a check does not find them one commit too late.
pub fn files() -> anyhow::Result<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .context("cannot start `git`")?;
    ensure!(output.status.success(), "`git ls-files`: {}", String::from_utf8_lossy(&output.stderr).trim());
    let text = String::from_utf8(output.stdout).context("a file name is no UTF-8")?;
    let mut files: Vec<String> = text.split_terminator('\0').map(str::to_owned).collect();
    // A removed file is listed until its removal is committed.
    files.retain(|file| root().join(file).is_file());
    files.sort();
    files.dedup();
    Ok(files)
}

/// Formats these files.
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
