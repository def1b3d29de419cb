//! `sprag doctor`: checks that Sprag works here.

use serde_json::json;

use sprag_host::setup::doctor::{self, DoctorLevel};
use sprag_orchestrator::sandbox::doctor as sandbox_doctor;

use crate::commands::{CommandCx, CommandEnd, CommandResult, show};
use crate::output::{self, OutputFormat};

/// Check that Sprag works here
///
/// Sends a test event through each installed hook; your records stay unchanged. Every finding names the next
/// step.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag doctor\n  \
    sprag doctor --json")]
pub(crate) struct Args {
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let places = cx.places()?;
    let bar = output::progress(6, "checking");
    let progress = |what: &str| {
        bar.inc(1);
        bar.set_message(format!("checking {what}"));
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
