//! The flags of `cargo xtask bench`.

use std::path::PathBuf;

use crate::failure::Usage;

pub const HELP: &str = "\
usage: cargo xtask bench [FLAGS]
  --sprag PATH     the program to measure (default: built from this workspace, release)
  --rounds N       start each process N times for the latency (default: 500)
  --search         measure only searches
  --million        also search a million texts (takes minutes to prepare)
  --classify       measure only `trace classify` (refactoring or new behaviour)
  --runs           measure only plans: the status of a run of ten thousand stages, and the overhead of a run
  --back           measure only how soon a run of a thousand stages continues after kill -9; part of --runs
  --peers          measure other tools on the same work as plans (installs one with npm)
  --instructions   count only instructions, against `xtask/budgets.json`
  --hot            write the functions that hook calls run to `crates/sprag/hot.txt`
  --save           save the counted instructions in `xtask/budgets.json`
  --strict         fail if a ratio or the memory exceeds its limit; use it on an idle machine
  --json FILE      also write the report to this file as JSON

The work folder is created in TMPDIR; set it to a directory on the disk that you want to measure.
";

/// The internal flag by which `memory` starts a fresh copy of this program. A command line follows.
pub const PEAK_OF: &str = "--peak-of";

pub enum Options {
    Help,
    PeakOf(Vec<String>),
    Run(Plan),
}

pub struct Plan {
    pub sprag: Option<PathBuf>,
    pub rounds: usize,
    pub parts: Parts,
    /// The number of sizes of [`super::search::SIZES`] to measure.
    pub sizes: usize,
    pub save: bool,
    pub strict: bool,
    pub json: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    All,
    Search,
    Classify,
    Instructions,
    Hot,
    Runs,
    Back,
    Peers,
}

pub fn parse(args: &[String]) -> Result<Options, Usage> {
    let mut plan = Plan {
        sprag: None,
        rounds: 500,
        parts: Parts::All,
        sizes: 2,
        save: false,
        strict: false,
        json: None,
    };
    let mut args = args.iter();
    while let Some(flag) = args.next() {
        let mut value = || args.next().ok_or_else(|| Usage(format!("`{flag}` needs a value")));
        match flag.as_str() {
            "--sprag" => plan.sprag = Some(PathBuf::from(value()?)),
            "--rounds" => plan.rounds = rounds(value()?)?,
            "--search" => plan.parts = Parts::Search,
            "--classify" => plan.parts = Parts::Classify,
            "--runs" => plan.parts = Parts::Runs,
            "--back" => plan.parts = Parts::Back,
            "--peers" => plan.parts = Parts::Peers,
            "--million" => plan.sizes = 3,
            "--instructions" => plan.parts = Parts::Instructions,
            "--hot" => plan.parts = Parts::Hot,
            "--save" => plan.save = true,
            "--strict" => plan.strict = true,
            "--json" => plan.json = Some(PathBuf::from(value()?)),
            "--help" | "-h" => return Ok(Options::Help),
            PEAK_OF => return Ok(Options::PeakOf(args.cloned().collect())),
            _ => return Err(Usage(format!("no flag `{flag}`\n{HELP}"))),
        }
    }
    if plan.strict && plan.parts == Parts::Instructions {
        return Err(Usage("`--strict` needs ratios, and `--instructions` measures none".to_owned()));
    }
    Ok(Options::Run(plan))
}

fn rounds(text: &str) -> Result<usize, Usage> {
    match text.parse() {
        Ok(rounds) if rounds > 0 => Ok(rounds),
        _ => Err(Usage(format!("`--rounds` needs a number from 1, not `{text}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Options, Usage> {
        parse(&args.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn everything_unless_told() {
        let Ok(Options::Run(plan)) = parsed(&[]) else { panic!("a plan") };
        assert_eq!((plan.rounds, plan.parts, plan.strict), (500, Parts::All, false));
        let Ok(Options::Run(plan)) = parsed(&["--instructions", "--rounds", "7"]) else { panic!("a plan") };
        assert_eq!((plan.rounds, plan.parts), (7, Parts::Instructions));
    }

    #[test]
    fn nonsense_is_a_usage_error() {
        for args in [&["--rounds", "0"][..], &["--rounds"], &["--fast"], &["--strict", "--instructions"]] {
            assert!(parsed(args).is_err(), "{args:?}");
        }
    }
}
