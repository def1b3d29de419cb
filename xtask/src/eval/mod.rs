//! `cargo xtask eval policy|retrieval|trace|trace-export`: the figures of the policy on labelled commands, of the
//! memory on sets with a key, of proofs of refactoring on labelled changes, and exported records against the schemas of
//! their form. The data is no part of this repository; without it there is nothing to do. No command is ever
//! run: each is handed to `sprag policy check --jsonl` as text.

use std::path::Path;

use crate::failure::{Told, Usage};
use crate::{program, workspace};

mod approve;
mod asked;
mod destructive;
mod gates;
mod options;
mod retrieval;
mod rows;
mod schema;
mod share;
mod trace;
mod trace_export;

use options::Options;

pub fn run(args: &[String]) -> anyhow::Result<()> {
    let named = args.split_first().map(|(name, rest)| (name.as_str(), rest));
    let Some((name @ ("policy" | "retrieval" | "trace" | "trace-export"), rest)) = named else {
        return Err(Usage(options::USAGE.to_owned()).into());
    };
    let options = Options::read(rest)?;
    let folder = if name == "trace-export" { "trace/agent-trace" } else { name };
    let usual = || workspace::root().join("../shared/data").join(folder);
    let data = options.data.clone().unwrap_or_else(usual);
    if !data.is_dir() {
        println!("no {name} data at `{}`: skipped", data.display());
        return Ok(());
    }
    let sprag = program::given_or_built(options.sprag.as_deref())?;
    let report = match name {
        "policy" => policy(&sprag, &data)?,
        "trace" => trace::score(&sprag, &data)?,
        "trace-export" => trace_export::score(&sprag, &data)?,
        _ => retrieval::score(&sprag, &data)?,
    };
    for line in &report.lines {
        println!("{line}");
    }
    for (about, errors) in &report.errors {
        if options.errors > 0 && !errors.is_empty() {
            println!("\n{about}: {} wrong", errors.len());
            for error in errors.iter().take(options.errors) {
                println!("  {error}");
            }
        }
    }
    for missed in &report.missed {
        println!("missed: {missed}");
    }
    if options.strict && !report.missed.is_empty() {
        return Err(Told.into());
    }
    Ok(())
}

fn policy(sprag: &Path, data: &Path) -> anyhow::Result<Report> {
    let rows = rows::read(data)?;
    let mut report = Report::default();
    gates::score(&rows.gates, &asked::ask(sprag, &[], &rows.gates)?, &mut report);
    let answers = asked::ask(sprag, &[], &rows.commands)?;
    destructive::score("default packs", &rows.commands, &answers, &mut report);
    approve::score(&rows.commands, &answers, &mut report);
    let of_axis: Vec<rows::Row> = rows.commands.into_iter().filter(rows::Row::is_destructive).collect();
    let answers = asked::ask(sprag, &["--packs", "all"], &of_axis)?;
    let mut all_packs = Report::default();
    destructive::score("all packs", &of_axis, &answers, &mut all_packs);
    report.lines.append(&mut all_packs.lines);
    Ok(report)
}

/// What is printed, collected so that tests can look at it.
#[derive(Debug, Default)]
struct Report {
    lines: Vec<String>,
    errors: Vec<(&'static str, Vec<String>)>,
    /// Targets that were not met.
    missed: Vec<String>,
}

impl Report {
    /// A target that a share must reach; a share of nothing says nothing.
    fn want(&mut self, name: &str, share: share::Share, least: f64) {
        if share.value().is_some_and(|value| value < least) {
            self.missed.push(format!("{name} {share}, wanted at least {least}"));
        }
    }

    fn want_most(&mut self, name: &str, share: share::Share, most: f64) {
        if share.value().is_some_and(|value| value > most) {
            self.missed.push(format!("{name} {share}, wanted at most {most}"));
        }
    }
}
