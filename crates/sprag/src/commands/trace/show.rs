//! `sprag trace show`: prints one record in full.

use serde_json::json;

use sprag_base::text::shell_word;
use sprag_host::memory::PREFIX;
use sprag_host::trace::records::{self, AttributedRecord, CurrentRecords};
use sprag_trace::{LineRange, RecordedClassification};

use super::selection;
use crate::commands::{CommandCx, CommandResult, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Show one record in full
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Record id, or at least its first six characters
    id: String,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: &Args, cx: &CommandCx) -> CommandResult {
    let all = records::all(&cx.world()?)?;
    let named = |found: &&AttributedRecord| found.record.id.starts_with(&args.id) && args.id.len() >= PREFIX;
    let found: Vec<&AttributedRecord> = all.iter().filter(named).collect();
    let [one] = found[..] else {
        return Err(match found.len() {
            0 => Failure::no_trace(&args.id),
            count => Failure::ambiguous_trace(&args.id, count),
        });
    };
    let current = CurrentRecords::from_records(&all);
    show(
        args.format,
        || json!({"record": selection::rendered(one), "summary": selection::row(one), "superseded": !current.is_any(one)}),
        || tell(one, &current),
    )
}

fn tell(found: &AttributedRecord, current: &CurrentRecords) {
    let AttributedRecord { record, trace, .. } = found;
    output::heading(&record.id);
    output::line(format!("at        {}", record.at));
    if let Some(served) = &trace.intent {
        output::line(format!("intent    {} ({})", served.id, served.fingerprint));
    }
    if let Some(session) = trace.session(record) {
        output::line(format!("session   {}", session.as_str()));
    }
    let model = trace.contributor.model.as_ref().map(|model| format!(" {model}")).unwrap_or_default();
    output::line(format!("by        {}{model}", trace.contributor.kind.name()));
    output::line(format!("seen by   {}", selection::source(&trace.source)));
    output::line(format!("commit    {}", trace.stage.revision().unwrap_or("none yet")));
    let declared = trace.declared.map(|class| format!(", declared {}", class.name())).unwrap_or_default();
    output::line(format!("class     {} ({}){declared}", trace.verdict.class().name(), trace.verdict.name()));
    match &trace.verdict {
        RecordedClassification::Proved { level, .. } => output::line(format!("proof     {level}")),
        RecordedClassification::Unproven { reason } => output::line(format!("why       {reason}")),
        RecordedClassification::Changed { witness } => {
            output::line(format!("witness   {}", witness.path));
            for (sign, spot) in [("-", &witness.before), ("+", &witness.after)] {
                if let Some(spot) = spot {
                    output::line(format!("  {sign} {}: {}", spot.line, spot.text));
                }
            }
        }
    }
    for file in &trace.files {
        output::line(format!("file      {}", file.path));
        let lines = |ranges: &[LineRange]| {
            let told: Vec<String> =
                ranges.iter().map(|range| format!("{}-{}", range.start, range.end)).collect();
            told.join(" ")
        };
        if !file.ranges.is_empty() {
            output::line(format!("  lines   {}", lines(&file.ranges)));
        }
        if !file.deleted.is_empty() {
            output::line(format!("  deleted {}", lines(&file.deleted)));
        }
        for unit in &file.units {
            output::line(format!("  in      {} {}", unit.unit, unit.hash));
        }
    }
    if !current.is_any(found) {
        output::line("a later record replaced this one");
    }
    let path = trace.files.first().map(|file| shell_word(&file.path)).unwrap_or_default();
    output::next(format!("sprag trace log --all --path {path}"));
}
