//! `sprag stage review`: shows what a stage needs from a person, and the commands to answer.

use std::path::Path;

use sprag_base::text::{one_line, shell_word};
use sprag_orchestrator::daemon::start_run;
use sprag_orchestrator::layout::worktree_of;
use sprag_orchestrator::lock;
use sprag_orchestrator::observe::session_exits;
use sprag_orchestrator::run_log::active;
use sprag_orchestrator::session_dir::{SessionProbe, site_of};
use sprag_plan::agent::exit;
use sprag_plan::ids::StageId;
use sprag_plan::run::StageEntry;
use sprag_plan::stage::command::StageCommandKind;
use sprag_plan::stage::state::StageState;
use sprag_plan::view::review_request::{WhereToLook, asked};

use crate::commands::agent::note::known;
use crate::commands::{CommandCx, CommandEnd, CommandResult};
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(cx: &CommandCx, stage: &str) -> CommandResult {
    let places = cx.places()?;
    let folder = places.store.join("run");
    let root = places.worktree.clone().unwrap_or_default();
    let id = StageId::new(stage);
    let mut active = start_run::active(&folder)?;
    // Without a daemon, no record says which agents ended since.
    if lock::ruler(&folder)?.is_none() {
        for (_, run) in &mut active {
            *run = session_exits::settled(run.clone(), &root, &folder)?;
        }
    }
    // A stage of a run that is over can be reviewed, too.
    if active.iter().all(|(_, run)| run.entry(&id).is_none()) {
        let over = active::of_stage(&folder, &id)?;
        active.extend(over.map(|run| (run.plan().head.name.to_string(), run)));
    }
    let found = active.iter().find_map(|(plan, run)| Some((plan, run.entry(&id)?, asked(run, &id)?)));
    let Some((plan, entry, asked)) = found else {
        return Err(Failure::stage_not_run(stage, &known(&active::runs(&folder)?)));
    };
    let attempt = match entry.state.attempt() {
        0 => String::new(),
        attempt => format!(", attempt {attempt}"),
    };
    output::line(format!("stage `{stage}` of plan `{plan}` is {}{attempt}", entry.state.name()));
    asked.what.iter().for_each(output::line);
    if let StageState::Blocked { .. } | StageState::Review { .. } = &entry.state {
        last_agent(&folder, entry).into_iter().for_each(output::line);
    }
    let look = asked.look.iter().map(|look| seen_by(*look, plan, &root, &id));
    let words = asked.words.iter().map(|word| said_by(*word, &shell_word(stage)));
    look.chain(words).for_each(output::next);
    Ok(CommandEnd::Done)
}

/// Describes how the last agent ended, as its supervisor recorded it.
fn last_agent(folder: &Path, entry: &StageEntry) -> Option<String> {
    let session = entry.session.as_ref()?;
    let Ok(SessionProbe::Ended(exit)) = site_of(folder, session).probe() else { return None };
    let how = match exit.ended {
        exit::ExitStatus::Code(code) => format!("ended with exit code {code}"),
        exit::ExitStatus::Signal(signal) => format!("was ended by signal {signal}"),
        exit::ExitStatus::Refused { why } | exit::ExitStatus::Unconfined { why } => {
            format!("was not started: {}", one_line(why.as_str()))
        }
    };
    Some(format!("the last agent {how}"))
}

fn seen_by(look: WhereToLook, plan: &str, root: &Path, id: &StageId) -> String {
    let stage = shell_word(id.as_str());
    match look {
        WhereToLook::Logs => format!("sprag run logs {stage} --plan {plan}"),
        WhereToLook::Worktree => {
            format!("git -C {} status", shell_word(&worktree_of(root, id).display().to_string()))
        }
        WhereToLook::Work => format!("git diff refs/sprag/{plan}/trunk...{}", id.branch()),
        WhereToLook::Machine => "sprag doctor".to_owned(),
    }
}

/// Returns the command line of a stage command.
fn said_by(word: StageCommandKind, stage: &str) -> String {
    match word {
        StageCommandKind::Complete => format!("sprag stage complete --stage {stage}"),
        StageCommandKind::Block => format!("sprag stage block --stage {stage} --why TEXT"),
        StageCommandKind::Ask => format!("sprag stage ask TEXT --stage {stage}"),
        StageCommandKind::Task => format!("sprag stage task ID --stage {stage}"),
        StageCommandKind::Output => format!("sprag stage output NAME VALUE --stage {stage}"),
        StageCommandKind::Dispute => format!("sprag stage dispute CHECK --stage {stage} --why TEXT"),
        StageCommandKind::Hold => format!("sprag stage hold {stage}"),
        StageCommandKind::Release => format!("sprag stage release {stage}"),
        StageCommandKind::Skip => format!("sprag stage skip {stage} --why TEXT"),
        StageCommandKind::Retry => format!("sprag stage retry {stage}"),
        StageCommandKind::Reset => format!("sprag stage reset {stage}"),
        StageCommandKind::Resume => format!("sprag stage resume {stage} --answer TEXT"),
        StageCommandKind::Merge => format!("sprag stage merge {stage}"),
        StageCommandKind::Verify => format!("sprag stage verify {stage}"),
        StageCommandKind::Accept => format!("sprag stage review {stage} --accept"),
        StageCommandKind::Reject => format!("sprag stage review {stage} --reject"),
        StageCommandKind::Bypass => format!("sprag stage verify {stage} --bypass --why TEXT"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice;

    #[test]
    fn every_word_has_a_command_that_is_understood() {
        for word in StageCommandKind::ALL.iter() {
            advice::check(&said_by(*word, "a-1"));
        }
        for look in [WhereToLook::Logs, WhereToLook::Worktree, WhereToLook::Work, WhereToLook::Machine] {
            advice::check(&seen_by(look, "p", Path::new("/a b"), &StageId::new("a-1")));
        }
    }
}
