//! `cargo xtask eval policy|retrieval|trace|trace-export`: scores the policy on labelled commands, the memory
//! on sets with a key, the proofs on labelled changes, and exported records against their schemas. The data
//! is not part of this repository; without it the command skips. It never runs a labelled command: `sprag
//! policy check --jsonl` gets each as text.

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

/// The output, collected for tests.
#[derive(Debug, Default)]
struct Report {
    lines: Vec<String>,
    errors: Vec<(&'static str, Vec<String>)>,
    /// Targets that were missed.
    missed: Vec<String>,
}

impl Report {
    /// Records a miss if a share is below its target. An empty share never misses.
    fn want(&mut self, name: &str, share: share::Share, least: f64) {
        if share.value().is_some_and(|value| value < least) {
            self.missed.push(format!("{name} {share}, target at least {least}"));
        }
    }

    fn want_most(&mut self, name: &str, share: share::Share, most: f64) {
        if share.value().is_some_and(|value| value > most) {
            self.missed.push(format!("{name} {share}, target at most {most}"));
        }
    }
}
