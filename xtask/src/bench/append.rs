//! The cost of syncing a binding record to disk before the client gets the reply. A held stop, which syncs,
//! is compared with the same stop that passes. A bare append on the same disk shows the share of the disk.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::latency;
use super::saved::Saved;
use super::scene::Scene;
use super::stats::Spread;

/// The limit on rounds: these stops start git and wait for the disk, so few rounds are enough.
const MOST_ROUNDS: usize = 100;
/// A line about as long as a record.
const LINE: [u8; 400] = [b'x'; 400];

#[derive(Serialize)]
pub struct Row {
    pub case: String,
    #[serde(flatten)]
    pub spread: Spread,
}

pub fn measure(folder: &Path, stops: &mut [(Scene, Saved)], rounds: usize) -> anyhow::Result<Vec<Row>> {
    let rounds = rounds.min(MOST_ROUNDS);
    let mut file = File::options().create(true).append(true).open(folder.join("appended"))?;
    let (mut plain, mut synced) = (Vec::new(), Vec::new());
    let mut of_stops: Vec<Vec<Duration>> = stops.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        let started = Instant::now();
        file.write_all(&LINE)?;
        plain.push(started.elapsed());

        let started = Instant::now();
        file.write_all(&LINE)?;
        file.sync_data()?;
        synced.push(started.elapsed());

        for ((scene, saved), times) in stops.iter_mut().zip(&mut of_stops) {
            times.push(latency::time(&mut scene.command()?)?);
            saved.restore()?;
        }
    }
    let mut rows = vec![
        Row { case: "(append)".to_owned(), spread: Spread::of(&plain) },
        Row { case: "(append and sync)".to_owned(), spread: Spread::of(&synced) },
    ];
    for ((scene, _), times) in stops.iter().zip(&of_stops) {
        rows.push(Row { case: scene.case.name.to_owned(), spread: Spread::of(times) });
    }
    Ok(rows)
}
