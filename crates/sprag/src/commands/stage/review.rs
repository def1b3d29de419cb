//! What a person is asked about a stage, and what they can say.

use sprag_core::plan::run::{Standing, open_tasks};
use sprag_core::plan::stage::{Case, Stage, StageId};
use sprag_core::text::shell_word;
use sprag_host::daemon::begin;

use super::super::{Cx, Ending, Outcome};
use crate::failure::Failure;
use crate::output;

pub fn run(cx: &Cx, stage: &str) -> Outcome {
    let folder = cx.places()?.store.join("run");
    let id = StageId::new(stage);
    let active = begin::active(&folder)?;
    let found = active.iter().find_map(|(plan, run)| Some((plan, run, run.standing(&id)?)));
    let Some((plan, run, standing)) = found else { return Err(Failure::no_run_of_stage(stage)) };
    output::line(format!(
        "stage `{stage}` of plan `{plan}` is {}, attempt {}",
        standing.stage.name(),
        standing.stage.attempt()
    ));
    told(standing).into_iter().for_each(output::line);
    let open: Vec<String> = open_tasks(run, &id).iter().map(|task| format!("`{task}`")).collect();
    if !open.is_empty() {
        output::line(format!("open tasks: {}", open.join(", ")));
    }
    let stage = shell_word(stage);
    next(&standing.stage)
        .iter()
        .for_each(|it| output::line(format!("  next: sprag stage {}", it.replace("STAGE", &stage))));
    Ok(Ending::Done)
}

/// What is known of it.
fn told(standing: &Standing) -> Vec<String> {
    let mut lines = Vec::new();
    let stage = match &standing.stage {
        Stage::Review { back, .. } => back,
        stage => stage,
    };
    match stage {
        Stage::Asking { question, .. } => lines.push(format!("it asks: {question}")),
        Stage::Failing { report, .. } => lines.push(format!("its checks say:\n{report}")),
        Stage::Conflicted { paths, .. } => {
            lines.extend(paths.iter().map(|path| format!("conflict in `{path}`")));
        }
        _ => {}
    }
    if let Some(dispute) = &standing.dispute {
        lines.push(format!("the check `{}` is said to be wrong: {}", dispute.check, dispute.why));
    }
    lines.extend(standing.why.as_ref().map(|why| format!("it was blocked: {why}")));
    lines.extend(standing.bypass.as_ref().map(|why| format!("its checks are passed by: {why}")));
    lines
}

/// What can be said of it.
fn next(stage: &Stage) -> &'static [&'static str] {
    match stage {
        Stage::Asking { .. } => &["resume STAGE --answer TEXT"],
        Stage::Review { case: Case::Merge, .. } => &["merge STAGE", "retry STAGE"],
        Stage::Review { case: Case::Disputed, .. } => &["review STAGE --accept", "review STAGE --reject"],
        Stage::Review { .. } => &["retry STAGE", "verify STAGE", "reset STAGE", "skip STAGE --why TEXT"],
        Stage::Blocked { .. } => &["retry STAGE", "reset STAGE", "skip STAGE --why TEXT"],
        Stage::Ready(turn) if turn.is_held => &["release STAGE"],
        _ => &[],
    }
}
