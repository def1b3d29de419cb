//! A copy of all committed or new files, and its differences from the original.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::workspace;

pub struct Copy {
    pub root: PathBuf,
    /// The contents at the time of the copy, because the originals may change during the run.
    files: BTreeMap<String, Vec<u8>>,
}

/// The changes, with paths relative to the root.
#[derive(Debug, Default, PartialEq)]
pub struct Changes {
    pub new: Vec<String>,
    /// The number of lines added to or removed from each file of the original.
    pub lines: BTreeMap<String, usize>,
}

impl Copy {
    /// Makes the copy and replaces an earlier one.
    pub fn make(root: &Path) -> anyhow::Result<Copy> {
        match fs::remove_dir_all(root) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let mut files = BTreeMap::new();
        for path in workspace::files()? {
            let (from, to) = (workspace::root().join(&path), root.join(&path));
            let bytes = fs::read(&from).with_context(|| format!("cannot read `{path}`"))?;
            fs::create_dir_all(to.parent().expect("a file of the copy lies below its root"))?;
            fs::write(&to, &bytes)?;
            // Cargo compares times, so it does not build files again that are unchanged since the last run.
            File::options().write(true).open(&to)?.set_modified(fs::metadata(&from)?.modified()?)?;
            files.insert(path, bytes);
        }
        Ok(Copy { root: root.to_path_buf(), files })
    }

    pub fn changes(&self) -> anyhow::Result<Changes> {
        let mut changes = Changes::default();
        for path in files_below(&self.root)? {
            if !self.files.contains_key(&path) {
                changes.new.push(path);
            }
        }
        changes.new.sort();
        for (path, before) in &self.files {
            let after = fs::read(self.root.join(path)).unwrap_or_default();
            if *before != after {
                let lines = changed_lines(&String::from_utf8_lossy(before), &String::from_utf8_lossy(&after));
                changes.lines.insert(path.clone(), lines);
            }
        }
        Ok(changes)
    }
}

/// Counts the lines that only one text has, after removing the common lines at both ends.
fn changed_lines(before: &str, after: &str) -> usize {
    let (mut before, mut after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    for _ in 0..2 {
        let common = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
        before.drain(..common);
        after.drain(..common);
        before.reverse();
        after.reverse();
    }
    before.len() + after.len()
}

fn files_below(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            } else {
                let path = entry.path();
                let relative = path.strip_prefix(root).expect("found below the root");
                found.push(relative.display().to_string());
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted() {
        for (before, after, expected) in [
            ("a\nb\n", "a\nb\n", 0),
            ("a\nb\n", "a\nx\nb\n", 1),
            ("a\nb\n", "a\nb\nb\n", 1),
            ("a\nb\nc\n", "a\nc\n", 1),
            ("a\nb\nc\n", "a\nx\nc\n", 2),
            ("", "a\nb\n", 2),
        ] {
            assert_eq!(changed_lines(before, after), expected, "{before:?} {after:?}");
        }
    }
}
