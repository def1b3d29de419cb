//! Checks the form of imports: one `use` for each module, its names merged in braces, in four groups (`std`,
//! other crates, crates of Sprag, this crate) with an empty line between them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::tidy::modules::{Import, ModulePath, Modules};
use crate::tidy::tree::Tree;
use crate::tidy::{Check, Finding};

pub const CHECK: Check = Check { name: "imports", about: "one `use` for each module, in four groups", find };

/// A `use` in the required form: group, visibility, module, names.
type Statement = (Group, String, Vec<String>, BTreeSet<String>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Std,
    Other,
    Sprag,
    This,
}

fn find(tree: &Tree) -> Vec<Finding> {
    let modules = tree.modules();
    let mut findings = Vec::new();
    for (path, module) in &modules.modules {
        for run in runs(modules, path) {
            if written(modules, path, &run) != wanted(modules, path, &run) {
                let source = &modules.sources[module.file];
                let line = source.tokens[run.start].line;
                findings.push(Finding::new(
                    &source.path,
                    line,
                    "imports are not in order; run `cargo xtask tidy imports --fix`",
                ));
            }
        }
    }
    findings
}

/// Returns the files whose imports must change, with their new text.
pub fn fixed(tree: &Tree) -> Vec<(String, String)> {
    let modules = tree.modules();
    let mut edits: BTreeMap<usize, Vec<(Range<usize>, String)>> = BTreeMap::new();
    for (path, module) in &modules.modules {
        for run in runs(modules, path) {
            let wanted = wanted(modules, path, &run);
            if written(modules, path, &run) == wanted {
                continue;
            }
            let tokens = &modules.sources[module.file].tokens;
            let bytes = tokens[run.start].bytes.start..tokens[run.end - 1].bytes.end;
            let groups: Vec<String> = wanted.iter().map(|group| group.iter().map(line).collect()).collect();
            edits.entry(module.file).or_default().push((bytes, groups.join("\n").trim_end().to_owned()));
        }
    }
    let apply = |(file, mut edits): (usize, Vec<(Range<usize>, String)>)| {
        let source = &modules.sources[file];
        let mut text = source.text.to_string();
        edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
        for (range, new) in edits {
            text.replace_range(range, &new);
        }
        (source.path.clone(), text)
    };
    edits.into_iter().map(apply).collect()
}

fn line((_, visibility, module, names): &Statement) -> String {
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_by_key(|name| *name != "self");
    let prefix: String = module.iter().map(|part| format!("{part}::")).collect();
    let visibility = if visibility.is_empty() { String::new() } else { format!("{visibility} ") };
    match &names[..] {
        [name] => format!("{visibility}use {prefix}{name};\n"),
        _ => format!("{visibility}use {prefix}{{{}}};\n", names.join(", ")),
    }
}

/// Returns ranges of consecutive imports, without attributes and comments.
fn runs(modules: &Modules, path: &ModulePath) -> Vec<Range<usize>> {
    let module = &modules.modules[path];
    let source = &modules.sources[module.file];
    let mut runs: Vec<Range<usize>> = Vec::new();
    for import in of_module(modules, path) {
        let statement = import.statement.clone();
        if runs.last().is_some_and(|run| run.end == statement.end) {
            continue;
        }
        if source.tokens[statement.start].text == "#" {
            continue;
        }
        let follows = runs.last().is_some_and(|run| {
            let between = source.tokens[run.end - 1].bytes.end..source.tokens[statement.start].bytes.start;
            run.end == statement.start && !source.text[between].contains("//")
        });
        match runs.last_mut() {
            Some(run) if follows => run.end = statement.end,
            _ => runs.push(statement),
        }
    }
    runs
}

fn of_module<'a>(modules: &'a Modules, path: &ModulePath) -> Vec<&'a Import> {
    let module = &modules.modules[path];
    let mut imports: Vec<&Import> =
        module.imports.iter().filter(|import| import.scope.len() == module.body.len()).collect();
    imports.sort_by_key(|import| import.statement.start);
    imports
}

/// Returns the existing groups, each a list of statements. A list within a list is split wrongly on purpose,
/// so that it differs from the required form.
fn written(modules: &Modules, path: &ModulePath, run: &Range<usize>) -> Vec<Vec<Statement>> {
    let module = &modules.modules[path];
    let source = &modules.sources[module.file];
    let mut groups: Vec<Vec<Statement>> = Vec::new();
    let mut at = run.start;
    while at < run.end {
        let of_statement: Vec<&Import> =
            of_module(modules, path).into_iter().filter(|import| import.statement.start == at).collect();
        let Some(first) = of_statement.first() else { break };
        let end = first.statement.end;
        let text = |range: Range<usize>| &source.text[range];
        let before = at.checked_sub(1).map_or(0, |before| source.tokens[before].bytes.end);
        let is_apart = text(before..source.tokens[at].bytes.start).matches('\n').count() > 1;
        let depth = source.tokens[at..end].iter().filter(|token| token.text == "{").count();
        let names: Vec<Statement> = statements(modules, path, &of_statement);
        let is_plain = names.len() == 1 && depth <= 1;
        let names = if is_plain { names } else { Vec::new() };
        if groups.is_empty() || is_apart && at != run.start {
            groups.push(names);
        } else if let Some(group) = groups.last_mut() {
            group.extend(names);
        }
        at = end;
    }
    for group in groups.iter_mut() {
        group.sort();
    }
    groups
}

fn wanted(modules: &Modules, path: &ModulePath, run: &Range<usize>) -> Vec<Vec<Statement>> {
    let imports: Vec<&Import> =
        of_module(modules, path).into_iter().filter(|import| run.contains(&import.statement.start)).collect();
    let mut groups: BTreeMap<Group, Vec<Statement>> = BTreeMap::new();
    for statement in statements(modules, path, &imports) {
        groups.entry(statement.0).or_default().push(statement);
    }
    groups.into_values().collect()
}

fn statements(modules: &Modules, path: &ModulePath, imports: &[&Import]) -> Vec<Statement> {
    let tokens = &modules.sources[modules.modules[path].file].tokens;
    let mut merged: BTreeMap<(Group, String, Vec<String>), BTreeSet<String>> = BTreeMap::new();
    for import in imports {
        let visibility: String =
            tokens[import.visibility.clone()].iter().map(|token| token.text.as_str()).collect();
        let visibility = visibility.replace("in", "in ");
        let group = group_of(modules, path, &import.segments);
        let (module, name) = match (&import.name, import.segments.split_last()) {
            (None, _) => (import.segments.clone(), "*".to_owned()),
            (Some(name), Some((last, before))) if import.has_alias => {
                (before.to_vec(), format!("{last} as {name}"))
            }
            (Some(_), Some((last, before))) => (before.to_vec(), last.clone()),
            (Some(_), None) => continue,
        };
        merged.entry((group, visibility, module)).or_default().insert(name);
    }
    // A module that is imported beside its own names becomes `self` among them.
    let modules: Vec<(Group, String, Vec<String>)> = merged.keys().cloned().collect();
    for key in modules.into_iter().rev() {
        let Some((last, before)) = key.2.split_last().filter(|_| !merged[&key].is_empty()) else { continue };
        let outer = (key.0, key.1.clone(), before.to_vec());
        if merged.get_mut(&outer).is_some_and(|names| names.remove(last)) {
            merged.entry(key).or_default().insert("self".to_owned());
        }
    }
    merged.retain(|_, names| !names.is_empty());
    merged
        .into_iter()
        .map(|((group, visibility, module), names)| (group, visibility, module, names))
        .collect()
}

fn group_of(modules: &Modules, path: &ModulePath, segments: &[String]) -> Group {
    let first = segments.first().map(String::as_str).unwrap_or_default();
    let is_item = modules.modules[path].items.iter().any(|item| item.name == first);
    match first {
        "std" | "core" | "alloc" => Group::Std,
        "crate" | "self" | "super" | "Self" => Group::This,
        _ if is_item || modules.modules.contains_key(&path.child(first)) => Group::This,
        _ if first.starts_with("sprag_") => Group::Sprag,
        _ => Group::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_put_in_order() {
        let text = "\
use std::fmt;
use sprag_base::text::Text;
use crate::b::{C, d::E};
use serde::Serialize;
use sprag_base::text::Line;
use std::collections::BTreeMap;
fn f() {}
";
        let tree = Tree::of(&[("crates/sprag-x/src/a.rs", text)]);
        assert_eq!(find(&tree).len(), 1);
        let fixed = fixed(&tree);
        let expected = "\
use std::fmt;
use std::collections::BTreeMap;

use serde::Serialize;

use sprag_base::text::{Line, Text};

use crate::b::C;
use crate::b::d::E;
fn f() {}
";
        assert_eq!(fixed[0].1, expected);
        assert!(find(&Tree::of(&[("crates/sprag-x/src/a.rs", expected)])).is_empty());
    }
}
