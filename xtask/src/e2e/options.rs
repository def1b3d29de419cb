//! The flags of `cargo xtask e2e`. Names of cases and clients are resolved here, so that a misspelt name is a
//! usage error and not an empty run.

use std::path::PathBuf;

use super::cases::{CASES, Case};
use super::clients::{CLIENTS, Client};
use crate::failure::Usage;
use crate::workspace;

pub const HELP: &str = "\
usage: cargo xtask e2e [FLAGS]
  --client NAME   run this client only (may be repeated)
  --case NAME     run this case only (may be repeated)
  --sprag PATH    the program under test (default: built from this workspace, release)
  --plugin PATH   the plugin folder (default: `plugin` in this workspace)
  --keep          keep the work folders and say where they are
  --allow-skip    do not fail because something could not be run
  --list          print the cases and what they show
";

pub enum Options {
    Help,
    List,
    Run(Plan),
}

pub struct Plan {
    pub clients: Vec<&'static Client>,
    pub cases: Vec<&'static Case>,
    pub sprag: Option<PathBuf>,
    pub plugin: PathBuf,
    pub keep: bool,
    pub allow_skip: bool,
}

pub fn parse(args: &[String]) -> Result<Options, Usage> {
    let mut plan = Plan {
        clients: Vec::new(),
        cases: Vec::new(),
        sprag: None,
        plugin: workspace::root().join("plugin"),
        keep: false,
        allow_skip: false,
    };
    let mut args = args.iter();
    while let Some(flag) = args.next() {
        let mut value = || args.next().ok_or_else(|| Usage(format!("`{flag}` needs a value")));
        match flag.as_str() {
            "--client" => plan.clients.push(pick("client", value()?, CLIENTS, |client| client.name)?),
            "--case" => plan.cases.push(pick("case", value()?, CASES, |case| case.name)?),
            "--sprag" => plan.sprag = Some(PathBuf::from(value()?)),
            "--plugin" => plan.plugin = PathBuf::from(value()?),
            "--keep" => plan.keep = true,
            "--allow-skip" => plan.allow_skip = true,
            "--list" => return Ok(Options::List),
            "--help" | "-h" => return Ok(Options::Help),
            _ => return Err(Usage(format!("no flag `{flag}`\n{HELP}"))),
        }
    }
    if plan.clients.is_empty() {
        plan.clients = CLIENTS.to_vec();
    }
    if plan.cases.is_empty() {
        plan.cases = CASES.to_vec();
    }
    // An empty run would pass.
    if !plan.clients.iter().any(|client| plan.cases.iter().any(|case| case.suits(client))) {
        return Err(Usage("no chosen case can run with a chosen client".to_owned()));
    }
    Ok(Options::Run(plan))
}

fn pick<T>(
    kind: &str,
    wanted: &str,
    list: &[&'static T],
    name: fn(&T) -> &'static str,
) -> Result<&'static T, Usage> {
    list.iter().find(|&&item| name(item) == wanted).copied().ok_or_else(|| {
        let known: Vec<&str> = list.iter().map(|&item| name(item)).collect();
        Usage(format!("no {kind} `{wanted}`; there are {}", known.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Options, Usage> {
        parse(&args.iter().map(|&arg| arg.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn everything_unless_named() {
        let Ok(Options::Run(plan)) = parsed(&[]) else { panic!("a plan") };
        assert_eq!((plan.clients.len(), plan.cases.len()), (CLIENTS.len(), CASES.len()));
        let Ok(Options::Run(plan)) = parsed(&["--case", "plain", "--client", "codex"]) else {
            panic!("a plan")
        };
        assert_eq!((plan.clients[0].name, plan.cases[0].name), ("codex", "plain"));
        assert_eq!((plan.clients.len(), plan.cases.len()), (1, 1));
    }

    #[test]
    fn a_misspelt_name_is_told_with_the_real_ones() {
        let Err(Usage(text)) = parsed(&["--client", "clod"]) else { panic!("an error") };
        assert_eq!(text, "no client `clod`; there are claude, codex");
        assert!(parsed(&["--case"]).is_err());
        assert!(parsed(&["--case", "plugin", "--client", "codex"]).is_err());
        assert!(parsed(&["--frobnicate"]).is_err());
    }
}
