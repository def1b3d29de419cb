//! Keeping what an agent leaves behind: its files under a reference of ours, where it was for the next one, and what
//! it noted for everybody, once its work is merged.

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
        let why = format!("What stage `{}` left behind", stage.as_str());
        let kept = worktrees::salvage(&worktree, &reference, &why, env::now())?;
        let carry = match &self.stage {
            Some(StageState::HandingOff { work, .. }) => self.hand_over(stage, work, disk)?.to_string(),
            Some(StageState::Done { merged }) => {
                let (run, plan) = (self.ground.run.as_path(), self.ground.plan.as_str());
                let merged = Some(merged.commit());
                let of = distill::NoteOwner { run, plan, stage, merged, worktree: &worktree };
                // What could not be handed in now is, when somebody distills.
                if let Err(why) = distill::stage(&of, disk, env::now()) {
                    self.log(
                        &format!("the notes of stage `{}` were not handed in: {why}", stage.as_str()),
                        disk,
                    );
                }
                kept.map_or("nothing".to_owned(), |_| reference)
            }
            _ => kept.map_or("nothing".to_owned(), |_| reference),
        };
        Ok(EffectOutcome::Salvaged { carry: Text::new(carry) })
    }

    /// The number of what the agent has written down, with what it left out; of what we write down, if it has not.
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
