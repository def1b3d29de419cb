//! Commits of this repository: the message of each and how much it changes.

use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::workspace;

/// The last commit before the current rules for messages.
pub const BASE: &str = "e49efea2";

pub struct Commit {
    pub id: String,
    pub parents: usize,
    /// Subject and body.
    pub message: String,
    /// Lines that it adds and removes; a move counts only its edits.
    pub lines: usize,
}

/// Reads the commits after `base`. Returns none in a shallow clone without that commit.
pub fn read(base: &str) -> anyhow::Result<Vec<Commit>> {
    if git(&["cat-file", "-e", &format!("{base}^{{commit}}")]).is_err() {
        return Ok(Vec::new());
    }
    let range = format!("{base}..HEAD");
    let log = git(&["log", "--numstat", "-M", "--format=%x1e%h%x1f%p%x1f%B%x1f", &range])?;
    Ok(log.split('\u{1e}').filter_map(commit).collect())
}

/// Counts the lines of the staged changes.
pub fn staged_lines() -> anyhow::Result<usize> {
    Ok(lines(&git(&["diff", "--cached", "--numstat", "-M"])?))
}

fn commit(text: &str) -> Option<Commit> {
    let mut parts = text.split('\u{1f}');
    let (id, parents, message, changes) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    Some(Commit {
        id: id.to_owned(),
        parents: parents.split_whitespace().count(),
        message: message.to_owned(),
        lines: lines(changes),
    })
}

/// Adds up the two numbers of each line; a binary file has `-`. Lock files do not count, because cargo writes
/// them.
fn lines(changes: &str) -> usize {
    let files = changes.lines().filter(|line| !line.ends_with(".lock"));
    let numbers = files.flat_map(|line| line.split('\t').take(2));
    numbers.filter_map(|number| number.parse::<usize>().ok()).sum()
}

fn git(arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(workspace::root())
        .output()
        .context("cannot start `git`")?;
    ensure!(
        output.status.success(),
        "`git {}`: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_lock_files_do_not_count() {
        assert_eq!(lines("3\t4\tsrc/a.rs\n-\t-\ta.bin\n500\t200\tfuzz/Cargo.lock\n"), 7);
        assert_eq!(
            commit("1a2b\u{1f}3c4d 5e6f\u{1f}x: y\n\u{1f}\n\n1\t0\ta.rs\n").map(|c| (c.parents, c.lines)),
            Some((2, 1))
        );
    }
}
