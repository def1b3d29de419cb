//! `sprag doctor`: does it work here, and what to do if not.

use serde_json::json;

use sprag_host::setup::doctor::{self, DoctorLevel};
use sprag_orchestrator::sandbox::doctor as sandbox_doctor;

use crate::commands::{CommandCx, CommandEnd, CommandResult, show};
use crate::output::{self, OutputFormat};

/// Check that Sprag works here; every finding names the next step
///
/// An event is sent through each installed hook; nothing of it reaches your records.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let places = cx.places()?;
    let bar = output::progress(6, "examining");
    let progress = |what: &str| {
        bar.inc(1);
        bar.set_message(format!("examining {what}"));
    };
    let sandbox = || sandbox_doctor::walls(&places, &cx.env);
    let findings = doctor::examine(&places, &cx.env, cx.now, progress, sandbox);
    bar.finish_and_clear();
    show(
        args.format,
        || {
            let findings: Vec<_> = findings
                .iter()
                .map(|found| json!({"about": found.about, "level": found.level.name(), "what": found.what, "next": found.next}))
                .collect();
            json!({ "findings": findings })
        },
        || {
            for found in &findings {
                output::line(format!("{:<8} {:<14} {}", found.level.name(), found.about, found.what));
                if let Some(next) = &found.next {
                    output::next(next);
                }
            }
        },
    )?;
    let is_bad = findings.iter().any(|found| found.level == DoctorLevel::Bad);
    Ok(if is_bad { CommandEnd::No } else { CommandEnd::Done })
}
