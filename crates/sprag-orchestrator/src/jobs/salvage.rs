//! Saves what an agent leaves: files under a salvage reference, a handoff for the next agent, and the notes
//! once the work is merged.

use sprag_base::text::Text;
use sprag_host::git::worktrees;
use sprag_host::store::Store;
use sprag_host::sys::disk::Disk;
use sprag_host::sys::env;
use sprag_plan::ids::StageId;
use sprag_plan::run::effect::EffectOutcome;
use sprag_plan::stage::StageWork;
use sprag_plan::stage::state::StageState;

use super::{Job, JobError};
use crate::stage_session::{distill, handoffs, notes};

impl Job {
    pub(super) fn salvage(&self, stage: &StageId, disk: &dyn Disk) -> Result<EffectOutcome, JobError> {
        let attempt = self.stage.as_ref().map_or(0, StageState::attempt);
        let reference = self.ground.salvage(stage, attempt);
        let worktree = self.ground.worktree(stage);
        let why = format!("Salvage of stage `{}`", stage.as_str());
        let kept = worktrees::salvage(&worktree, &reference, &why, env::now())?;
        let carry = match &self.stage {
            Some(StageState::HandingOff { work, .. }) => self.hand_over(stage, work, disk)?.to_string(),
            Some(StageState::Done { merged }) => {
                let (run, plan) = (self.ground.run.as_path(), self.ground.plan.as_str());
                let merged = Some(merged.commit());
                let of = distill::NoteOwner { run, plan, stage, merged, worktree: &worktree };
                // Notes that fail here are collected by a later `sprag memory distill`.
                if let Err(why) = distill::stage(&of, disk, env::now()) {
                    self.log(&format!("cannot collect the notes of stage `{}`: {why}", stage.as_str()), disk);
                }
                kept.map_or("nothing".to_owned(), |_| reference)
            }
            _ => kept.map_or("nothing".to_owned(), |_| reference),
        };
        Ok(EffectOutcome::Salvaged { carry: Text::new(carry) })
    }

    /// Returns the number of the handoff: the agent's own with gaps filled, or one that Sprag writes.
    fn hand_over(&self, stage: &StageId, work: &StageWork, disk: &dyn Disk) -> Result<u32, JobError> {
        let (run, plan) = (self.ground.run.as_path(), self.ground.plan.as_str());
        let site = self.ground.site(&work.session);
        let session = site.id();
        let own = handoffs::of_session(run, plan, stage, &session);
        let Some(told) = &self.told else { return Ok(own.map_or(0, |(number, _)| number)) };
        let store = Store::at(run.parent().unwrap_or(run));
        let notes = notes::of_stage(run, plan, stage)?;
        let worktree = self.ground.worktree(stage);
        let of = handoffs::HandoffSubject {
            told,
            notes: &notes,
            worktree: &worktree,
            session: &session,
            site: &site,
            store: &store,
        };
        let sketch = handoffs::sketch(&of);
        match own {
            Some((number, own)) => {
                handoffs::rewrite(run, plan, stage, disk, (number, &own.filled(sketch)))?;
                Ok(number)
            }
            None => Ok(handoffs::write(run, plan, stage, disk, &sketch)?),
        }
    }
}
