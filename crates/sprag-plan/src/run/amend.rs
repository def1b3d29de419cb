//! Changes the plan of an active run: decides which changes are allowed.

use sprag_base::text::Text;

use super::Run;
use super::record::RunRecord;
use crate::ids::StageId;
use crate::spec::Plan;
use crate::spec::values::BranchName;

/// Reason why a plan cannot replace the plan of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAmended {
    OtherName,
    /// The plan has another target.
    OtherTarget,
    /// A begun stage is missing.
    Begun {
        stage: StageId,
    },
    /// The plan is unchanged.
    Same,
}

/// Returns the record of the change.
pub fn amend(run: &Run, plan: Plan, by: Text<64>) -> Result<RunRecord, NotAmended> {
    if plan.head.name != run.plan().head.name {
        return Err(NotAmended::OtherName);
    }
    let target = run.plan().head.target.as_ref().map(BranchName::as_str).unwrap_or_default();
    if plan.head.target.as_ref().is_some_and(|branch| branch.as_str() != target) {
        return Err(NotAmended::OtherTarget);
    }
    let plan = plan.with_target(target).ok_or(NotAmended::OtherTarget)?;
    // Stages that Sprag added are in no plan file.
    let is_missing = |id: &StageId| plan.find(id.as_str()).is_none() && run.owed(id).is_none();
    let begun = run.entries().find(|(id, entry)| is_missing(id) && entry.is_begun());
    if let Some((stage, _)) = begun {
        return Err(NotAmended::Begun { stage: stage.clone() });
    }
    let digest = plan.digest();
    if digest == *run.digest() {
        return Err(NotAmended::Same);
    }
    Ok(RunRecord::Amended { plan: Box::new(plan), digest, by })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{begin, plan, started};

    fn read(mut value: Value, change: impl FnOnce(&mut Value)) -> Plan {
        change(&mut value);
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn what_was_begun_stays_and_the_rest_may_change() {
        let mut first = plan(&[("a", "", "x"), ("b", "a", "y")]);
        first["target"] = json!("main");
        let mut run = started(first.clone());
        begin(&mut run, "a");
        let by = || Text::new("ada");
        let of = |value: Value, change: fn(&mut Value)| amend(&run, read(value, change), by());
        assert_eq!(of(first.clone(), |_| ()), Err(NotAmended::Same));
        assert_eq!(of(first.clone(), |plan| plan["name"] = json!("other")), Err(NotAmended::OtherName));
        assert_eq!(of(first.clone(), |plan| plan["target"] = json!("other")), Err(NotAmended::OtherTarget));
        let without_a = plan(&[("b", "", "y")]);
        assert_eq!(of(without_a, |_| ()), Err(NotAmended::Begun { stage: StageId::new("a") }));
        let without_b = of(plan(&[("a", "", "x"), ("c", "", "z")]), |_| ()).unwrap();
        run.apply(&without_b);
        let ids: Vec<&str> = run.entries().map(|(id, _)| id.as_str()).collect();
        assert_eq!(ids, ["a", "c"]);
        assert_eq!(run.plan().head.target.as_ref().map(BranchName::as_str), Some("main"));
    }
}
