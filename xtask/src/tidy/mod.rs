//! `cargo xtask tidy`: the rules of this repository that neither the compiler nor a lint knows. A
//! check is one file in `checks/` and one line in its list; what it finds is printed as
//! `file:line: what is wrong`, for people and editors alike.

use std::fmt;

use checks::CHECKS;
use tree::Tree;

use crate::failure::Told;
use crate::failure::Usage;

mod checks;
mod source;
mod tree;

const HELP: &str = "\
usage: cargo xtask tidy [--list]
  --list   print the checks and what they are about
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
        [flag] if flag == "--list" => {
            CHECKS.iter().for_each(|check| println!("{:<11} {}", check.name, check.about));
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
    findings.iter().for_each(|finding| println!("{finding}"));
    println!("tidy: {} checks over {} files, findings: {}", CHECKS.len(), tree.paths.len(), findings.len());
    if findings.is_empty() { Ok(()) } else { Err(Told.into()) }
}
