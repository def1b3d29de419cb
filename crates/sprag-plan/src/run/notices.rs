//! Notifications about a run as a whole, each sent once.

use sprag_base::text::Text;

use super::Run;
use crate::ids::EffectKey;
use crate::run::record::{self, BudgetOwner};

impl Run {
    /// Marks a notification as sent. Returns whether it was about the run and not about a stage.
    pub(super) fn notified(&mut self, key: &EffectKey) -> bool {
        if let Some(of) = self.limits.budgets.keys().find(|of| nearly_key(&self.id, of) == *key).cloned() {
            self.limits.budgets.insert(of, true);
            return true;
        }
        match &mut self.target.stuck {
            Some(stuck) if stuck.key(&self.id) == *key => {
                stuck.is_notified = true;
                true
            }
            Some(_) | None => false,
        }
    }
}

/// Returns the key of the notification about a budget.
pub fn nearly_key(run: &Text<64>, of: &BudgetOwner) -> EffectKey {
    let stage = match of {
        BudgetOwner::Run => "-",
        BudgetOwner::Stage(stage) => stage.as_str(),
    };
    record::key(run, stage, 0, "nearly")
}
