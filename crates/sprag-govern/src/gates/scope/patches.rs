//! Finds the files that a patch would change, from its text: inline, or in a file that exists before the
//! call.

use sprag_base::unified_diff::Hunk;
use sprag_shell::{Command, Script, StdinSource, Word, WorkingDir};

use super::targets::{TargetKind, WriteTarget, place_of, unknown};
use crate::event::Input;

/// How a patch is applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    by: String,
    cwd: WorkingDir,
    /// Number of leading directories to remove from each name.
    strip: usize,
}

/// Options that do not change which files are affected.
const HARMLESS: &[&str] = &[
    "--index",
    "-3",
    "--3way",
    "-N",
    "--forward",
    "-s",
    "--silent",
    "--quiet",
    "-q",
    "-v",
    "--verbose",
    "--reject",
    "-R",
    "--reverse",
    "--recount",
    "--ignore-whitespace",
    "-l",
    "-u",
    "-t",
    "--batch",
    "-f",
    "--force",
    "--apply",
    "--signoff",
    "-k",
    "--keep",
];

pub(crate) fn wanted(command: &Command, by: &str, script: &Script, input: &Input) -> Vec<WriteTarget> {
    let Some((patch, files)) = parse_arguments(command, by) else { return vec![unknown(by)] };
    let source = match (&command.stdin, files.is_empty()) {
        (StdinSource::Text(text), true) => return patch.wanted(text, input),
        (StdinSource::File(Word::Known(file)), true) => vec![file.clone()],
        (_, false) => files,
        (StdinSource::Inherited | StdinSource::Unknown | StdinSource::File(_), true) => {
            return vec![unknown(by)];
        }
    };
    let WorkingDir::At(dir) = &command.cwd else { return vec![unknown(by)] };
    if !is_alone(command, script) {
        return vec![unknown(by)];
    }
    let dir = sprag_base::path::absolute(&input.cwd, dir);
    source
        .into_iter()
        .map(|file| WriteTarget::Patch { file, dir: dir.clone(), patch: patch.clone() })
        .collect()
}

impl Patch {
    /// Returns the paths that this text would change, or an unknown target.
    pub fn wanted(&self, text: &str, input: &Input) -> Vec<WriteTarget> {
        let Some(files) = files(text, self.strip) else { return vec![unknown(&self.by)] };
        let mut wanted = Vec::new();
        for named in files {
            wanted.push(place_of(&named, &self.cwd, &self.by, TargetKind::Path, input));
            // Names in git's patches are relative to the worktree, not to the working directory.
            if self.by != "patch" && !matches!(&self.cwd, WorkingDir::At(dir) if dir.is_empty() || dir == ".")
            {
                let named = format!("{}/{named}", input.root);
                wanted.push(place_of(&named, &self.cwd, &self.by, TargetKind::Path, input));
            }
        }
        wanted
    }
}

/// Reads how a patch is applied and from which files. `None` if a word is unknown.
fn parse_arguments(command: &Command, by: &str) -> Option<(Patch, Vec<String>)> {
    let is_git = by != "patch";
    let (mut strip, mut files) = (is_git.then_some(1), Vec::new());
    let mut words = command.argv.iter().skip(if is_git { 2 } else { 1 });
    let known = |word: &Word| match word {
        Word::Known(word) => Some(word.clone()),
        Word::Partly(_) | Word::Many => None,
    };
    while let Some(word) = words.next() {
        let word = known(word)?;
        let after = |start: &str| word.strip_prefix(start).filter(|rest| !rest.is_empty());
        if HARMLESS.contains(&word.as_str()) || word.starts_with("--whitespace=") {
            continue;
        } else if let Some(count) = after("-p").or_else(|| after("--strip=")) {
            strip = Some(count.parse().ok()?);
        } else if word == "-p" || word == "--strip" {
            strip = Some(known(words.next()?)?.parse().ok()?);
        } else if let Some(file) = (!is_git).then(|| after("-i").or_else(|| after("--input="))).flatten() {
            files.push(file.to_owned());
        } else if !is_git && (word == "-i" || word == "--input") {
            files.push(known(words.next()?)?);
        } else if word.starts_with('-') || !is_git {
            return None;
        } else {
            files.push(word);
        }
    }
    // Without a number `patch` uses the base name of the file, which may be in any directory.
    let patch = Patch { by: by.to_owned(), cwd: command.cwd.clone(), strip: strip? };
    Some((patch, files))
}

/// Reports whether nothing else in the script can change the patch before it is read.
fn is_alone(command: &Command, script: &Script) -> bool {
    let at = |used: Option<usize>| used.and_then(|at| script.commands.get(at));
    let is_this = |other: &Command| std::ptr::eq(other, command);
    let looks = |other: &Command| Script { commands: vec![other.clone()], ..Script::default() }.only_looks();
    script.doubts.is_empty()
        && script.writes.iter().all(|used| at(used.command).is_some_and(is_this))
        && script.commands.iter().all(|other| is_this(other) || looks(other))
}

/// Returns the files that a patch names, without `strip` leading directories. `None` if some are not certain.
pub(super) fn files(text: &str, strip: usize) -> Option<Vec<String>> {
    let mut found: Vec<String> = Vec::new();
    // Remaining lines of a hunk, on both sides.
    let (mut old, mut new) = (0usize, 0usize);
    // Later lines explain a header whose two names differ.
    let mut is_pending = false;
    for line in text.lines() {
        if old > 0 || new > 0 {
            match line.as_bytes().first() {
                None | Some(b' ') => (old, new) = (old.checked_sub(1)?, new.checked_sub(1)?),
                Some(b'-') => old = old.checked_sub(1)?,
                Some(b'+') => new = new.checked_sub(1)?,
                Some(b'\\') => {}
                Some(_) => return None,
            }
            continue;
        }
        if line.starts_with("@@ -") {
            let hunk = Hunk::parse(line.as_bytes())?;
            (old, new) = (hunk.old_count, hunk.new_count);
        } else if let Some(names) = line.strip_prefix("diff --git ") {
            if is_pending || names.contains('"') {
                return None;
            }
            match halves(names) {
                Some((one, other)) if stripped(one, strip) == stripped(other, strip) => {
                    found.push(stripped(one, strip)?);
                }
                _ => is_pending = true,
            }
        } else if let Some(name) = ["--- ", "+++ "].iter().find_map(|mark| line.strip_prefix(mark)) {
            let name = name.split('\t').next().unwrap_or_default().trim_end();
            if name != "/dev/null" {
                found.push(stripped(name, strip)?);
            }
            is_pending &= line.starts_with("---");
        } else if let Some(name) = MOVES.iter().find_map(|mark| line.strip_prefix(mark)) {
            found.push(stripped(name.trim_end(), strip.saturating_sub(1))?);
            is_pending &= line.contains(" from ");
        } else if let Some(name) = line.strip_prefix("Index: ") {
            found.push(stripped(name.trim_end(), strip)?);
        } else if line.starts_with("*** ") {
            return None;
        }
    }
    let is_whole = old == 0 && new == 0 && !is_pending;
    found.sort();
    found.dedup();
    (is_whole && !found.is_empty()).then_some(found)
}

const MOVES: &[&str] = &["rename from ", "rename to ", "copy from ", "copy to "];

/// Splits two names of equal length. Names with blanks cannot be split in another way.
fn halves(names: &str) -> Option<(&str, &str)> {
    let middle = names.len().checked_sub(1)? / 2;
    let (one, other) = (names.get(..middle)?, names.get(middle..)?.strip_prefix(' ')?);
    (one.len() == other.len()).then_some((one, other))
}

/// Removes leading directories from a name. A quoted name has escapes and is not read.
fn stripped(name: &str, strip: usize) -> Option<String> {
    let rest = (0..strip).try_fold(name, |name, _| name.split_once('/').map(|(_, rest)| rest))?;
    (!rest.is_empty() && !name.starts_with('"')).then(|| rest.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::files;

    #[test]
    fn a_patch_names_its_files() {
        let named = |text: &str| files(text, 1).map(|files| files.join(" "));
        let some = |names: &str| Some(names.to_owned());
        assert_eq!(named("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"), some("x"));
        assert_eq!(
            named("--- a/x\n+++ b/x\n@@ -1,2 +0,0 @@\n--- a/y\n-+++ b/z\n"),
            some("x"),
            "text, no names"
        );
        assert_eq!(named("--- a/x\t2026\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"), some("x"));
        let header = "diff --git a/d/n b/d/n\nnew file mode 100644\nindex 0000000..e69de29\n";
        assert_eq!(named(header), some("d/n"));
        assert_eq!(named("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n"), some("x"));
        let moved = "diff --git a/x b/y z\nsimilarity index 100%\nrename from x\nrename to y z\n";
        assert_eq!(named(moved), some("x y z"));
        assert_eq!(named("diff --git a/x b/yy\ncopy from x\ncopy to yy\n"), some("x yy"));
        // If one file is uncertain, the whole patch is.
        for text in [
            "",
            "hello",
            "diff --git a/x b/yy\n",
            "diff --git a/x b/yy\nrename from x\n",
            "--- \"a/gu\\151de\"\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
            "--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n",
            "--- a/x\n+++ b/x\n@@ -1,9 +1 @@\n-a\n+b\n",
            "*** a/x\n--- b/x\n",
        ] {
            assert_eq!(named(text), None, "{text}");
        }
        assert_eq!(files("--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n", 0), Some(vec!["x".to_owned()]));
    }

    proptest! {
        #[test]
        fn any_text_can_be_tried(text in "(diff --git |--- |\\+\\+\\+ |@@ -|rename from |a/x|b/x| |\n|,|9|\\+|é){0,40}") {
            for strip in 0..4 {
                files(&text, strip);
            }
        }
    }
}
