//! Paths that git changes and that are not plain path arguments. Subcommands that move whole trees author
//! nothing.

use sprag_shell::{Command, Script};

use super::patches;
use super::targets::{TargetKind, WriteTarget, place_of, unknown};
use crate::event::Input;

pub(crate) fn wanted(command: &Command, script: &Script, input: &Input) -> Vec<WriteTarget> {
    let words: Vec<String> = command.argv.iter().skip(1).map(|word| word.text('…')).collect();
    let Some((verb, rest)) = words.split_first() else { return Vec::new() };
    let has = |names: &[&str]| rest.iter().any(|word| names.contains(&word.as_str()));
    let at = |named: &str, kind: TargetKind| place_of(named, &command.cwd, "git", kind, input);
    match verb.as_str() {
        // Without `--` a word may be a branch or a path.
        "checkout" if !has(&["--", "-b", "-B", "--orphan", "--detach"]) => {
            operands(rest, &[]).map(|named| at(named, TargetKind::IfThere)).collect()
        }
        "stash" if rest.iter().any(|word| word.starts_with("--pathspec-from-file")) => {
            vec![unknown("git stash")]
        }
        "stash" if has(&["--"]) => rest
            .iter()
            .skip_while(|word| *word != "--")
            .skip(1)
            .map(|named| at(named, TargetKind::Tree))
            .collect(),
        "stash" if rest.first().is_some_and(|word| word == "push") => {
            operands(&rest[1..], &["-m", "--message"]).map(|named| at(named, TargetKind::Tree)).collect()
        }
        "apply"
            if !has(&["--check", "--stat", "--numstat", "--summary", "--cached"]) || has(&["--apply"]) =>
        {
            patches::wanted(command, "git apply", script, input)
        }
        "am" if !has(&["--abort", "--quit", "--skip", "--show-current-patch"]) => {
            patches::wanted(command, "git am", script, input)
        }
        "clean" if !rest.iter().any(|word| is_letter(word, 'n') || word == "--dry-run") => {
            let named: Vec<WriteTarget> =
                operands(rest, &["-e", "--exclude"]).map(|named| at(named, TargetKind::Tree)).collect();
            if named.is_empty() { vec![at(".", TargetKind::Tree)] } else { named }
        }
        "submodule" if rest.iter().find(|word| !word.starts_with('-')).is_some_and(|word| word == "add") => {
            let values = ["-b", "--branch", "--name", "--reference", "--depth"];
            let named: Vec<&String> = operands(rest, &values).skip(1).collect();
            let from = |address: &str| address.trim_end_matches('/').trim_end_matches(".git").to_owned();
            let place = match named[..] {
                [] => return Vec::new(),
                [address] => from(address).rsplit(['/', ':']).next().unwrap_or_default().to_owned(),
                [_, place, ..] => place.clone(),
            };
            vec![at(&place, TargetKind::Tree), at(&format!("{}/.gitmodules", input.root), TargetKind::Path)]
        }
        "worktree" if matches!(rest.first().map(String::as_str), Some("remove" | "move")) => {
            operands(&rest[1..], &[]).map(|named| at(named, TargetKind::Tree)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the words that are neither options nor values of these options.
fn operands<'a>(words: &'a [String], values: &'a [&'a str]) -> impl Iterator<Item = &'a String> {
    let is_value = move |at: usize| at > 0 && values.contains(&words[at - 1].as_str());
    let given = words.iter().enumerate();
    given.filter(move |(at, word)| !word.starts_with('-') && !is_value(*at)).map(|(_, word)| word)
}

fn is_letter(word: &str, letter: char) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
}
