//! Random reviewers: some work is reviewed, and the result is a decision or none.

use sprag_base::text::Text;
use sprag_plan::ids::CommitId;
use sprag_plan::run::effect::EffectOutcome;
use sprag_plan::spec::client::ClientName;

use super::chance::Chance;

/// Returns the result of checking good work.
pub(crate) fn claimed(chance: &mut Chance, head: &CommitId) -> EffectOutcome {
    let (head, tree) = (head.clone(), head.clone());
    if chance.once_in(3) {
        EffectOutcome::Reviewable { head, tree, by: ClientName::Claude }
    } else {
        EffectOutcome::Green { head, tree }
    }
}

pub(crate) fn reviewed(chance: &mut Chance, head: &CommitId, tree: &CommitId) -> EffectOutcome {
    let (head, tree) = (head.clone(), tree.clone());
    if chance.once_in(8) {
        return EffectOutcome::Red { report: Text::new("issues") };
    }
    if chance.once_in(20) {
        EffectOutcome::Unreviewed { head, tree, why: Text::new("no verdict") }
    } else {
        EffectOutcome::Green { head, tree }
    }
}
