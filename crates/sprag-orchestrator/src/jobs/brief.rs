//! Writes the brief of an agent from the state of the run and from files.

use std::io;

use sprag_host::sys::disk::Disk;
use sprag_host::sys::env;
use sprag_plan::brief::{self, WrittenBrief};
use sprag_plan::ids::StageId;
use sprag_plan::run::effect::BriefKind;
use sprag_plan::stage::state::StageState;
use sprag_plan::stage::{ReadyStage, StartReason};

use super::Job;
use crate::sandbox::stage_rules;
use crate::stage_session::{handoffs, knowledge, notes};

impl Job {
    /// Returns the brief of a stage; `None` if the plan does not have the stage.
    pub(super) fn brief(
        &self,
        stage: &StageId,
        kind: BriefKind,
        disk: &dyn Disk,
    ) -> io::Result<Option<WrittenBrief>> {
        let (ground, Some(mut told)) = (&self.ground, self.told.clone()) else { return Ok(None) };
        let worktree = ground.worktree(stage);
        told.place.worktree = worktree.display().to_string();
        told.known = knowledge::collect(&worktree, &told.spec, disk, env::now());
        told.known.sandbox = vec![stage_rules::describe(&told.spec, &ground.root)];
        told.notes = notes::of_stage(&ground.run, &ground.plan, stage)?;
        let carried = match &self.stage {
            Some(StageState::Ready(ReadyStage { reason: StartReason::Handoff { carry }, .. })) => {
                carry.as_str().parse().ok()
            }
            _ => None,
        };
        // After a failure the last handoff helps the next agent.
        let named = carried
            .and_then(|number| handoffs::read(&handoffs::path(&ground.run, &ground.plan, stage, number)));
        told.handoff =
            named.or_else(|| handoffs::latest(&ground.run, &ground.plan, stage).map(|(_, last)| last));
        Ok(Some(brief::brief(kind, &told)))
    }
}
