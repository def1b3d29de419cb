//! Decides whether the work of a stage is acceptable: first its shape in git, then its checks and its risk.
//! A job finds the facts in the order in which this module asks for them, and no others.

use sprag_base::text::Text;
use sprag_check::Risk;

use super::reviewer::{self, StageReviewer};
use super::{FailedCheck, report};
use crate::ids::CommitId;
use crate::spec::{EmptyWork, StageSpec};

/// Work that its agent says is done.
pub struct WorkClaim<'a> {
    pub spec: &'a StageSpec,
    pub head: &'a str,
    /// The commit that its worktree was made from; empty if it is not known.
    pub base: &'a str,
    /// Commits that have to be merged into the branch.
    pub required: Vec<RequiredCommit>,
}

/// A commit that the work has to contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequiredCommit {
    /// The commit that it conflicted with.
    Conflict(CommitId),
    /// A commit of another author on the target.
    Target(CommitId),
}

impl RequiredCommit {
    pub fn commit(&self) -> &CommitId {
        let (RequiredCommit::Conflict(commit) | RequiredCommit::Target(commit)) = self;
        commit
    }
}

/// Facts of git about the work.
pub trait WorkFacts {
    type Error;

    fn is_clean(&self) -> Result<bool, Self::Error>;
    /// Returns the merge bases of the trunk and the work.
    fn merge_bases(&self) -> Result<Vec<String>, Self::Error>;
    fn contains(&self, commit: &str) -> Result<bool, Self::Error>;
    /// Returns the files that the work changed since its merge base with the trunk.
    fn changed(&self, parted: &str) -> Result<ChangedFiles, Self::Error>;
}

#[derive(Clone, Debug, Default)]
pub struct ChangedFiles {
    pub paths: Vec<String>,
    /// Description of the changed protected files, for the agent that has to fix it.
    pub damage: Option<String>,
}

/// Why the shape of the work is not acceptable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkRefusal {
    /// Some changes are not committed.
    Unclean,
    /// Nothing was committed.
    Empty,
    LeftBase {
        base: String,
    },
    Unmerged(RequiredCommit),
    NoCommonHistory,
    SeveralMergeBases,
    Damaged(String),
    CopiedFile(String),
    OutOfScope {
        count: usize,
        first: String,
    },
}

/// Judges the shape of work. Checks run only if this accepts.
pub fn accept_shape<F: WorkFacts>(
    claim: &WorkClaim<'_>,
    facts: &F,
) -> Result<Result<(), WorkRefusal>, F::Error> {
    let spec = claim.spec;
    if !facts.is_clean()? {
        return Ok(Err(WorkRefusal::Unclean));
    }
    if claim.head == claim.base && spec.empty == EmptyWork::Refused {
        return Ok(Err(WorkRefusal::Empty));
    }
    let bases = facts.merge_bases()?;
    // A merge base is in the history of the work, and usually it is the commit that the worktree was made from.
    let is_base = bases.iter().any(|commit| commit == claim.base);
    if !claim.base.is_empty() && !is_base && !facts.contains(claim.base)? {
        return Ok(Err(WorkRefusal::LeftBase { base: claim.base.to_owned() }));
    }
    for required in &claim.required {
        if !facts.contains(required.commit().0.as_str())? {
            return Ok(Err(WorkRefusal::Unmerged(required.clone())));
        }
    }
    // Changes from a merge of the trunk do not belong to the stage.
    let changed = match bases.as_slice() {
        [parted] => facts.changed(parted)?,
        [] => return Ok(Err(WorkRefusal::NoCommonHistory)),
        _ => return Ok(Err(WorkRefusal::SeveralMergeBases)),
    };
    if let Some(damage) = changed.damage {
        return Ok(Err(WorkRefusal::Damaged(damage)));
    }
    let is_changed = |copied: &str| changed.paths.iter().any(|path| path == copied);
    if let Some(copied) = spec.copy.iter().find(|copied| is_changed(copied.as_str())) {
        return Ok(Err(WorkRefusal::CopiedFile(copied.as_str().to_owned())));
    }
    Ok(match outside(spec, &changed.paths) {
        Some((count, first)) => Err(WorkRefusal::OutOfScope { count, first }),
        None => Ok(()),
    })
}

/// Returns the number of paths outside of the scope and the first of them.
pub(super) fn outside(spec: &StageSpec, paths: &[String]) -> Option<(usize, String)> {
    let mut outside = paths.iter().filter(|path| !spec.scope.holds(path));
    let first = outside.next()?;
    Some((outside.count() + 1, first.clone()))
}

/// The result of the checks of work whose shape is acceptable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acceptance {
    Accepted,
    NeedsReview { by: StageReviewer },
    Refused { report: Text<4000> },
}

/// Judges the results of the checks. The change is measured only where its risk may ask for a review.
pub fn accept_checks<E>(
    spec: &StageSpec,
    failed: &[FailedCheck],
    measure: impl FnOnce() -> Result<Risk, E>,
) -> Result<Acceptance, E> {
    if !failed.is_empty() {
        return Ok(Acceptance::Refused { report: report(failed) });
    }
    let reviewer = match reviewer::reviewer(spec) {
        None => None,
        Some(_) => reviewer::wanted(spec, &measure()?),
    };
    Ok(reviewer.map_or(Acceptance::Accepted, |by| Acceptance::NeedsReview { by }))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::convert::Infallible;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::accept::CheckKind;
    use crate::spec::Plan;
    use crate::testing::plan;

    fn spec() -> StageSpec {
        let mut plan = plan(&[("a", "", "src/**")]);
        plan["stages"][0]["copy"] = json!(["src/env"]);
        let plan: Plan = serde_json::from_value(plan).unwrap();
        plan.stages()[0].clone()
    }

    #[derive(Clone, Debug)]
    struct Facts {
        is_clean: bool,
        bases: Vec<String>,
        contained: Vec<String>,
        changed: ChangedFiles,
        asked: RefCell<Vec<&'static str>>,
    }

    impl WorkFacts for Facts {
        type Error = Infallible;

        fn is_clean(&self) -> Result<bool, Infallible> {
            self.asked.borrow_mut().push("clean");
            Ok(self.is_clean)
        }

        fn merge_bases(&self) -> Result<Vec<String>, Infallible> {
            self.asked.borrow_mut().push("bases");
            Ok(self.bases.clone())
        }

        fn contains(&self, commit: &str) -> Result<bool, Infallible> {
            Ok(self.contained.iter().any(|known| known == commit))
        }

        fn changed(&self, _: &str) -> Result<ChangedFiles, Infallible> {
            self.asked.borrow_mut().push("changed");
            Ok(self.changed.clone())
        }
    }

    fn facts() -> impl Strategy<Value = Facts> {
        let commits = || proptest::sample::subsequence(vec!["b", "c", "t", "x"], 0..4);
        let paths = proptest::sample::subsequence(vec!["src/a", "src/env", "docs/b", "src/c"], 0..4);
        let damage = proptest::option::weighted(0.2, Just("damage".to_owned()));
        (proptest::bool::weighted(0.8), commits(), commits(), paths, damage).prop_map(
            |(is_clean, bases, contained, paths, damage)| Facts {
                is_clean,
                bases: bases.into_iter().map(str::to_owned).collect(),
                contained: contained.into_iter().map(str::to_owned).collect(),
                changed: ChangedFiles { paths: paths.into_iter().map(str::to_owned).collect(), damage },
                asked: RefCell::default(),
            },
        )
    }

    fn commit(name: &str) -> CommitId {
        CommitId(Text::new(name))
    }

    proptest! {
        #[test]
        fn work_is_accepted_if_every_rule_holds_and_refused_by_one_that_does_not(
            facts in facts(),
            head in proptest::sample::select(vec!["b", "h"]),
        ) {
            let spec = spec();
            let required =
                vec![RequiredCommit::Conflict(commit("c")), RequiredCommit::Target(commit("t"))];
            let claim = WorkClaim { spec: &spec, head, base: "b", required };
            let Ok(decided) = accept_shape(&claim, &facts);
            let has = |name: &str| facts.contained.iter().any(|known| known == name);
            let is_changed = |path: &str| facts.changed.paths.iter().any(|known| known == path);
            let holds = |refusal: &WorkRefusal| match refusal {
                WorkRefusal::Unclean => facts.is_clean,
                WorkRefusal::Empty => head != "b",
                WorkRefusal::LeftBase { .. } => has("b") || facts.bases.iter().any(|base| base == "b"),
                WorkRefusal::Unmerged(required) => has(required.commit().0.as_str()),
                WorkRefusal::NoCommonHistory => !facts.bases.is_empty(),
                WorkRefusal::SeveralMergeBases => facts.bases.len() < 2,
                WorkRefusal::Damaged(_) => facts.changed.damage.is_none(),
                WorkRefusal::CopiedFile(path) => !is_changed(path),
                WorkRefusal::OutOfScope { .. } => !is_changed("docs/b"),
            };
            let rules = [
                WorkRefusal::Unclean,
                WorkRefusal::Empty,
                WorkRefusal::LeftBase { base: "b".to_owned() },
                WorkRefusal::Unmerged(RequiredCommit::Conflict(commit("c"))),
                WorkRefusal::Unmerged(RequiredCommit::Target(commit("t"))),
                WorkRefusal::NoCommonHistory,
                WorkRefusal::SeveralMergeBases,
                WorkRefusal::Damaged("damage".to_owned()),
                WorkRefusal::CopiedFile("src/env".to_owned()),
                WorkRefusal::OutOfScope { count: 1, first: "docs/b".to_owned() },
            ];
            let first = rules.into_iter().find(|refusal| !holds(refusal));
            prop_assert_eq!(decided.err(), first, "the first rule that is broken decides");
            let asked = facts.asked.borrow();
            prop_assert!(asked.len() <= 3 && (facts.is_clean || asked.len() == 1), "no fact is asked for too early");
        }
    }

    #[test]
    fn failed_checks_refuse_and_only_a_stage_that_may_be_reviewed_is_measured() {
        let failed = FailedCheck {
            what: CheckKind::Acceptance,
            of: Text::new("make"),
            why: Text::new("no"),
            tail: Text::default(),
        };
        let never = || -> Result<Risk, Infallible> { panic!("the change was measured") };
        let refused = accept_checks(&spec(), &[failed], never).unwrap();
        assert!(matches!(refused, Acceptance::Refused { .. }));
        let small = accept_checks::<Infallible>(&spec(), &[], || Ok(Risk::default())).unwrap();
        assert_eq!(small, Acceptance::Accepted);
    }
}
