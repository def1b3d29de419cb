//! `cargo xtask bench`: measures the time, instructions and memory of a hook call.
//!
//! This is a bench and not a test, because times are comparable only within one run. The count of
//! instructions always fails the bench; the other limits fail it only with `--strict`.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use tempfile::TempDir;

use crate::failure::Told;
use crate::program;
use budgets::Budgets;
use cases::Case;
use options::{Options, Parts, Plan};
use report::Report;
use saved::Saved;
use scene::Scene;

mod append;
mod back;
mod budgets;
mod cases;
mod classify;
mod empty;
mod hot;
mod instructions;
mod latency;
mod memory;
mod options;
mod parse;
mod peers;
mod plans;
mod report;
mod runs;
mod saved;
mod scene;
mod search;
mod stats;
mod texts;

pub fn run(args: &[String]) -> anyhow::Result<()> {
    let plan = match options::parse(args)? {
        Options::Help => {
            print!("{}", options::HELP);
            return Ok(());
        }
        Options::PeakOf(command) => return memory::print_peak(&command),
        Options::Run(plan) => plan,
    };
    if plan.parts == Parts::Classify {
        let program = program::given_or_built(plan.sprag.as_deref())?;
        return classify::run(&program, plan.rounds);
    }
    if plan.parts == Parts::Runs {
        let program = program::given_or_built(plan.sprag.as_deref())?;
        runs::run(&program, plan.rounds)?;
        plans::run(&program)?;
        return back::run(&program);
    }
    if plan.parts == Parts::Back {
        return back::run(&program::given_or_built(plan.sprag.as_deref())?);
    }
    if plan.parts == Parts::Peers {
        return peers::run(&program::given_or_built(plan.sprag.as_deref())?);
    }
    if plan.parts == Parts::Hot {
        return list_hot(&plan);
    }
    let report = measure(&plan)?;
    print!("{report}");
    if let Some(file) = &plan.json {
        let json = serde_json::to_string_pretty(&report).expect("a report is plain data with text keys");
        fs::write(file, json + "\n").with_context(|| format!("cannot write `{}`", file.display()))?;
    }
    judge(&plan, &report)
}

fn measure(plan: &Plan) -> anyhow::Result<Report> {
    if plan.parts == Parts::Search {
        return measure_search(plan);
    }
    let valgrind = instructions::valgrind()?;
    let mut budgets = Budgets::load()?;
    let program = program::given_or_built(plan.sprag.as_deref())?;
    let load = fs::read_to_string("/proc/loadavg").ok().map(|text| text.trim().to_owned());
    let folder = tempfile::Builder::new().prefix("bench-").tempdir()?;
    let mut scenes = set(cases::CASES, &program, &folder)?;
    let mut report = Report { load, ..Report::new(plan.rounds) };
    if plan.parts == Parts::All {
        let empty = empty::build(folder.path())?;
        let mut stops = set(cases::STOPS, &program, &folder)?;
        report.latency = Some(latency::measure(&empty, &mut scenes, plan.rounds)?);
        report.append = Some(append::measure(folder.path(), &mut stops, plan.rounds)?);
        report.parse = Some(parse::measure(&program, plan.rounds)?);
        report.search = Some(search::measure(&program, &empty, folder.path(), plan.rounds, plan.sizes)?);
        report.memory = Some(memory::measure(&empty, &mut scenes)?);
    }
    let rows = instructions::measure(&valgrind, folder.path(), &mut scenes, &budgets)?;
    if plan.save {
        for row in rows.iter() {
            budgets.note(&row.case, row.counted);
        }
        budgets.save()?;
    }
    report.instructions = Some(rows);
    folder.close().context("cannot remove the work folder")?;
    Ok(report)
}

fn list_hot(plan: &Plan) -> anyhow::Result<()> {
    let valgrind = instructions::valgrind()?;
    let program = program::given_or_built(plan.sprag.as_deref())?;
    let folder = tempfile::Builder::new().prefix("bench-").tempdir()?;
    let mut scenes = set(cases::CASES, &program, &folder)?;
    hot::write(&valgrind, &program, folder.path(), &mut scenes)?;
    folder.close().context("cannot remove the work folder")
}

fn measure_search(plan: &Plan) -> anyhow::Result<Report> {
    let program = program::given_or_built(plan.sprag.as_deref())?;
    let load = fs::read_to_string("/proc/loadavg").ok().map(|text| text.trim().to_owned());
    let folder = tempfile::Builder::new().prefix("bench-").tempdir()?;
    let empty = empty::build(folder.path())?;
    let rows = search::measure(&program, &empty, folder.path(), plan.rounds, plan.sizes)?;
    folder.close().context("cannot remove the work folder")?;
    Ok(Report { load, search: Some(rows), ..Report::new(plan.rounds) })
}

fn set(cases: &[&'static Case], program: &Path, folder: &TempDir) -> anyhow::Result<Vec<(Scene, Saved)>> {
    // Clients send the real path.
    let root = folder.path().canonicalize()?;
    cases.iter().map(|case| Scene::set(case, program, &root.join(case.name))).collect()
}

fn judge(plan: &Plan, report: &Report) -> anyhow::Result<()> {
    let (over, broken) = (report.over_budget(), report.broken_contracts());
    if over.is_empty() && broken.is_empty() {
        return Ok(());
    }
    println!();
    for what in over.iter().chain(&broken) {
        println!("{what}");
    }
    if over.is_empty() && !plan.strict {
        println!("(warnings only: ratios and memory fail with `--strict`)");
        return Ok(());
    }
    Err(Told.into())
}
