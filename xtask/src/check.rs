//! `cargo xtask check`: runs all checks that a change must pass, quickest first, and stops at the first
//! failure.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, ensure};

use crate::failure::Usage;
use crate::{process, tidy, workspace};

struct Step {
    name: &'static str,
    run: Run,
}

enum Run {
    Cargo {
        command: &'static str,
        args: &'static [&'static str],
    },
    Ours(fn(&[String]) -> anyhow::Result<()>),
    /// A program that is not always installed. A release makes the same check.
    Optional {
        program: &'static str,
        args: &'static [&'static str],
        package: &'static str,
    },
}

const STEPS: &[Step] = &[
    Step { name: "fmt", run: Run::Cargo { command: "fmt", args: &["--all", "--check"] } },
    Step {
        name: "clippy",
        run: Run::Cargo {
            command: "clippy",
            args: &["--workspace", "--all-targets", "--", "-D", "warnings"],
        },
    },
    Step { name: "test", run: Run::Cargo { command: "test", args: &["--workspace"] } },
    Step { name: "tidy", run: Run::Ours(tidy::run) },
    Step {
        name: "deny",
        run: Run::Optional { program: "cargo-deny", args: &["check"], package: "cargo-deny" },
    },
    Step { name: "typos", run: Run::Optional { program: "typos", args: &[], package: "typos-cli" } },
];

pub fn run(args: &[String]) -> anyhow::Result<()> {
    if let Some(flag) = args.first() {
        let steps: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        return Err(
            Usage(format!("no flag `{flag}`\nusage: cargo xtask check (runs {})", steps.join(", "))).into()
        );
    }
    let started = Instant::now();
    for step in STEPS {
        println!("== {}", step.name);
        let step_started = Instant::now();
        match step.run {
            Run::Cargo { command, args } => succeed(step, workspace::cargo(command).args(args))?,
            Run::Ours(run) => run(&[]).with_context(|| format!("step `{}` failed", step.name))?,
            Run::Optional { program, args, package } => match process::find(program) {
                Some(path) => succeed(step, Command::new(path).args(args).current_dir(workspace::root()))?,
                None => {
                    println!("skipped: {program} is not installed (cargo install {package})");
                    continue;
                }
            },
        }
        println!("== {}: {:.1} s", step.name, step_started.elapsed().as_secs_f64());
    }
    println!("== total: {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn succeed(step: &Step, command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    ensure!(status.success(), "step `{}` failed ({status})", step.name);
    Ok(())
}
