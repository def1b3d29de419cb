//! Pictures of a plan: levels of stages for a terminal, and graphs for other programs.

use std::fmt::Write as _;

use crate::spec::{Plan, StageSpec};

/// Returns stages that may run at the same time, level by level; within a level in the order of the file.
pub fn levels(plan: &Plan) -> Vec<Vec<usize>> {
    let of = plan.graph().levels();
    let mut levels = vec![Vec::new(); of.iter().max().map_or(0, |last| last + 1)];
    of.iter().enumerate().for_each(|(stage, level)| levels[*level].push(stage));
    levels
}

/// Returns the longest path, with one step per stage.
pub fn critical_path(plan: &Plan) -> Vec<usize> {
    plan.graph().critical_path(&vec![1; plan.stages().len()])
}

/// Returns the label of a stage in a picture.
pub fn by_id(stage: &StageSpec) -> String {
    stage.id.as_str().to_owned()
}

/// Draws the plan for Graphviz. Ids need no escaping, and a label must need none.
pub fn dot(plan: &Plan, label: impl Fn(&StageSpec) -> String) -> String {
    let mut text = format!("digraph \"{}\" {{\n  rankdir=LR;\n  node [shape=box];\n", plan.head.name);
    let critical = critical_path(plan);
    for (at, stage) in plan.stages().iter().enumerate() {
        let style = if critical.contains(&at) { "style=bold" } else { "" };
        let label = label(stage);
        let about = match (label == stage.id.as_str(), style) {
            (true, "") => String::new(),
            (true, style) => format!(" [{style}]"),
            (false, "") => format!(" [label=\"{label}\"]"),
            (false, style) => format!(" [label=\"{label}\" {style}]"),
        };
        writeln!(text, "  \"{}\"{about};", stage.id.as_str()).expect("a string takes all");
    }
    for (at, stage) in plan.stages().iter().enumerate() {
        for &need in plan.graph().needs(at) {
            let need = plan.stages()[need].id.as_str();
            writeln!(text, "  \"{need}\" -> \"{}\";", stage.id.as_str()).expect("a string takes all");
        }
    }
    text.push_str("}\n");
    text
}

/// Draws the plan for Mermaid in Markdown.
pub fn mermaid(plan: &Plan, label: impl Fn(&StageSpec) -> String) -> String {
    let mut text = "graph LR\n".to_owned();
    // `end` and others are keywords of the language, so the nodes have numbers.
    for (at, stage) in plan.stages().iter().enumerate() {
        writeln!(text, "  s{at}[\"{}\"]", label(stage)).expect("a string takes all");
    }
    for at in 0..plan.stages().len() {
        for &need in plan.graph().needs(at) {
            writeln!(text, "  s{need} --> s{at}").expect("a string takes all");
        }
    }
    text
}
