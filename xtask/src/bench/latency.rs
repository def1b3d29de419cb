//! The duration of a hook call, from the start of the process to its end, next to programs that do nothing.
//! All programs take turns, so that other load affects them equally. Only the ratios are comparable between
//! machines.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde::Serialize;

use super::saved::Saved;
use super::scene::Scene;
use super::stats::Spread;

/// Rounds that warm caches and are not counted.
const WARM_UP: usize = 5;
const TRUE: &str = "/bin/true";

#[derive(Serialize)]
pub struct Row {
    pub case: String,
    #[serde(flatten)]
    pub spread: Spread,
    pub to_empty: f64,
    pub to_true: f64,
    /// The limit on `to_empty`.
    pub contract: Option<f64>,
}

impl Row {
    pub fn breaks_contract(&self) -> bool {
        self.contract.is_some_and(|most| self.to_empty > most)
    }
}

pub fn measure(empty: &Path, scenes: &mut [(Scene, Saved)], rounds: usize) -> anyhow::Result<Vec<Row>> {
    let (mut of_empty, mut of_true) = (Vec::new(), Vec::new());
    let mut of_hooks: Vec<Vec<Duration>> = scenes.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds + WARM_UP {
        let first = &scenes.first().context("no case to measure")?.0;
        let (empty, nothing) =
            (time(&mut first.command_of(empty, &[])?)?, time(&mut first.command_of(Path::new(TRUE), &[])?)?);
        if round >= WARM_UP {
            of_empty.push(empty);
            of_true.push(nothing);
        }
        for ((scene, saved), times) in scenes.iter_mut().zip(&mut of_hooks) {
            let took = time(&mut scene.command()?)?;
            saved.restore()?;
            if round >= WARM_UP {
                times.push(took);
            }
        }
    }
    let (of_empty, of_true) = (Spread::of(&of_empty), Spread::of(&of_true));
    let row = |case: &str, spread: Spread, contract: Option<f64>| Row {
        case: case.to_owned(),
        spread,
        to_empty: spread.median_us / of_empty.median_us,
        to_true: spread.median_us / of_true.median_us,
        contract,
    };
    let mut rows = vec![row("(empty static program)", of_empty, None), row("(/bin/true)", of_true, None)];
    for ((scene, _), times) in scenes.iter().zip(&of_hooks) {
        rows.push(row(scene.case.name, Spread::of(times), scene.case.contract));
    }
    Ok(rows)
}

pub fn time(command: &mut Command) -> anyhow::Result<Duration> {
    let started = Instant::now();
    let status = command.status().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    let took = started.elapsed();
    ensure!(status.success(), "{:?} ended with {status}", command.get_program());
    Ok(took)
}
