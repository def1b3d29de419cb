//! The pinned clients in a cache folder, from npm. Each version is installed once and then reused. A client
//! that is not available is reported and is not an error.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::clients::Client;
use crate::process::{self, Ending};
use crate::workspace;

const DEADLINE: Duration = Duration::from_secs(600);

pub struct Installed {
    pub client: &'static Client,
    pub program: PathBuf,
}

/// The reason why a client cannot run here.
pub struct Missing(pub String);

pub fn cache() -> PathBuf {
    match std::env::var_os("SPRAG_E2E_CACHE") {
        Some(folder) => PathBuf::from(folder),
        None => workspace::root().join("target").join("clients"),
    }
}

pub fn install(client: &'static Client, cache: &Path) -> Result<Installed, Missing> {
    let modules = package(client.package, client.version, &cache.join(client.name))?;
    (client.program)(&modules).map(|program| Installed { client, program }).ok_or_else(|| {
        Missing(format!("{} has no program for this platform in `{}`", client.package, modules.display()))
    })
}

/// Installs the reference memory server and returns the script for node.
pub fn memory_server(cache: &Path) -> Result<PathBuf, Missing> {
    let name = "@modelcontextprotocol/server-memory";
    let modules = package(name, "2026.8.31", &cache.join("server-memory"))?;
    let script = modules.join(name).join("dist").join("index.js");
    Some(script)
        .filter(|script| script.is_file())
        .ok_or_else(|| Missing(format!("{name} has no `dist/index.js`")))
}

/// Installs a task list for agents, which the bench measures beside Sprag.
pub fn task_master(cache: &Path) -> Result<PathBuf, Missing> {
    let name = "task-master-ai";
    let modules = package(name, "0.43.1", &cache.join("task-master"))?;
    Some(modules.join(".bin/task-master"))
        .filter(|program| program.exists())
        .ok_or_else(|| Missing(format!("{name} has no program")))
}

/// Installs a version of a package with its dependencies, and returns its folder of modules.
fn package(name: &str, version: &str, prefix: &Path) -> Result<PathBuf, Missing> {
    let modules = prefix.join("node_modules");
    if is_present(name, version, &modules) {
        return Ok(modules);
    }
    let package = format!("{name}@{version}");
    eprintln!("installing {package}");
    fs::create_dir_all(prefix)
        .map_err(|error| Missing(format!("cannot make `{}`: {error}", prefix.display())))?;
    let npm = process::find("npm").ok_or_else(|| Missing("npm is not on PATH".to_owned()))?;
    let mut command = Command::new(npm);
    // The programs are inside the packages, so no install script needs to run.
    command
        .args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"])
        .arg(prefix)
        .arg(&package);
    let finished = process::run(command, &prefix.join("npm"), DEADLINE)
        .map_err(|error| Missing(format!("npm: {error:#}")))?;
    if finished.ending != Ending::Code(0) {
        // The first errors give the cause; warnings come before them and advice after them.
        let errors = finished.stderr.lines().filter(|line| line.starts_with("npm error"));
        let said = errors.take(2).collect::<Vec<_>>().join("; ");
        return Err(Missing(format!("npm install {package}: {:?}: {said}", finished.ending)));
    }
    if is_present(name, version, &modules) {
        Ok(modules)
    } else {
        Err(Missing(format!("{package} is not in `{}`", modules.display())))
    }
}

fn is_present(name: &str, version: &str, modules: &Path) -> bool {
    let manifest = fs::read(modules.join(name).join("package.json")).ok();
    let manifest: Option<Value> = manifest.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    manifest.is_some_and(|manifest| manifest["version"] == version)
}
