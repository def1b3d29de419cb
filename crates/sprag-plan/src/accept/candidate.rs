//! Decides whether a candidate of the merge queue may be tested: it may contain only changes that its stage
//! may make.

use super::work::outside;
use crate::spec::StageSpec;

/// Facts of git about a candidate.
pub trait MergeCandidateFacts {
    type Error;

    fn parents(&self) -> Result<Vec<String>, Self::Error>;
    /// Returns the paths that the candidate would change on the trunk, from any commit.
    fn brought(&self, on: &str) -> Result<Vec<String>, Self::Error>;
    /// Returns a description of the protected files that the candidate changes.
    fn damage(&self, on: &str) -> Result<Option<String>, Self::Error>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CandidateRefusal {
    OutOfScope { count: usize, first: String },
    Damaged(String),
}

/// Judges a candidate of a stage. A candidate that is not a merge of the head of the stage brings nothing
/// new and passes.
pub fn accept_candidate<F: MergeCandidateFacts>(
    spec: &StageSpec,
    head: &str,
    facts: &F,
) -> Result<Result<(), CandidateRefusal>, F::Error> {
    let parents = facts.parents()?;
    let on = match parents.as_slice() {
        [on, merged] if merged == head => on,
        _ => return Ok(Ok(())),
    };
    if let Some((count, first)) = outside(spec, &facts.brought(on)?) {
        return Ok(Err(CandidateRefusal::OutOfScope { count, first }));
    }
    Ok(facts.damage(on)?.map_or(Ok(()), |damage| Err(CandidateRefusal::Damaged(damage))))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;
    use crate::spec::Plan;
    use crate::testing::plan;

    #[derive(Clone, Debug)]
    struct Facts {
        parents: Vec<String>,
        brought: Vec<String>,
        damage: Option<String>,
    }

    impl MergeCandidateFacts for Facts {
        type Error = Infallible;

        fn parents(&self) -> Result<Vec<String>, Infallible> {
            Ok(self.parents.clone())
        }

        fn brought(&self, on: &str) -> Result<Vec<String>, Infallible> {
            assert_eq!(on, self.parents[0], "the changes are those on top of the trunk");
            Ok(self.brought.clone())
        }

        fn damage(&self, _: &str) -> Result<Option<String>, Infallible> {
            Ok(self.damage.clone())
        }
    }

    proptest! {
        #[test]
        fn a_merge_of_the_stage_brings_its_scope_and_no_damage(
            parents in proptest::sample::subsequence(vec!["on", "head", "other"], 0..=3),
            brought in proptest::sample::subsequence(vec!["src/a", "docs/b", "src/c", "x"], 0..=4),
            damage in proptest::option::of(Just("damage".to_owned())),
        ) {
            let texts = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<Vec<_>>();
            let facts = Facts { parents: texts(parents.clone()), brought: texts(brought.clone()), damage };
            let plan: Plan = serde_json::from_value(plan(&[("a", "", "src/**")])).unwrap();
            let Ok(decided) = accept_candidate(&plan.stages()[0], "head", &facts);
            let strays = brought.iter().filter(|path| !path.starts_with("src/")).count();
            let expected = match (parents == ["on", "head"], strays, facts.damage) {
                (false, _, _) | (true, 0, None) => None,
                (true, 0, Some(damage)) => Some(CandidateRefusal::Damaged(damage)),
                (true, count, _) => {
                    let first = brought.iter().find(|path| !path.starts_with("src/")).unwrap();
                    Some(CandidateRefusal::OutOfScope { count, first: (*first).to_owned() })
                }
            };
            prop_assert_eq!(decided.err(), expected);
        }
    }
}
