//! `cargo xtask tidy`: the rules of this repository that neither the compiler nor a lint checks. A check is
//! one file in `checks/` and one line in its list. Each finding is printed as `file:line: what is wrong`, for
//! people and editors.

use std::path::Path;
use std::{fmt, fs};

use anyhow::Context as _;

use crate::failure::{Told, Usage};
use crate::workspace;
use checks::CHECKS;
use tree::Tree;

mod checks;
pub mod commits;
pub mod modules;
pub mod source;
pub mod tree;

const HELP: &str = "\
usage: cargo xtask tidy [--list | --only CHECK | imports --fix | plain-words .. | commit-message FILE]
  --list                        print all checks with a description
  --only CHECK                  print the findings of one check
  imports --fix                 put the imports of all files in order
  plain-words [PATH]            print all findings of `plain_words` below a path, including the baseline
  plain-words --table           count these findings by directory and rule
  plain-words --fix-baseline    lower the numbers of `xtask/plain-words.baseline` to the current findings
  commit-message FILE           check the message of a commit; for a `commit-msg` hook
";

pub struct Check {
    pub name: &'static str,
    pub about: &'static str,
    pub find: fn(&Tree) -> Vec<Finding>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    pub file: String,
    pub line: usize,
    pub what: String,
}

impl Finding {
    pub fn new(file: &str, line: usize, what: impl Into<String>) -> Finding {
        Finding { file: file.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

pub fn run(args: &[String]) -> anyhow::Result<()> {
    match args {
        [] => {}
        [flag, name] if flag == "--only" => return only(name),
        [check, flag] if check == "imports" && flag == "--fix" => return fix_imports(),
        [check, rest @ ..] if check == "plain-words" => return checks::plain_words::run(rest),
        [check, file] if check == "commit-message" => {
            return report(&checks::commit_message::of_file(Path::new(file))?);
        }
        [flag] if flag == "--list" => {
            for check in CHECKS {
                println!("{:<14} {}", check.name, check.about);
            }
            return Ok(());
        }
        [flag] if matches!(flag.as_str(), "--help" | "-h") => {
            print!("{HELP}");
            return Ok(());
        }
        [flag, ..] => return Err(Usage(format!("no flag `{flag}`\n{HELP}")).into()),
    }
    let tree = Tree::load()?;
    let mut findings: Vec<Finding> = CHECKS.iter().flat_map(|check| (check.find)(&tree)).collect();
    findings.sort();
    for finding in findings.iter() {
        println!("{finding}");
    }
    println!("tidy: {} checks over {} files, findings: {}", CHECKS.len(), tree.paths.len(), findings.len());
    if findings.is_empty() { Ok(()) } else { Err(Told.into()) }
}

fn only(name: &str) -> anyhow::Result<()> {
    let Some(check) = CHECKS.iter().find(|check| check.name == name) else {
        return Err(Usage(format!("no check `{name}`\n{HELP}")).into());
    };
    report(&(check.find)(&Tree::load()?))
}

fn report(findings: &[Finding]) -> anyhow::Result<()> {
    for finding in findings {
        println!("{finding}");
    }
    if findings.is_empty() { Ok(()) } else { Err(Told.into()) }
}

fn fix_imports() -> anyhow::Result<()> {
    let root = workspace::root();
    let fixed = checks::imports::fixed(&Tree::load()?);
    for (path, text) in &fixed {
        fs::write(root.join(path), text).with_context(|| format!("cannot write `{path}`"))?;
    }
    let paths: Vec<String> = fixed.iter().map(|(path, _)| path.clone()).collect();
    workspace::format(&paths)?;
    println!("tidy: put the imports of {} files in order", fixed.len());
    Ok(())
}
