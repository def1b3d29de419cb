//! Checks that comments, messages, help and documents follow the rules of `rules.rs`. A baseline holds the
//! number of findings of each directory, which may only fall. An allow list holds exceptions.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context as _, ensure};
use regex_lite::Regex;

use crate::failure::{Told, Usage};
use crate::tidy::tree::Tree;
use crate::tidy::{Check, Finding};
use crate::workspace;
use prose::Kind;
use rules::Rules;

mod prose;
mod rules;

pub const CHECK: Check = Check { name: "plain_words", about: "texts use plain words", find };

const BASELINE: &str = "xtask/plain-words.baseline";
const ALLOW: &str = "xtask/plain-words.allow";
const LOWER: &str = "lower the numbers with `cargo xtask tidy plain-words --fix-baseline`";

struct Word {
    rule: &'static str,
    finding: Finding,
}

/// An exception: the check ignores sentences that match `sentence` in files that match `path`.
struct Exception {
    line: usize,
    path: Regex,
    sentence: Regex,
}

type Counts = BTreeMap<String, usize>;

fn find(tree: &Tree) -> Vec<Finding> {
    let (words, mut findings) = words(tree);
    let (counts, allowed) = (counts(&words), baseline(tree));
    for dir in counts.keys().chain(allowed.keys()).collect::<BTreeSet<_>>() {
        let count = counts.get(dir).copied().unwrap_or_default();
        let at = tree.line(BASELINE, |line| line.split(' ').next() == Some(dir));
        match allowed.get(dir).copied() {
            None => findings.extend(of_dir(&words, dir).map(|word| word.finding.clone())),
            Some(_) if count == 0 => {
                findings.push(Finding::new(BASELINE, at, format!("`{dir}` has no findings left: {LOWER}")));
            }
            Some(most) if count > most => {
                let what = format!(
                    "`{dir}` has {count} findings, at most {most}: see `cargo xtask tidy plain-words {dir}`"
                );
                findings.push(Finding::new(BASELINE, at, what));
            }
            Some(most) if count < most => println!("note: `{dir}` has {count} of {most} findings: {LOWER}"),
            Some(_) => {}
        }
    }
    findings
}

/// Runs `cargo xtask tidy plain-words` on all findings, including those of the baseline.
pub fn run(args: &[String]) -> anyhow::Result<()> {
    let tree = Tree::load()?;
    let (words, mut findings) = words(&tree);
    match args {
        [flag] if flag == "--table" => print!("{}", table(&words)),
        [flag] if flag == "--fix-baseline" => return lower(&tree, &counts(&words)),
        [flag, ..] if flag.starts_with('-') => return Err(Usage(format!("no flag `{flag}`")).into()),
        paths => {
            let is_below = |file: &str| paths.is_empty() || paths.iter().any(|path| is_in(file, path));
            findings.extend(words.into_iter().map(|word| word.finding));
            findings.retain(|finding| is_below(&finding.file));
            findings.sort();
            for finding in findings.iter() {
                println!("{finding}");
            }
            if !findings.is_empty() {
                return Err(Told.into());
            }
        }
    }
    Ok(())
}

fn is_in(file: &str, path: &str) -> bool {
    let path = path.trim_end_matches('/');
    file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        || dir_of(file) == path
}

/// Finds all words that break a rule, and exceptions without a use.
fn words(tree: &Tree) -> (Vec<Word>, Vec<Finding>) {
    let (rules, (exceptions, mut findings)) = (Rules::new(), exceptions(tree));
    let mut used: BTreeSet<usize> = BTreeSet::new();
    let mut words = Vec::new();
    for paragraph in prose::paragraphs(tree) {
        for hit in rules.check(&paragraph) {
            let sentence =
                rules::sentences(&paragraph.text).into_iter().find(|range| range.contains(&hit.at));
            let sentence = match sentence {
                Some(range) if paragraph.kind != Kind::Message => &paragraph.raw[range],
                _ => paragraph.raw.as_str(),
            };
            let fits = |exception: &&Exception| {
                exception.path.is_match(&paragraph.file) && exception.sentence.is_match(sentence)
            };
            match exceptions.iter().find(fits) {
                Some(exception) => drop(used.insert(exception.line)),
                None => words.push(Word {
                    rule: hit.rule,
                    finding: Finding::new(
                        &paragraph.file,
                        paragraph.line_at(hit.at),
                        format!("{}: {}", hit.rule, hit.words),
                    ),
                }),
            }
        }
    }
    let unused = exceptions.iter().filter(|exception| !used.contains(&exception.line));
    findings.extend(
        unused.map(|exception| Finding::new(ALLOW, exception.line, "this exception has no use: remove it")),
    );
    (words, findings)
}

/// Reads the allow list: path, pattern of a sentence and reason, with tabs between them.
fn exceptions(tree: &Tree) -> (Vec<Exception>, Vec<Finding>) {
    let (mut read, mut findings) = (Vec::new(), Vec::new());
    for (at, line) in lines_of(tree, ALLOW) {
        let parts: Vec<&str> = line.split('\t').collect();
        let exception = match parts[..] {
            [path, sentence, reason] if !reason.trim().is_empty() => {
                let path = Regex::new(&format!("^{}$", regex_lite::escape(path).replace(r"\*", ".*")));
                path.ok().zip(Regex::new(sentence).ok())
            }
            _ => None,
        };
        match exception {
            Some((path, sentence)) => read.push(Exception { line: at, path, sentence }),
            None => findings.push(Finding::new(
                ALLOW,
                at,
                "not a path, a pattern and a reason with tabs between them",
            )),
        }
    }
    (read, findings)
}

fn baseline(tree: &Tree) -> Counts {
    let number =
        |line: &str| Some((line.split(' ').next()?.to_owned(), line.split(' ').nth(1)?.parse().ok()?));
    lines_of(tree, BASELINE).filter_map(|(_, line)| number(line)).collect()
}

fn lines_of<'a>(tree: &'a Tree, path: &str) -> impl Iterator<Item = (usize, &'a str)> {
    let lines = tree.texts.get(path).map(String::as_str).unwrap_or_default().lines().enumerate();
    lines.map(|(at, line)| (at + 1, line)).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn counts(words: &[Word]) -> Counts {
    let mut counts = Counts::new();
    for word in words.iter() {
        *counts.entry(dir_of(&word.finding.file)).or_default() += 1;
    }
    counts
}

fn of_dir<'a>(words: &'a [Word], dir: &str) -> impl Iterator<Item = &'a Word> {
    words.iter().filter(move |word| dir_of(&word.finding.file) == dir)
}

/// Returns the crate of a file, or its top directory.
fn dir_of(file: &str) -> String {
    let depth = if file.starts_with("crates/") { 2 } else { 1 };
    let parts: Vec<&str> = file.split('/').collect();
    if parts.len() > depth { parts[..depth].join("/") } else { ".".to_owned() }
}

/// Writes the current numbers. It refuses a number that rises; if the file is missing, it writes all numbers.
fn lower(tree: &Tree, counts: &Counts) -> anyhow::Result<()> {
    let old = baseline(tree);
    let rises = counts.iter().filter(|(dir, count)| {
        tree.texts.contains_key(BASELINE) && **count > old.get(*dir).copied().unwrap_or_default()
    });
    let rises: Vec<&str> = rises.map(|(dir, _)| dir.as_str()).collect();
    ensure!(rises.is_empty(), "the findings of {} have risen; fix them first", rises.join(", "));
    let mut text =
        "# Findings of `plain_words` that each directory may have. Numbers only fall.\n".to_owned();
    for (dir, count) in counts.iter() {
        text.push_str(&format!("{dir} {count}\n"));
    }
    fs::write(workspace::root().join(BASELINE), text).with_context(|| format!("cannot write `{BASELINE}`"))
}

/// Counts findings by directory and rule.
fn table(words: &[Word]) -> String {
    let rules: BTreeSet<&str> = words.iter().map(|word| word.rule).collect();
    let mut text = format!("{:<26}", "");
    for rule in rules.iter() {
        text.push_str(&format!("{rule:>11}"));
    }
    text.push_str("      total\n");
    let mut dirs: Vec<String> = counts(words).into_keys().collect();
    dirs.push("total".to_owned());
    for dir in dirs {
        let here: Vec<&Word> =
            words.iter().filter(|word| dir == "total" || dir_of(&word.finding.file) == dir).collect();
        text.push_str(&format!("{dir:<26}"));
        for rule in &rules {
            text.push_str(&format!("{:>11}", here.iter().filter(|word| word.rule == *rule).count()));
        }
        text.push_str(&format!("{:>11}\n", here.len()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const BAD: &str = "/// Nobody.\nstruct A;\n/// Nobody.\nstruct B;\n";

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        find(&Tree::of(files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_directory_keeps_its_number() {
        let path = "crates/x/src/a.rs";
        assert_eq!(
            found(&[(path, BAD)]),
            ["crates/x/src/a.rs:1: people: Nobody", "crates/x/src/a.rs:3: people: Nobody"]
        );
        assert_eq!(found(&[(path, BAD), (BASELINE, "# x\ncrates/x 2\n")]), [""; 0]);
        assert_eq!(found(&[(path, BAD), (BASELINE, "crates/x 3\n")]), [""; 0]);
        let rises = "xtask/plain-words.baseline:1: `crates/x` has 2 findings, at most 1: see `cargo xtask tidy plain-words crates/x`";
        assert_eq!(found(&[(path, BAD), (BASELINE, "crates/x 1\n")]), [rises]);
        let done = format!("xtask/plain-words.baseline:1: `docs` has no findings left: {LOWER}");
        assert_eq!(found(&[(BASELINE, "docs 1\n")]), [done]);
    }

    #[test]
    fn an_exception_has_a_use_and_a_reason() {
        let path = "crates/x/src/a.rs";
        assert_eq!(found(&[(path, BAD), (ALLOW, "crates/*\t^Nobody\\.$\ta quotation\n")]), [""; 0]);
        let entries = "docs/*\tNobody\tunused\ncrates/*\tNobody\n";
        let expected = [
            "xtask/plain-words.allow:2: not a path, a pattern and a reason with tabs between them",
            "xtask/plain-words.allow:1: this exception has no use: remove it",
        ];
        assert_eq!(found(&[(ALLOW, entries)]), expected);
    }

    #[test]
    fn findings_belong_to_a_crate_or_a_top_directory() {
        for (file, dir) in [
            ("README.md", "."),
            ("docs/a/b.md", "docs"),
            ("crates/x/src/a.rs", "crates/x"),
            ("xtask/src/a.rs", "xtask"),
        ] {
            assert_eq!(dir_of(file), dir);
            assert!(is_in(file, dir));
        }
        assert!(is_in("docs/a.md", "docs/") && !is_in("docs-old/a.md", "docs"));
    }
}
