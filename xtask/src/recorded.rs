//! `cargo xtask recorded DIR`: sends recorded payloads, `DIR/CLIENT/*.json`, through the hook of this
//! program. The hook must answer each with exit code 0 and one JSON object, without a warning about the
//! payload. The same holds for three kinds of variants: with an unknown field, without any one optional
//! field, and with very long texts.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use crate::failure::Usage;
use crate::program;

/// Fields without which the hook cannot recognise the event.
const REQUIRED: &[&str] = &["session_id", "hook_event_name", "tool_name"];

pub fn run(args: &[String]) -> anyhow::Result<()> {
    let [dir] = args else {
        return Err(Usage("usage: cargo xtask recorded DIR".to_owned()).into());
    };
    let sprag = program::given_or_built(None)?;
    let known = known_clients(&sprag)?;
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for client in sorted(Path::new(dir))?.into_iter().filter(|path| path.is_dir()) {
        let name = client.file_name().and_then(OsStr::to_str).unwrap_or_default().to_owned();
        let files = sorted(&client)?;
        if !known.contains(&name) {
            println!("skipped: `{name}` is not a client of this program ({} payloads)", files.len());
            skipped += files.len();
            continue;
        }
        for file in files {
            match try_file(&sprag, &name, &file) {
                Ok(()) => passed += 1,
                Err(error) => {
                    println!("failed: {}: {error:#}", file.display());
                    failed += 1;
                }
            }
        }
    }
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    ensure!(failed == 0, "some payloads got a wrong answer");
    ensure!(passed > 0, "no payload in `{dir}`");
    Ok(())
}

fn known_clients(sprag: &Path) -> anyhow::Result<Vec<String>> {
    let output = Command::new(sprag).args(["config", "clients", "--json"]).output()?;
    let listed: Value = serde_json::from_slice(&output.stdout)?;
    let names = listed["clients"].as_array().context("no list of clients")?.iter();
    Ok(names.filter_map(|client| client["name"].as_str()).map(str::to_owned).collect())
}

fn sorted(dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(dir).with_context(|| format!("cannot list `{}`", dir.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

fn try_file(sprag: &Path, client: &str, file: &Path) -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let text = fs::read_to_string(file)?;
    let filled = text.replace("${PROJECT}", &place.path().display().to_string());
    let plain: Value = serde_json::from_str(&filled)?;
    if plain.get("hook_event_name").is_none() {
        // Another kind of input, for example of a status line.
        return Ok(());
    }
    let mut variants = vec![("unchanged".to_owned(), plain.clone())];
    let mut more = plain.clone();
    more["a_field_of_tomorrow"] = json!({"x": [1, null, "y"]});
    variants.push(("with an unknown field".to_owned(), more));
    for key in plain.as_object().context("not an object")?.keys() {
        if !REQUIRED.contains(&key.as_str()) {
            let mut fewer = plain.clone();
            fewer.as_object_mut().context("not an object")?.remove(key);
            variants.push((format!("without `{key}`"), fewer));
        }
        if plain[key].is_string() && !REQUIRED.contains(&key.as_str()) && key != "cwd" {
            let mut longer = plain.clone();
            longer[key] = json!("ä".repeat(300_000));
            variants.push((format!("with a very long `{key}`"), longer));
        }
    }
    for (variant, payload) in variants {
        try_payload(sprag, client, place.path(), &payload).context(variant)?;
    }
    Ok(())
}

fn try_payload(sprag: &Path, client: &str, home: &Path, payload: &Value) -> anyhow::Result<()> {
    let mut child = Command::new(sprag)
        .args(["hook", client])
        .env_clear()
        .env("SPRAG_HOME", home)
        .current_dir(home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    child.stdin.take().context("stdin is a pipe")?.write_all(payload.to_string().as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "the hook ended with {}", output.status);
    let reply: Value = serde_json::from_slice(&output.stdout).context("the reply is not JSON")?;
    if let Some(warning) = reply.get("systemMessage") {
        bail!("the hook warned: {warning}");
    }
    ensure!(reply.is_object(), "the reply is not an object: {reply}");
    Ok(())
}
