//! Writes the changed files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

use anyhow::{bail, ensure};

use super::{Change, Reach};
use crate::tidy::modules::{ModulePath, Modules};
use crate::tidy::source::Source;
use crate::workspace;

impl Change<'_> {
    pub(super) fn write(mut self) -> anyhow::Result<()> {
        let root = workspace::root();
        let mut texts: BTreeMap<String, String> = BTreeMap::new();
        let mut changed: BTreeSet<String> = BTreeSet::new();
        // In two passes: a path may be taken by a file that moves itself.
        let mv = |from: &str, to: &str| -> anyhow::Result<()> {
            if let Some(parent) = root.join(to).parent() {
                fs::create_dir_all(parent)?;
            }
            ensure!(!root.join(to).exists(), "`{to}` exists");
            let status = Command::new("git").current_dir(&root).args(["mv", from, to]).status()?;
            ensure!(status.success(), "git mv {from} {to}");
            Ok(())
        };
        let between = |number: usize| format!("moving-{number}");
        for (number, old) in self.table.files.keys().enumerate() {
            mv(old, &between(number))?;
        }
        for (number, new) in self.table.files.values().enumerate() {
            mv(&between(number), new)?;
        }
        let mut cut_texts: Vec<(ModulePath, String)> = Vec::new();
        for file in 0..self.modules.sources.len() {
            let source: &Source = self.modules.sources[file];
            let path = self.table.files.get(&source.path).unwrap_or(&source.path).clone();
            let mut edits = self.edits.remove(&file).unwrap_or_default();
            for module in self.modules.of_file.get(&file).into_iter().flatten() {
                let Some(lines) = self.added.get(module) else { continue };
                let text: String = lines.iter().map(|line| format!("use {line};\n")).collect();
                let at = import_position(self.modules, file, module);
                edits.push((at..at, text));
            }
            let cuts = self.cuts.remove(&file).unwrap_or_default();
            let mut removed: Vec<Range<usize>> = Vec::new();
            for (range, target) in &cuts {
                let bytes = source.tokens[range.start].bytes.start..source.tokens[range.end - 1].bytes.end;
                let inside: Vec<(Range<usize>, String)> = edits
                    .iter()
                    .filter(|(edit, _)| edit.start >= bytes.start && edit.end <= bytes.end)
                    .map(|(edit, text)| (edit.start - bytes.start..edit.end - bytes.start, text.clone()))
                    .collect();
                cut_texts.push((target.clone(), apply(&source.text[bytes.clone()], inside)));
                removed.push(bytes);
            }
            edits.retain(|(edit, _)| {
                !removed.iter().any(|cut| edit.start >= cut.start && edit.end <= cut.end)
            });
            edits.extend(removed.into_iter().map(|cut| (cut, String::new())));
            if edits.is_empty() {
                continue;
            }
            texts.insert(path.clone(), apply(&source.text, edits));
            changed.insert(path);
        }
        for (target, text) in cut_texts {
            let Some(file) = self.file_of.get(&target).cloned() else { bail!("no file for {target}") };
            self.appended.entry(file).or_default().push(format!("\n{text}\n"));
        }
        for (parent, declarations) in std::mem::take(&mut self.declared) {
            let file = self.file_of.get(&parent).cloned().unwrap_or_else(|| new_file_of(&parent));
            let mut text = match texts.remove(&file) {
                Some(text) => text,
                None => fs::read_to_string(root.join(&file)).unwrap_or_default(),
            };
            if !self.file_of.contains_key(&parent) {
                println!("new file: {file}");
            }
            let lines: Vec<String> = declarations
                .iter()
                .map(|line| {
                    let name = line.rsplit(' ').next().unwrap_or_default().trim_end_matches(';');
                    let reach = self.needed_modules.get(&parent.child(name)).copied();
                    let visibility = match reach {
                        Some(Reach::Public) => "pub ",
                        Some(Reach::Crate) => "pub(crate) ",
                        _ => "",
                    };
                    line.replace('\u{1}', visibility)
                })
                .collect();
            let at = declaration_position(&text);
            text.insert_str(at, &format!("{}\n", lines.join("\n")));
            texts.insert(file.clone(), text);
            changed.insert(file);
        }
        for (file, parts) in std::mem::take(&mut self.appended) {
            let mut text = match texts.remove(&file) {
                Some(text) => text,
                None => fs::read_to_string(root.join(&file)).unwrap_or_default(),
            };
            let mut seen = BTreeSet::new();
            for part in parts {
                if part.starts_with("use ") {
                    if seen.insert(part.clone()) && !text.contains(&part) {
                        let at = declaration_position(&text);
                        text.insert_str(at, &part);
                    }
                } else {
                    let at = text.find("\n#[cfg(test)]\nmod tests").unwrap_or(text.len());
                    text.insert_str(at, &part);
                }
            }
            texts.insert(file.clone(), text);
            changed.insert(file);
        }
        for (path, text) in &texts {
            if let Some(parent) = Path::new(path).parent() {
                fs::create_dir_all(root.join(parent))?;
            }
            fs::write(root.join(path), text)?;
        }
        self.warnings.iter().for_each(|warning| println!("warning: {warning}"));
        println!("moved {} files, changed {}", self.table.files.len(), changed.len());
        Ok(())
    }
}

fn apply(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    edits.dedup();
    let mut new = String::new();
    let mut at = 0;
    for (range, replacement) in edits {
        if range.start < at {
            println!("warning: edits overlap at {}: {replacement}", &text[range]);
            continue;
        }
        new.push_str(&text[at..range.start]);
        new.push_str(&replacement);
        at = range.end;
    }
    new.push_str(&text[at..]);
    new
}

/// Where a `use` can be inserted in a module.
fn import_position(modules: &Modules, file: usize, path: &ModulePath) -> usize {
    let module = &modules.modules[path];
    let tokens = &modules.sources[file].tokens;
    let first = module
        .imports
        .iter()
        .filter(|import| {
            import.scope.len() == module.body.len() && tokens[import.statement.start].text == "use"
        })
        .map(|import| import.statement.start)
        .min();
    if let Some(first) = first {
        return tokens[first].bytes.start;
    }
    let mut at = module.body.start;
    while tokens.get(at).is_some_and(|token| token.text == "#")
        && tokens.get(at + 1).is_some_and(|token| token.text == "!")
    {
        at = modules.close_of(file, at + 2).map_or(at + 3, |close| close + 1);
    }
    tokens.get(at).map_or(modules.sources[file].text.len(), |token| token.bytes.start)
}

/// Where a `mod` can be inserted in a file: behind the last one, or behind imports and head comment.
fn declaration_position(text: &str) -> usize {
    let mut at = 0;
    let mut position = 0;
    let mut is_mod_seen = false;
    for line in text.split_inclusive('\n') {
        at += line.len();
        let line = line.trim_end();
        let is_mod = line.ends_with(';')
            && (line.starts_with("mod ")
                || line.starts_with("pub mod ")
                || line.starts_with("pub(crate) mod "));
        if is_mod {
            position = at;
            is_mod_seen = true;
        } else if !is_mod_seen && (line.starts_with("//!") || line.starts_with("#!")) {
            position = at;
        }
    }
    position
}

fn new_file_of(path: &ModulePath) -> String {
    if path.0[0].contains("/tests/") {
        return format!("crates/{}/{}/mod.rs", path.0[0], path.0[1..].join("/"));
    }
    let name = path.0[0].replace('_', "-");
    match &path.0[1..] {
        [] => format!("crates/{name}/src/lib.rs"),
        rest => format!("crates/{name}/src/{}/mod.rs", rest.join("/")),
    }
}
