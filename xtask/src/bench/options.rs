//! The flags of `cargo xtask bench`.

use std::path::PathBuf;

use crate::failure::Usage;

pub const HELP: &str = "\
usage: cargo xtask bench [FLAGS]
  --sprag PATH     the program to measure (default: built from this workspace, release)
  --rounds N       how often each process is started for the latency (default: 500)
  --search         measure searching only
  --million        also search a million texts, which takes minutes to prepare
  --classify       measure telling refactoring from new behaviour only
  --runs           measure plans only: looking at a run of ten thousand stages, and what running one costs
  --peers          measure what others take for the same as plans do (installs one of them, by npm)
  --instructions   count instructions only, against `xtask/budgets.json`
  --hot            list the functions hook calls go through in `crates/sprag/hot.txt`
  --save           write the counted instructions to `xtask/budgets.json` as the last known ones
  --strict         fail where a ratio or the memory breaks its contract; for a machine at rest
  --json FILE      also write everything to this file

The work folder is made in TMPDIR; point it at the kind of disk you want to know about.
";

/// Not for people: how `memory` asks a fresh copy of this program. The rest is a command line.
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
    /// How many of the sizes in [`super::search::SIZES`].
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
        return Err(Usage("`--strict` is about ratios, which `--instructions` does not measure".to_owned()));
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
