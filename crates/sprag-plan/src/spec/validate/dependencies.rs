//! Checks that concern several stages: names, order, groups, and files that two of them may change.

use std::collections::BTreeMap;

use sprag_base::document::Position;

use super::ValidateInput;
use super::stage::StageDraft;
use crate::spec::graph::{DependencyCycle, Graph};
use crate::spec::problem::{ProblemCode, did_you_mean};
use crate::spec::reader::{PlanReader, shown};
use crate::spec::values::Slug;
use crate::spec::{StageKind, scope_overlap};

/// Pairs of stages that are reported.
const OVERLAPS: usize = 200;

pub(crate) fn check(reader: &mut PlanReader, stages: &[StageDraft], around: &ValidateInput<'_>) {
    let places = names(reader, stages, around);
    let needs = dependencies(reader, stages, &places);
    groups(reader, stages);
    match Graph::new(needs) {
        Ok(graph) => overlaps(reader, stages, &graph),
        Err(DependencyCycle(way)) => {
            let first = way.first().copied().unwrap_or(0);
            let name = |at: &usize| stages[*at].spec.id.as_str().to_owned();
            let way: Vec<String> = way.iter().chain([&first]).map(name).collect();
            let what = format!("stages wait for each other: {}", way.join(" -> "));
            reader.say(stages[first].at, ProblemCode::Cycle, what, "remove one of these dependencies");
        }
    }
}

/// Returns the first index of each id, and reports duplicates.
fn names<'a>(
    reader: &mut PlanReader,
    stages: &'a [StageDraft],
    around: &ValidateInput<'_>,
) -> BTreeMap<&'a Slug, usize> {
    let mut places: BTreeMap<&Slug, usize> = BTreeMap::new();
    let taken: BTreeMap<&str, &Slug> = around.taken.iter().map(|(id, plan)| (id.as_str(), plan)).collect();
    for (at, stage) in stages.iter().enumerate() {
        let Some(id) = &stage.id else { continue };
        if let Some(plan) = taken.get(id.as_str()) {
            let what = format!("stage `{id}` already belongs to the active plan `{plan}`");
            reader.say(stage.at, ProblemCode::Twice, what, "give it another id");
        }
        match places.get(id) {
            Some(first) => {
                let what = format!("stage `{id}` is already defined in line {}", stages[*first].at.line);
                reader.say(stage.at, ProblemCode::Twice, what, "give it another id");
            }
            None => {
                places.insert(id, at);
            }
        }
    }
    places
}

fn dependencies(
    reader: &mut PlanReader,
    stages: &[StageDraft],
    places: &BTreeMap<&Slug, usize>,
) -> Vec<Vec<usize>> {
    let known: Vec<&str> = places.keys().map(|id| id.as_str()).collect();
    let mut needs = Vec::with_capacity(stages.len());
    let mut unknown = 0;
    for stage in stages {
        let mut of = Vec::new();
        for (at, id) in &stage.dependencies {
            match places.get(id) {
                Some(place) => of.push(*place),
                None => {
                    let what = format!(
                        "stage `{}` depends on unknown stage `{}`",
                        stage.spec.id.as_str(),
                        shown(id.as_str())
                    );
                    // Suggestions for many unknown names would cost too much.
                    unknown += 1;
                    let fix = match unknown {
                        ..=20 => did_you_mean(id.as_str(), &known),
                        _ => "name a stage of this plan".to_owned(),
                    };
                    reader.say(*at, ProblemCode::UnknownDependency, what, fix);
                }
            }
        }
        needs.push(of);
    }
    needs
}

fn groups(reader: &mut PlanReader, stages: &[StageDraft]) {
    let mut bounds: BTreeMap<&Slug, (u16, Position)> = BTreeMap::new();
    for stage in stages {
        let Some((group, max)) =
            stage.spec.parallel_group.as_ref().and_then(|group| Some((group, group.max?)))
        else {
            continue;
        };
        match bounds.get(&group.name) {
            Some((other, at)) if *other != max => {
                let what = format!("group `{}` has `max: {other}` in line {}", group.name, at.line);
                reader.say(
                    stage.group_at,
                    ProblemCode::GroupMax,
                    what,
                    "give it once, or use the same value everywhere",
                );
            }
            Some(_) => {}
            None => {
                bounds.insert(&group.name, (max, stage.group_at));
            }
        }
    }
}

/// Reports files that two stages may change although neither waits for the other.
fn overlaps(reader: &mut PlanReader, stages: &[StageDraft], graph: &Graph) {
    let writes =
        |stage: &StageDraft| matches!(stage.spec.kind, StageKind::Standard | StageKind::IntegrationVerify);
    let scopes: Vec<scope_overlap::ScopeShape> = stages
        .iter()
        .map(|stage| {
            if writes(stage) {
                scope_overlap::ScopeShape::new(&stage.spec.scope)
            } else {
                scope_overlap::ScopeShape::default()
            }
        })
        .collect();
    let found = scope_overlap::overlaps(&scopes, graph, OVERLAPS);
    for scope_overlap::Overlap { one, other, by } in found.pairs {
        let what = format!(
            "stages `{}` and `{}` may run at the same time and change the same files (`{}` and `{}`)",
            stages[one].spec.id.as_str(),
            stages[other].spec.id.as_str(),
            shown(by.0.as_str()),
            shown(by.1.as_str()),
        );
        let fix = "make one depend on the other, or narrow their scopes";
        reader.say(stages[other].at, ProblemCode::Overlap, what, fix);
    }
    if let (scope_overlap::Extent::Some, Some(last)) = (found.extent, stages.last()) {
        let what = "too many scopes to compare, or too many overlaps to list";
        reader.say(last.at, ProblemCode::NotCompared, what, "write shorter lists of patterns");
    }
}
