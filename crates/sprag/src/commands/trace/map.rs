//! `sprag trace map`: lists the files and symbols that changed for each intent.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use sprag_base::text::Text;
use sprag_host::intent_files;
use sprag_host::trace::records::{self, CurrentRecords};
use sprag_host::world::World;
use sprag_intent::{IntentFiles, IntentHistories, IntentSet, LinkState, ServedLink, link_state, links};

use crate::commands::{CommandCx, CommandResult, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Show the changed files of each intent, and whether they still count
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Intent id (default: all intents)
    intent: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
}

/// The work for one intent.
#[derive(Default)]
struct IntentWork {
    files: BTreeMap<String, MappedPart>,
    records: usize,
}

struct MappedPart {
    symbols: BTreeSet<String>,
    /// The worst state of its records.
    state: LinkState,
}

struct Row {
    intent: Text<64>,
    state: LinkState,
    done: IntentWork,
}

pub(crate) fn run(args: &Args, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    let is_meant = |row: &Row| args.intent.as_ref().is_none_or(|id| id == row.intent.as_str());
    let rows: Vec<Row> = rows(&world)?.into_iter().filter(is_meant).collect();
    show(
        args.format,
        || {
            let file = |(path, part): (&String, &MappedPart)| json!({"path": path, "symbols": part.symbols, "state": part.state});
            let row = |row: &Row| {
                let files: Vec<Value> = row.done.files.iter().map(file).collect();
                json!({"intent": row.intent, "state": row.state, "records": row.done.records, "files": files})
            };
            json!({ "intents": rows.iter().map(row).collect::<Vec<_>>() })
        },
        || tell(&rows),
    )
}

fn rows(world: &World<'_>) -> Result<Vec<Row>, Failure> {
    let loaded = world.places.worktree.as_ref().and_then(|worktree| intent_files::load(worktree));
    let set = match loaded.map(|loaded| loaded.read) {
        None => IntentSet::default(),
        Some(IntentFiles::Good(set)) => set,
        Some(IntentFiles::Bad(bad)) => return Err(Failure::bad_intents(&bad)),
    };
    let standings: IntentHistories = sprag_host::intents::standings(world)?;
    let all = records::all(world)?;
    let standing = CurrentRecords::from_records(&all);
    let mut done: BTreeMap<Text<64>, IntentWork> = BTreeMap::new();
    let mut linked = Vec::new();
    for found in all.iter().filter(|found| standing.is_any(found)) {
        let Some(served) = &found.trace.intent else { continue };
        let link =
            ServedLink { intent: served.id.clone(), fingerprint: Text::from(served.fingerprint.as_str()) };
        let state = link_state(&set, &standings, &link);
        let entry = done.entry(served.id.clone()).or_default();
        entry.records += 1;
        for file in found.trace.files.iter().filter(|file| standing.holds(found, &file.path)) {
            let part = entry
                .files
                .entry(file.path.clone())
                .or_insert_with(|| MappedPart { symbols: BTreeSet::new(), state });
            part.state = part.state.max(state);
            part.symbols.extend(file.units.iter().map(|unit| unit.unit.to_string()));
        }
        linked.push(link);
    }
    let rows = links(&set, &standings, &linked).into_iter().map(|linked| Row {
        done: done.remove(&linked.intent).unwrap_or_default(),
        intent: linked.intent,
        state: linked.state,
    });
    Ok(rows.collect())
}

fn tell(rows: &[Row]) {
    if rows.is_empty() {
        output::line("no intents and no records of intents\n  next: sprag intent list");
    }
    for row in rows {
        output::heading(&format!("{}  {}  {} records", row.intent, row.state.name(), row.done.records));
        for (path, part) in &row.done.files {
            output::line(format!("  {path}  {}", part.state.name()));
            for symbol in &part.symbols {
                output::line(format!("    {symbol}"));
            }
        }
    }
}
