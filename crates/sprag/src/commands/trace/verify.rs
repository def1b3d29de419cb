//! `sprag trace verify`: checks the chains of records and replays proofs.

use serde_json::{Value, json};

use sprag_host::trace::verify::{self, ChainProblem};

use crate::commands::{CommandCx, CommandEnd, CommandResult, show};
use crate::output::{self, OutputFormat};

/// Check that records are unchanged and that proofs hold
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: &Args, cx: &CommandCx) -> CommandResult {
    let bar = output::progress(0, "records");
    let report = verify::verify(&cx.world()?, || bar.inc(1))?;
    bar.finish_and_clear();
    let problem = |it: &ChainProblem| json!({"id": it.id, "place": it.place, "why": it.why});
    show(
        args.format,
        || {
            let problems: Vec<Value> = report.problems.iter().map(problem).collect();
            json!({
                "ok": problems.is_empty(), "first_bad": report.problems.first().map(|it| &it.id),
                "records": report.records, "shared": report.shared, "versions": report.versions,
                "proofs": report.proofs, "unchecked_proofs": report.unchecked, "problems": problems,
            })
        },
        || {
            for it in &report.problems {
                output::line(format!("bad: `{}` in {}: {}", it.id, it.place, it.why));
            }
            output::line(format!(
                "{} records, {} shared, {} committed versions, {} proofs replayed, {} without sources",
                report.records, report.shared, report.versions, report.proofs, report.unchecked
            ));
            match report.problems.first() {
                None => output::line("all records are unchanged"),
                Some(first) => output::next(format!("sprag trace show {}", first.id)),
            }
        },
    )?;
    Ok(if report.problems.is_empty() { CommandEnd::Done } else { CommandEnd::No })
}
