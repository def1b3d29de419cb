//! `cargo xtask e2e`: runs the real clients, headless, with Sprag's hooks and a scripted model. This tests
//! the real behaviour of a client, whatever its documentation says.

use std::time::Instant;

use crate::failure::Told;
use crate::program;
use cases::{CASES, Case};
use clients::Client;
use install::{Installed, Missing};
use options::{Options, Plan};
use outcome::Stopped;
use rig::{Installer, Kit, Rig, Sandbox};

mod cases;
mod clients;
pub mod install;
mod options;
mod outcome;
mod pane;
mod rig;

pub fn run(args: &[String]) -> anyhow::Result<()> {
    match options::parse(args)? {
        Options::Help => print!("{}", options::HELP),
        Options::List => CASES.iter().for_each(|case| println!("{:<22} {}", case.name, case.shows)),
        Options::Run(plan) => {
            let tally = play(&plan)?;
            println!("{} passed, {} failed, {} skipped", tally.passed, tally.failed, tally.skipped);
            if tally.failed > 0 || (tally.skipped > 0 && !plan.allow_skip) {
                return Err(Told.into());
            }
        }
    }
    Ok(())
}

#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
}

fn play(plan: &Plan) -> anyhow::Result<Tally> {
    let program = program::given_or_built(plan.sprag.as_deref())?;
    let installer = rig::installer(&program)?;
    let kit = Kit { program, installer, plugin: std::path::absolute(&plan.plugin)? };
    if installer == Installer::Driver {
        println!("note: the program has no `init`; this driver writes the hooks");
    }

    let mut tally = Tally::default();
    println!("{:<8} {:<22} {:<8} {:>7}", "client", "case", "result", "seconds");
    for &client in &plan.clients {
        let cases: Vec<&Case> = plan.cases.iter().copied().filter(|case| case.suits(client)).collect();
        match install::install(client, &install::cache()) {
            Ok(installed) => play_client(&kit, &installed, &cases, plan, &mut tally)?,
            Err(Missing(why)) => {
                tally.skipped += cases.len();
                row(client, "all", "skipped", None);
                detail("why", &why);
            }
        }
    }
    Ok(tally)
}

fn play_client(
    kit: &Kit,
    installed: &Installed,
    cases: &[&Case],
    plan: &Plan,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let sandbox = rig::sandbox(kit, installed)?;
    if let Sandbox::Broken(why) = &sandbox {
        println!("note: {why}; cases that do not test the sandbox run without it");
    }
    for case in cases {
        let started = Instant::now();
        let (checked, rig) = match Rig::new(kit, installed, &sandbox, case.hooks) {
            Ok(mut rig) => {
                let hooked = rig.write_hooks(kit.installer).map_err(Stopped::from);
                (hooked.and_then(|()| (case.play)(&mut rig)), Some(rig))
            }
            Err(error) => (Err(Stopped::Broke(error)), None),
        };
        let (count, result) = match &checked {
            Ok(()) => (&mut tally.passed, "passed"),
            Err(Stopped::Skipped { .. }) => (&mut tally.skipped, "skipped"),
            Err(Stopped::Missed { .. } | Stopped::Broke(_)) => (&mut tally.failed, "FAILED"),
        };
        *count += 1;
        row(installed.client, case.name, result, Some(started.elapsed().as_secs_f64()));
        let folder = match &checked {
            Ok(()) => Folder::Useless,
            Err(stopped) => explain(case, stopped),
        };
        let Some(rig) = rig else { continue };
        if plan.keep || folder == Folder::Wanted {
            detail("folder", &rig.keep().display().to_string());
        } else if let Err(error) = rig.remove() {
            // A child of the client may still write there, which does not concern the case.
            detail("folder", &format!("{error:#}"));
        }
    }
    Ok(())
}

/// The use of the work folder after the case.
#[derive(PartialEq, Eq)]
enum Folder {
    Wanted,
    Useless,
}

fn explain(case: &Case, stopped: &Stopped) -> Folder {
    match stopped {
        Stopped::Missed { expected, saw } => {
            detail("shows", case.shows);
            detail("expected", expected);
            detail("saw", saw);
            Folder::Wanted
        }
        Stopped::Broke(error) => {
            detail("shows", case.shows);
            detail("error", &format!("{error:#}"));
            Folder::Wanted
        }
        Stopped::Skipped { why } => {
            detail("why", why);
            Folder::Useless
        }
    }
}

fn row(client: &Client, case: &str, result: &str, seconds: Option<f64>) {
    let seconds = seconds.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.1}"));
    println!("{:<8} {case:<22} {result:<8} {seconds:>7}", client.name);
}

fn detail(name: &str, text: &str) {
    // Further lines of a text are indented below the first.
    println!("         {name:<9} {}", text.trim().replace('\n', "\n                   "));
}
