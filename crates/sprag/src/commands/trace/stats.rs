//! `sprag trace stats`: counts changes by intent and kind.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use sprag_host::trace::records::{self, AttributedRecord, CurrentRecords};
use sprag_trace::{Finality, LineRange};

use crate::commands::{CommandCx, CommandResult, show};
use crate::output::{self, OutputFormat};

/// Count changes by intent and by kind
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    format: OutputFormat,
}

#[derive(Default)]
struct Row {
    records: usize,
    finals: usize,
    lines: u64,
    files: BTreeSet<String>,
    classes: BTreeMap<&'static str, usize>,
    /// Changes that were declared a refactoring without a proof.
    unfounded: usize,
}

impl Row {
    fn add(&mut self, found: &AttributedRecord, standing: &CurrentRecords) {
        let trace = &found.trace;
        self.records += 1;
        self.finals += usize::from(matches!(trace.stage, Finality::Final { .. }));
        for file in trace.files.iter().filter(|file| standing.holds(found, &file.path)) {
            let count = |range: &LineRange| u64::from(range.end.saturating_sub(range.start)) + 1;
            self.lines += file.ranges.iter().map(count).sum::<u64>();
            self.files.insert(file.path.clone());
        }
        *self.classes.entry(trace.verdict.class().name()).or_default() += 1;
        let declared = trace.declared.map(|class| class.name());
        self.unfounded +=
            usize::from(declared == Some("AST_REFACTOR") && trace.verdict.class().name() != "AST_REFACTOR");
    }
}

pub(crate) fn run(args: &Args, cx: &CommandCx) -> CommandResult {
    let all = records::all(&cx.world()?)?;
    let standing = CurrentRecords::from_records(&all);
    let mut intents: BTreeMap<String, Row> = BTreeMap::new();
    let mut total = Row::default();
    let (mut verdicts, mut people) = (BTreeMap::new(), BTreeMap::new());
    for found in all.iter().filter(|found| standing.is_any(found)) {
        let intent = found.trace.intent.as_ref().map_or("", |served| served.id.as_str());
        intents.entry(intent.to_owned()).or_default().add(found, &standing);
        total.add(found, &standing);
        *verdicts.entry(found.trace.verdict.name()).or_insert(0_usize) += 1;
        *people.entry(found.trace.contributor.kind.name()).or_insert(0_usize) += 1;
    }
    let row = |row: &Row| {
        json!({
            "records": row.records, "final": row.finals, "lines": row.lines, "files": row.files.len(),
            "classes": row.classes, "unfounded_declarations": row.unfounded,
        })
    };
    show(
        args.format,
        || {
            let intents: Vec<_> = intents
                .iter()
                .map(|(id, it)| {
                    let mut row = row(it);
                    row["intent"] = json!(Some(id).filter(|id| !id.is_empty()));
                    row
                })
                .collect();
            json!({
                "total": row(&total), "superseded": all.len() - total.records,
                "intents": intents, "verdicts": verdicts, "contributors": people,
            })
        },
        || {
            let rows: Vec<Vec<String>> = intents
                .iter()
                .map(|(id, row)| {
                    let class = |name: &str| row.classes.get(name).copied().unwrap_or(0).to_string();
                    vec![
                        if id.is_empty() { "-".to_owned() } else { id.clone() },
                        row.records.to_string(),
                        row.finals.to_string(),
                        row.files.len().to_string(),
                        row.lines.to_string(),
                        class("AST_REFACTOR"),
                        class("INTENT_EVOLUTION"),
                    ]
                })
                .collect();
            output::table(&["intent", "records", "final", "files", "lines", "refactor", "evolution"], &rows);
            output::line(format!(
                "{} records, {} final, {} superseded; declared a refactoring without a proof: {}",
                total.records,
                total.finals,
                all.len() - total.records,
                total.unfounded
            ));
        },
    )
}
