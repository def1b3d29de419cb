//! Finds groups of learnings about the same thing, which could be merged. A judge proposes the merged
//! learning and a person decides. The members are then superseded, so nothing is lost.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::learning::Candidate;
use crate::learnings::LearningEntry;

/// The required share of common tags within one category, and across categories.
const SAME: f32 = 0.5;
const OTHER: f32 = 0.7;
/// The required number of common tags. One common tag is only a topic.
const TAGS: usize = 2;
/// The limit on members of a group.
const MEMBERS: usize = 8;

/// Returns groups of at least two, as indices. `alike` reports whether two texts say nearly the same.
pub fn groups(entries: &[&LearningEntry], alike: impl Fn(usize, usize) -> bool) -> Vec<Vec<usize>> {
    let mut group: Vec<usize> = (0..entries.len()).collect();
    for one in 0..entries.len() {
        for other in one + 1..entries.len() {
            let (a, b) = (group[one], group[other]);
            let is_new = a != b && belong(entries[one], entries[other], || alike(one, other));
            let size = |of: usize| group.iter().filter(|at| **at == of).count();
            if is_new && size(a) + size(b) <= MEMBERS {
                group.iter_mut().filter(|at| **at == b).for_each(|at| *at = a);
            }
        }
    }
    let names: BTreeSet<usize> = group.iter().copied().collect();
    let members = |name: usize| -> Vec<usize> { (0..group.len()).filter(|at| group[*at] == name).collect() };
    names.into_iter().map(members).filter(|members| members.len() > 1).collect()
}

fn belong(one: &LearningEntry, other: &LearningEntry, alike: impl FnOnce() -> bool) -> bool {
    let (a, b) = (&one.learning.candidate, &other.learning.candidate);
    // Learnings with different scope or kind are never merged.
    if a.scope != b.scope || a.kind != b.kind {
        return false;
    }
    let least = if a.category == b.category { SAME } else { OTHER };
    let (common, share) = tags(a, b);
    (common >= TAGS && share >= least) || alike()
}

fn tags(a: &Candidate, b: &Candidate) -> (usize, f32) {
    let set = |of: &Candidate| of.tags.iter().map(|tag| tag.as_str().to_lowercase()).collect::<BTreeSet<_>>();
    let (a, b) = (set(a), set(b));
    let common = a.intersection(&b).count();
    (common, common as f32 / a.union(&b).count().max(1) as f32)
}

/// Builds the question about a group for a judge.
pub fn question(members: &[&LearningEntry]) -> Value {
    let learnings: Vec<Value> = members
        .iter()
        .map(|entry| {
            let mut learning = json!(entry.learning.candidate);
            learning["id"] = json!(entry.learning.id);
            learning
        })
        .collect();
    json!({
        "v": 1,
        "task": "These learnings may say the same. If they do, answer with one candidate that keeps all \
                 important content; otherwise answer with an empty list.",
        "learnings": learnings,
        "answer": {"candidates": [{
            "category": "..", "summary": "10 to 200 characters", "detail": "20 to 2000 characters", "tags": [".."],
            "criteria_met": [".."],
        }]},
    })
}

#[cfg(test)]
mod tests {
    use sprag_base::record::{Projection as _, Record};
    use sprag_base::time::Timestamp;

    use super::*;
    use crate::learnings::Learnings;

    fn learnings(of: &[(&str, &str, &[&str])]) -> Learnings {
        let mut learnings = Learnings::default();
        for (id, category, tags) in of {
            let body = json!({
                "id": id, "schema_version": 2, "session": "s", "at": Timestamp::from_millis(0), "category": category,
                "summary": format!("a summary of {id}"), "detail": "a detail that is long enough to be one",
                "tags": tags, "criteria_met": ["stable_fact"], "scope": "project", "confidence": "medium",
            });
            learnings.apply(&Record::new("learning.accepted", Timestamp::from_millis(0), body));
        }
        learnings
    }

    fn grouped(of: &[(&str, &str, &[&str])], alike: impl Fn(usize, usize) -> bool) -> Vec<Vec<usize>> {
        let learnings = learnings(of);
        groups(&learnings.all().collect::<Vec<_>>(), alike)
    }

    #[test]
    fn tags_in_common_make_a_group_and_one_tag_does_not() {
        let of: &[(&str, &str, &[&str])] = &[
            ("a", "pitfall", &["cache", "Parser", "path"]),
            ("b", "pitfall", &["cache", "parser"]),
            ("c", "domain", &["cache", "parser", "tree"]),
            ("d", "pitfall", &["cache"]),
        ];
        assert_eq!(grouped(of, |_, _| false), [[0, 1]], "another category needs more in common");
        assert_eq!(grouped(of, |one, other| (one, other) == (2, 3)), [vec![0, 1], vec![2, 3]]);
        assert_eq!(grouped(of, |one, _| one == 1), [[0, 1, 2, 3]], "what is like one of them belongs to all");
    }

    #[test]
    fn a_group_stays_small() {
        let names: Vec<String> = (0..20).map(|at| format!("id{at:02}")).collect();
        let of: Vec<(&str, &str, &[&str])> =
            names.iter().map(|name| (name.as_str(), "pitfall", &["a", "b"][..])).collect();
        let found = grouped(&of, |_, _| true);
        assert!(found.len() >= 3 && found.iter().all(|group| group.len() <= MEMBERS), "{found:?}");
    }
}
