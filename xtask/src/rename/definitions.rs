//! Changes definitions, declarations of modules and visibility.

use super::{Change, Reach, reach_of};
use crate::tidy::modules::{Item, ItemKind, ModulePath};

impl Change<'_> {
    pub(super) fn change_definitions(&mut self) {
        let items: Vec<_> = self.items.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        for ((path, name), (_, new_name)) in items {
            let module = &self.modules.modules[&path];
            let found: Vec<&Item> = module.items.iter().filter(|item| item.name == name).collect();
            for item in found {
                if new_name != name {
                    let bytes = self.tokens(module.file)[item.at].bytes.clone();
                    self.edit(module.file, bytes, new_name.clone());
                }
            }
        }
    }

    pub(super) fn change_declarations(&mut self) {
        for file in 0..self.modules.sources.len() {
            let old_file = &self.modules.sources[file].path;
            let new_file = self.table.files.get(old_file).unwrap_or(old_file);
            let Some(old) = self.modules.of_file.get(&file).map(|paths| paths[0].clone()) else { continue };
            let new = self.new_module(&old);
            let is_moved = old_file != new_file;
            let moves_away = old.parent().map(|parent| self.new_module(&parent)) != new.parent();
            if !is_moved && !moves_away {
                continue;
            }
            let Some(old_parent) = old.parent() else {
                if let Some(parent) = new.parent() {
                    self.declared.entry(parent).or_default().push(format!("\u{1}mod {};", new.name()));
                }
                continue;
            };
            let parent_module = &self.modules.modules[&old_parent];
            let declaration = parent_module
                .items
                .iter()
                .find(|item| item.kind == ItemKind::Module && item.name == old.name())
                .cloned();
            let Some(item) = declaration else {
                self.warnings.insert(format!("no declaration of {old} in {old_parent}"));
                continue;
            };
            let tokens = self.tokens(parent_module.file);
            let parent_file = parent_module.file;
            let source = self.modules.sources[parent_file];
            let beside = new_file
                .rsplit('/')
                .next()
                .filter(|name| name.ends_with("_tests.rs") && new.name() == "tests");
            if new.parent() == Some(self.new_module(&old_parent)) {
                if new.name() != old.name() {
                    self.edit(parent_file, tokens[item.at].bytes.clone(), new.name().to_owned());
                }
                let text = &source.text
                    [tokens[item.tokens.start].bytes.start..tokens[item.tokens.end - 1].bytes.end];
                if let Some(beside) = beside
                    && !text.contains("#[path")
                {
                    let start = tokens[item.at - 1].bytes.start;
                    self.edit(parent_file, start..start, format!("#[path = \"{beside}\"]\n"));
                } else if let Some(beside) = beside {
                    let at = (item.tokens.start..item.at)
                        .find(|at| tokens[*at].text.starts_with('"') && tokens[*at].text.contains(".rs"));
                    if let Some(at) = at {
                        self.edit(parent_file, tokens[at].bytes.clone(), format!("\"{beside}\""));
                    }
                }
                continue;
            }
            let mut range = tokens[item.tokens.start].bytes.start..tokens[item.tokens.end - 1].bytes.end;
            if source.text[range.end..].starts_with('\n') {
                range.end += 1;
            }
            self.edit(parent_file, range, String::new());
            let Some(parent) = new.parent() else { continue };
            let before = tokens[item.visibility.start].bytes.start;
            let attributes = &source.text[tokens[item.tokens.start].bytes.start..before];
            self.declared.entry(parent).or_default().push(format!("{attributes}\u{1}mod {};", new.name()));
        }
    }

    /// Files that items move to may be new.
    pub(super) fn declare_targets(&mut self) {
        let targets: std::collections::BTreeSet<ModulePath> =
            self.items.values().map(|(target, _)| target.clone()).collect();
        for target in targets {
            let is_old = self.new_modules.values().any(|known| *known == target);
            let Some(parent) = target.parent().filter(|_| !is_old) else { continue };
            self.declared.entry(parent).or_default().push(format!("\u{1}mod {};", target.name()));
        }
    }

    /// Files that only list modules are new, and are declared in turn.
    pub(super) fn declare_lists(&mut self) {
        let mut open: Vec<ModulePath> = self.declared.keys().cloned().collect();
        while let Some(path) = open.pop() {
            let Some(parent) = path.parent().filter(|_| !self.file_of.contains_key(&path)) else { continue };
            let line = format!("\u{1}mod {};", path.name());
            let lines = self.declared.entry(parent.clone()).or_default();
            if !lines.contains(&line) {
                lines.push(line);
                open.push(parent);
            }
        }
    }

    /// Items and modules become as visible as their uses need.
    pub(super) fn raise_visibility(&mut self) {
        let all: Vec<(&ModulePath, Vec<Item>)> =
            self.modules.modules.iter().map(|(path, module)| (path, module.items.clone())).collect();
        for (path, items) in all {
            let file = self.modules.modules[path].file;
            let tokens = self.tokens(file);
            let body = self.modules.modules[path].body.len();
            for item in items.iter().filter(|item| item.scope.len() == body && item.tokens.len() > 1) {
                let needed = if item.kind == ItemKind::Module {
                    let new = self.new_module(&path.child(&item.name));
                    if new.parent() != Some(self.new_module(path)) {
                        continue;
                    }
                    self.needed_modules.get(&new).copied()
                } else if item.kind == ItemKind::Macro {
                    None
                } else {
                    self.needed_items.get(&self.new_item(path, &item.name)).copied()
                };
                let Some(needed) = needed else { continue };
                let has = reach_of(tokens, &item.visibility);
                let is_super = item.visibility.len() > 1 && tokens[item.visibility.start + 2].text == "super";
                if needed <= has && !(is_super && needed == Reach::Crate) {
                    continue;
                }
                let text = if needed == Reach::Public { "pub" } else { "pub(crate)" };
                if item.visibility.is_empty() {
                    let start = tokens[item.visibility.start].bytes.start;
                    self.edit(file, start..start, format!("{text} "));
                } else {
                    let range =
                        tokens[item.visibility.start].bytes.start..tokens[item.visibility.end - 1].bytes.end;
                    let is_local_super = is_super && self.modules.modules[path].is_test;
                    if !is_local_super {
                        self.edit(file, range, text.to_owned());
                    }
                }
            }
        }
    }
}
