//! The unit of all measurements: a Rust program that does nothing, built with the flags that
//! `.cargo/config.toml` gives the product. Sprag cannot start faster than this program.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use crate::workspace;

#[derive(Deserialize)]
struct Config {
    target: BTreeMap<String, Target>,
}

#[derive(Deserialize)]
struct Target {
    rustflags: Vec<String>,
}

pub fn build(folder: &Path) -> anyhow::Result<PathBuf> {
    let (source, program) = (folder.join("empty.rs"), folder.join("empty"));
    fs::write(&source, "fn main() {}\n")?;
    let config = workspace::root().join(".cargo").join("config.toml");
    let flags = flags(&fs::read_to_string(&config)?, &host()?)
        .with_context(|| format!("no flags for this machine in `{}`", config.display()))?;
    // The settings of the release profile that affect a program without dependencies.
    let profile = ["opt-level=3", "lto=fat", "codegen-units=1", "strip=symbols"];
    let status = rustc()
        .args(profile.iter().flat_map(|setting| ["-C", setting]))
        .args(flags)
        .arg("-o")
        .arg(&program)
        .arg(&source)
        .status()
        .context("cannot start `rustc`")?;
    ensure!(status.success(), "rustc cannot build the empty program");
    Ok(program)
}

fn flags(config: &str, host: &str) -> anyhow::Result<Vec<String>> {
    let mut config: Config = toml::from_str(config)?;
    Ok(config.target.remove(host).with_context(|| format!("no target `{host}`"))?.rustflags)
}

fn host() -> anyhow::Result<String> {
    let output = rustc().arg("-vV").output().context("cannot start `rustc`")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` does not name a host")?.to_owned())
}

fn rustc() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_of_this_repository() {
        let config = fs::read_to_string(workspace::root().join(".cargo").join("config.toml")).unwrap();
        let flags = flags(&config, "x86_64-unknown-linux-gnu").unwrap();
        assert!(flags.contains(&"target-feature=+crt-static".to_owned()), "{flags:?}");
        assert!(super::flags(&config, "pdp11-unknown-unix").is_err());
    }
}
