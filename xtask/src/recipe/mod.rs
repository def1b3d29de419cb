//! `cargo xtask recipe`: proves that a new gate is one new file and one line, and so is a new client.
//!
//! The command copies the sources, adds a toy of each kind to the copy, and checks that the program built
//! from it knows both. The copy and its build stay in a separate folder below `target`, so that the second
//! run is quick and the toys never enter the caches of the workspace. It is always the same folder, because
//! cargo keeps artifacts of every path forever.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use crate::failure::Usage;
use crate::place::Place;
use crate::{program, workspace};
use copy::Copy;

mod copy;

/// One addition: its file, and its line in the list of its kind.
struct Toy {
    kind: &'static str,
    file: &'static str,
    text: &'static str,
    list: &'static str,
    /// The first line of the list.
    opening: &'static str,
    line: &'static str,
}

const TOYS: &[Toy] = &[
    Toy {
        kind: "gate",
        file: "crates/sprag-govern/src/gates/toy.rs",
        text: include_str!("toy_gate.rs.txt"),
        list: "crates/sprag-govern/src/gates/mod.rs",
        opening: "gates! {",
        line: "    toy: ToyGate,",
    },
    Toy {
        kind: "client",
        file: "crates/sprag-host/src/clients/toy.rs",
        text: include_str!("toy_client.rs.txt"),
        list: "crates/sprag-host/src/clients/mod.rs",
        opening: "clients! {",
        line: "    toy,",
    },
];

pub fn run(args: &[String]) -> anyhow::Result<()> {
    if let Some(flag) = args.first() {
        return Err(Usage(format!("no flag `{flag}`\nusage: cargo xtask recipe")).into());
    }
    let folder = workspace::root().join("target").join("recipe");
    let copy = Copy::make(&folder.join("source"))?;
    TOYS.iter().try_for_each(|toy| add(toy, &copy))?;
    let program = build(&copy, &folder.join("build"))?;
    try_out(&program)?;
    // This comes last, so that changes by the build count too.
    told_apart(&copy)
}

fn add(toy: &Toy, copy: &Copy) -> anyhow::Result<()> {
    fs::write(copy.root.join(toy.file), toy.text)?;
    let list = copy.root.join(toy.list);
    let text = fs::read_to_string(&list).with_context(|| format!("cannot read `{}`", list.display()))?;
    let with_line = with_last(&text, toy.opening, toy.line)
        .with_context(|| format!("no list `{}` in `{}`", toy.opening, toy.list))?;
    Ok(fs::write(list, with_line)?)
}

/// Returns the text with `line` as the last line of the list that `opening` starts.
fn with_last(text: &str, opening: &str, line: &str) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let start = lines.iter().position(|line| *line == opening)?;
    let end = start + lines[start..].iter().position(|line| *line == "}")?;
    lines.insert(end, line);
    Some(lines.join("\n") + "\n")
}

fn build(copy: &Copy, target: &Path) -> anyhow::Result<PathBuf> {
    println!("building with both toys in `{}`", copy.root.display());
    program::build(workspace::cargo("build").current_dir(&copy.root).env("CARGO_TARGET_DIR", target))
}

fn try_out(program: &Path) -> anyhow::Result<()> {
    let folder = tempfile::Builder::new().prefix("recipe-").tempdir()?;
    let place = Place::furnish(&folder.path().canonicalize()?, program, String::new())?;
    let held = |client: &str, tool: &str| -> anyhow::Result<bool> {
        let reply = call(&place, client, tool)?;
        let answer = &reply["hookSpecificOutput"];
        let why = answer["permissionDecisionReason"].as_str().unwrap_or_default();
        Ok(answer["permissionDecision"] == "deny" && why.contains(r#""code":"toy""#))
    };
    ensure!(held("toy", "toy")?, "the toy gate did not hold the tool `toy` of the toy client");
    println!("the toy gate holds the tool `toy` of the toy client");
    ensure!(!held("toy", "look")?, "the toy gate held another tool of the toy client");
    ensure!(held("claude", "toy")?, "the toy gate did not hold the tool `toy` of another client");
    println!("the toy gate holds that tool of another client too, and no other tool");
    shows_section(&place)?;
    folder.close().context("cannot remove the work folder")
}

fn call(place: &Place, client: &str, tool: &str) -> anyhow::Result<Value> {
    let payload = json!({
        "hook_event_name": "PreToolUse", "session_id": format!("recipe-{client}"), "cwd": place.project(),
        "tool_name": tool, "tool_input": {}, "tool_use_id": "t1",
    });
    let file = place.root.join("payload.json");
    fs::write(&file, payload.to_string())?;
    let output =
        place.command(&place.sprag()).args(["hook", client]).stdin(fs::File::open(&file)?).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success() && said.is_empty(), "`sprag hook {client}`: {} {said}", output.status);
    serde_json::from_slice(&output.stdout).context("the output of the hook is not JSON")
}

/// Checks that `config show` prints the section of the gate, although no other file names it.
fn shows_section(place: &Place) -> anyhow::Result<()> {
    let output = place.command(&place.sprag()).args(["config", "show"]).output()?;
    let (text, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if said.contains("unrecognized subcommand") {
        println!("skipped: the program has no `config show`");
        return Ok(());
    }
    ensure!(output.status.success(), "`sprag config show`: {} {said}", output.status);
    let is_shown = text.lines().any(|line| line.starts_with("toy.tool"));
    ensure!(is_shown, "`sprag config show` does not show the section of the toy gate:\n{text}");
    println!("`sprag config show` shows the section of the toy gate");
    Ok(())
}

fn told_apart(copy: &Copy) -> anyhow::Result<()> {
    let changes = copy.changes()?;
    for toy in TOYS {
        let is_ours = |path: &String| path == toy.file || path == toy.list;
        let new: Vec<&String> = changes.new.iter().filter(|path| is_ours(path)).collect();
        let lines: usize =
            changes.lines.iter().filter(|(path, _)| is_ours(path)).map(|(_, lines)| lines).sum();
        ensure!(new == [toy.file] && lines == 1, "a {} needs {new:?} and {lines} lines", toy.kind);
        println!("a new {} is one new file (`{}`) and one line in `{}`", toy.kind, toy.file, toy.list);
    }
    let mut touched = changes.new.iter().chain(changes.lines.keys());
    match touched.find(|path| !TOYS.iter().any(|toy| *path == toy.file || *path == toy.list)) {
        Some(path) => bail!("the toys also need a change of `{path}`"),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_added_to_its_list_only() {
        let text = "a! {\n    x,\n}\n\nb! {\n    y,\n    z,\n}\n";
        let expected = "a! {\n    x,\n}\n\nb! {\n    y,\n    z,\n    toy,\n}\n";
        assert_eq!(with_last(text, "b! {", "    toy,").as_deref(), Some(expected));
        assert_eq!(with_last(text, "c! {", "    toy,"), None);
    }

    #[test]
    fn the_lists_are_where_the_recipe_says() {
        for toy in TOYS {
            let text = fs::read_to_string(workspace::root().join(toy.list)).unwrap();
            assert!(with_last(&text, toy.opening, toy.line).is_some(), "{}", toy.list);
        }
    }
}
