//! Checks that links between Markdown documents of this repository lead to files. It skips web addresses,
//! because a check must not need a network.

use crate::tidy::tree::Tree;
use crate::tidy::{Check, Finding};

pub const CHECK: Check = Check { name: "links", about: "links between documents lead somewhere", find };

fn find(tree: &Tree) -> Vec<Finding> {
    let documents = tree.texts.iter().filter(|(path, _)| path.ends_with(".md"));
    documents.flat_map(|(path, text)| dead_links(tree, path, text)).collect()
}

fn dead_links(tree: &Tree, path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, target) in targets(text) {
        let Some(file) = file_of(path, &target) else { continue };
        if !tree.has(&file) {
            findings.push(Finding::new(path, line, format!("link to `{target}`: no such file")));
        }
    }
    findings
}

/// Returns the targets of links with their lines. Code does not count.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut is_code = false;
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            let line = without_code(line);
            found.extend(inline(&line).chain(definition(&line)).map(|target| (at + 1, target)));
        }
    }
    found
}

/// Removes code: every second part between backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// Returns the targets of `[text](target)`, with or without a title.
fn inline(line: &str) -> impl Iterator<Item = String> {
    line.split("](").skip(1).filter_map(|rest| {
        let target = rest.split(')').next()?.split_whitespace().next()?;
        Some(target.trim_start_matches('<').trim_end_matches('>').to_owned())
    })
}

/// Returns the target of `[name]: target` at the start of a line.
fn definition(line: &str) -> Option<String> {
    let (_, rest) = line.strip_prefix('[')?.split_once("]: ")?;
    Some(rest.split_whitespace().next()?.to_owned())
}

/// Returns the file of a target, relative to the root, or `None` for other targets.
fn file_of(document: &str, target: &str) -> Option<String> {
    let target = target.split(['#', '?']).next()?;
    if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let mut parts: Vec<&str> = match target.strip_prefix('/') {
        Some(_) => Vec::new(),
        None => document.split('/').collect(),
    };
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                // A path out of the repository is returned unchanged, so that the finding shows it.
                if parts.pop().is_none() {
                    return Some(target.to_owned());
                }
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_links_are_found_and_nothing_else() {
        let text = "\
See [states](docs/states.md#gates), [the folder](docs/), ![picture](<docs/a.png> \"title\").
[gone](docs/gone.md) and [web](https://example.org/x.md) and [here](#here), [me](mailto:a@b.c)
`[code](nowhere.md)` then [two](gone.md) links: [three](./README.md)
```
[code](nowhere.md)
```
[ref]: docs/nothing.md
[root]: /docs/states.md
";
        let inside = "[up](../README.md) [next](a.png) [far](../../README.md) [gone](docs/states.md)\n";
        let files = [("README.md", text), ("docs/states.md", inside), ("docs/a.png", "")];
        let found: Vec<String> = find(&Tree::of(&files)).iter().map(ToString::to_string).collect();
        let expected = [
            "README.md:2: link to `docs/gone.md`: no such file",
            "README.md:3: link to `gone.md`: no such file",
            "README.md:7: link to `docs/nothing.md`: no such file",
            "docs/states.md:1: link to `../../README.md`: no such file",
            "docs/states.md:1: link to `docs/states.md`: no such file",
        ];
        assert_eq!(found, expected);
    }
}
