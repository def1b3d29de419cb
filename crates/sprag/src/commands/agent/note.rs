//! `sprag note`: notes a fact for the next agents of a stage. Decisions and questions use the same code.

use std::path::PathBuf;

use sprag_host::sys::disk::RealDisk;
use sprag_orchestrator::run_log::active;
use sprag_orchestrator::stage_session::notes;
use sprag_plan::ids::StageId;
use sprag_plan::notes::NoteBody;
use sprag_plan::run::Run;

use crate::commands::{CommandCx, CommandResult, show, words};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Note a fact for the next agents of a stage
///
/// Later agents of the stage see the note. When the stage is merged, the note goes to the memory.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag note 'The tests need a running database'\n  \
    sprag note 'src/lexer.rs is generated, edit lexer.in' --stage parser")]
pub(crate) struct Args {
    /// Fact, at most 1000 characters
    text: String,
    #[command(flatten)]
    about: StageArg,
}

/// The stage of a note.
#[derive(clap::Args)]
pub(crate) struct StageArg {
    /// Stage id (default: the stage of this agent)
    #[arg(long)]
    stage: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let text = words("the note", &args.text, "note")?;
    write(cx, &args.about, "note TEXT --stage STAGE", NoteBody::Note { text })
}

/// Writes a note; it is on the disk when this function returns.
pub(crate) fn write(cx: &CommandCx, about: &StageArg, command: &str, said: NoteBody) -> CommandResult {
    let (run, active, stage) = stage_of(cx, about.stage.as_deref(), command)?;
    let plan = active.plan().head.name.to_string();
    let note = notes::note(&stage, cx.env.text(sprag_orchestrator::layout::SESSION_VARIABLE), said, cx.now);
    match notes::append(&run, &plan, &RealDisk, &note)? {
        notes::NoteOutcome::Full => Err(Failure::too_many_notes(stage.as_str())),
        notes::NoteOutcome::Written => show(
            about.format,
            || serde_json::json!({"plan": plan, "stage": stage, "id": note.id, "kind": note.said.name()}),
            || output::line(format!("noted for stage `{}`", stage.as_str())),
        ),
    }
}

/// Returns the directory of runs, the run, and the stage: the named one, else the stage of this agent.
pub(crate) fn stage_of(
    cx: &CommandCx,
    named: Option<&str>,
    command: &str,
) -> Result<(PathBuf, Run, StageId), Failure> {
    let own = cx.env.text("SPRAG_STAGE");
    let id = match (&own, named) {
        (Some(own), Some(named)) if own != named => return Err(Failure::another_stage(own, named)),
        (_, Some(named)) => named.to_owned(),
        (Some(own), None) => own.clone(),
        (None, None) => return Err(Failure::not_in_a_stage(command)),
    };
    let run = cx.places()?.store.join("run");
    let stage = StageId::new(&id);
    match active::of_stage(&run, &stage)? {
        Some(active) => Ok((run, active, stage)),
        None => Err(Failure::stage_not_run(&id, &known(&active::runs(&run)?))),
    }
}

/// Returns the ids of all stages of these runs.
pub(crate) fn known(runs: &[Run]) -> Vec<String> {
    runs.iter().flat_map(Run::entries).map(|(id, _)| id.as_str().to_owned()).collect()
}
