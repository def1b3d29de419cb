//! `sprag trace map`: from an intent to its files and what is in them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sprag_host::trace::reading::{self, Standing};

use crate::commands::{Cx, Outcome, show};
use crate::output;

/// Show which files and functions each intent has changed
#[derive(clap::Args)]
pub struct Args {
    /// Only this intent
    intent: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What was done for one intent.
#[derive(Default)]
struct Done {
    /// By file.
    symbols: BTreeMap<String, BTreeSet<String>>,
    fingerprints: BTreeSet<String>,
    records: usize,
}

pub fn run(args: &Args, cx: &Cx) -> Outcome {
    let all = reading::all(&cx.world()?)?;
    let standing = Standing::of(&all);
    let mut intents: BTreeMap<String, Done> = BTreeMap::new();
    for found in &all {
        let Some(served) = &found.trace.intent else { continue };
        if args.intent.as_ref().is_some_and(|id| id != served.id.as_str()) || !standing.is_any(found) {
            continue;
        }
        let done = intents.entry(served.id.to_string()).or_default();
        done.records += 1;
        done.fingerprints.insert(served.fingerprint.to_string());
        for file in found.trace.files.iter().filter(|file| standing.holds(found, &file.path)) {
            let symbols = done.symbols.entry(file.path.clone()).or_default();
            symbols.extend(file.units.iter().map(|unit| unit.unit.to_string()));
        }
    }
    show(
        args.json,
        || {
            let file =
                |(path, symbols): (&String, &BTreeSet<String>)| json!({"path": path, "symbols": symbols});
            let rows = intents.iter().map(|(id, done)| {
                let files: Vec<Value> = done.symbols.iter().map(file).collect();
                json!({"intent": id, "records": done.records, "fingerprints": done.fingerprints, "files": files})
            });
            json!({ "intents": rows.collect::<Vec<_>>() })
        },
        || {
            if intents.is_empty() {
                output::line("nothing was done for any intent\n  next: sprag intent list");
            }
            for (id, done) in &intents {
                output::heading(&format!("{id}  {} records", done.records));
                for (path, symbols) in &done.symbols {
                    output::line(format!("  {path}"));
                    for symbol in symbols {
                        output::line(format!("    {symbol}"));
                    }
                }
            }
        },
    )
}
