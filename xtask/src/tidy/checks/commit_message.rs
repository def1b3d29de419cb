//! Checks that the message of a commit names a room and gives the change in the imperative. A larger change
//! gives its reason.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use regex_lite::Regex;

use crate::tidy::commits::{Commit, staged_lines};
use crate::tidy::tree::Tree;
use crate::tidy::{Check, Finding};

pub const CHECK: Check =
    Check { name: "commit_message", about: "a commit has a subject `room: change` and a reason", find };

const SUBJECT: &str = r"^[a-z][a-z0-9/, -]*: [a-z].*[^.]$";
const MAX_SUBJECT: usize = 72;
/// Lines that a commit may change without a reason.
const MAX_LINES: usize = 30;

fn find(tree: &Tree) -> Vec<Finding> {
    let finding = |commit: &Commit, what: String| Finding::new(&format!("commit {}", commit.id), 1, what);
    tree.commits
        .iter()
        .flat_map(|commit| wrong(commit).into_iter().map(|what| finding(commit, what)))
        .collect()
}

/// Checks the message in a file, as a `commit-msg` hook gets it.
pub fn of_file(path: &Path) -> anyhow::Result<Vec<Finding>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let text = text.split("# ------------------------ >8").next().unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let commit = Commit { id: String::new(), parents: 1, message: lines.join("\n"), lines: staged_lines()? };
    let name = path.display().to_string();
    Ok(wrong(&commit).into_iter().map(|what| Finding::new(&name, 1, what)).collect())
}

fn wrong(commit: &Commit) -> Vec<String> {
    let (subject, body) = commit.message.trim().split_once('\n').unwrap_or((commit.message.trim(), ""));
    let mut found = Vec::new();
    if commit.parents > 1 {
        found.push("a merge commit: rebase instead".to_owned());
    }
    if !Regex::new(SUBJECT).expect("the pattern is valid").is_match(subject) {
        found.push(format!(
            "subject `{subject}` is not `room: change`, in lower case and without a full stop"
        ));
    }
    let length = subject.chars().count();
    if length > MAX_SUBJECT {
        found.push(format!("subject `{subject}` has {length} characters, at most {MAX_SUBJECT}"));
    }
    if commit.lines > MAX_LINES && body.trim().is_empty() {
        found.push(format!("{} lines change and the body is empty: give the reason", commit.lines));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(message: &str, parents: usize, lines: usize) -> Vec<String> {
        wrong(&Commit { id: "1a2b3c4".to_owned(), parents, message: message.to_owned(), lines })
    }

    #[test]
    fn a_room_and_an_imperative_pass() {
        for subject in
            ["memory: read and write records by type", "plan, host: drop `x`", "sprag/run: add --json"]
        {
            assert_eq!(found(subject, 1, 30), [""; 0], "{subject}");
        }
        assert_eq!(found("memory: read records\n\nOne type per kind.\n", 1, 400), [""; 0]);
    }

    #[test]
    fn other_forms_do_not() {
        for subject in
            ["Memory: read records", "read records", "memory: Read records", "memory: read records."]
        {
            assert_eq!(found(subject, 1, 3).len(), 1, "{subject}");
        }
        assert_eq!(found(&format!("memory: {}", "x".repeat(70)), 1, 3).len(), 1);
        assert_eq!(found("memory: read records", 2, 3), ["a merge commit: rebase instead"]);
        assert_eq!(
            found("memory: read records\n\n", 1, 31),
            ["31 lines change and the body is empty: give the reason"]
        );
    }
}
