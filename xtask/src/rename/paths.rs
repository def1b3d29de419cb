//! Follows paths and names in the code.

use super::Change;
use crate::tidy::modules::{ItemKind, Meaning, ModulePath};

impl Change<'_> {
    pub(super) fn change_paths(&mut self, file: usize) {
        for used in self.modules.paths_of(file) {
            let tokens = self.tokens(file);
            let segments: Vec<String> = used.names.iter().map(|at| tokens[*at].text.clone()).collect();
            let at = used.names[0];
            let resolved = self.modules.resolve(&used.module, at, &segments);
            let cut = self.cut_target(file, at).cloned();
            if resolved.steps.is_empty() {
                if let Some(user) = &cut {
                    self.import_foreign(&used.module, user, &segments[0]);
                }
                continue;
            }
            let user = cut.clone().unwrap_or_else(|| self.new_module(&used.module));
            let first = segments[0].clone();
            let is_absolute = matches!(first.as_str(), "crate" | "self" | "super")
                || (first.starts_with("sprag_")
                    && matches!(&resolved.steps[0], Meaning::Module(path) if path.0.len() == 1));
            if segments.len() == 1 {
                self.change_name(file, &used.module, &user, at, &resolved.steps[0], cut.is_some());
                continue;
            }
            // The target of the part that is known.
            let (target, name, count, through) = match resolved.item() {
                Some((module, item, index)) => {
                    let (new, name) = self.new_item(module, item);
                    let through = match &resolved.steps[..index] {
                        [.., Meaning::Module(through)] => Some(self.new_module(through)),
                        _ => None,
                    };
                    (new, Some(name), index + 1, through)
                }
                None => match resolved.module() {
                    Some((module, count)) => (self.new_module(module), None, count, None),
                    None => continue,
                },
            };
            if let (Some(_), 1) = (&name, count) {
                // `Type::member`: only the first name matters.
                self.change_name(file, &used.module, &user, at, &resolved.steps[0], cut.is_some());
                continue;
            }
            let is_moved_item =
                resolved.item().is_some_and(|(module, item, _)| self.is_moved_item(module, item));
            let from = match &through {
                Some(through) if *through != target && target.root() == through.root() && !is_moved_item => {
                    through.clone()
                }
                _ => target.clone(),
            };
            let keeps_facade = from != target;
            let given = &segments[count - 1];
            let is_alias = resolved.item().is_some_and(|(_, item, _)| item != given);
            let name = if keeps_facade && is_alias { Some(given.clone()) } else { name };
            self.need(&user, &from, name.as_deref().filter(|_| !keeps_facade));
            let mut parts = if is_absolute {
                let is_deep = segments.get(1).is_some_and(|second| second == "super");
                self.path_text(&user, &from, &first, is_deep)
            } else {
                let Meaning::Module(first_old) = &resolved.steps[0] else { continue };
                let first_new = self.new_module(first_old);
                let local = if cut.is_some() {
                    self.import_for(&used.module, &user, &first_new, true)
                } else {
                    self.local_name(&used.module, at, &first, first_old, &first_new)
                };
                match local {
                    Some(local) if from.is_below(&first_new) => {
                        let mut parts = vec![local];
                        parts.extend_from_slice(&from.0[first_new.0.len()..]);
                        parts
                    }
                    _ => self.absolute(&user, &from),
                }
            };
            if from == user && name.is_some() && parts != ["self"] && !is_absolute {
                parts.clear();
            }
            parts.extend(name);
            if parts[..] == segments[..count] {
                continue;
            }
            let last = used.names[count - 1];
            let bytes = tokens[at].bytes.start..tokens[last].bytes.end;
            self.edit(file, bytes, parts.join("::"));
        }
    }

    /// A name of a foreign crate that moves with the code around it.
    fn import_foreign(&mut self, module: &ModulePath, user: &ModulePath, name: &str) {
        let imports = &self.modules.modules[module].imports;
        let Some(import) = imports.iter().find(|import| import.name.as_deref() == Some(name)) else { return };
        let alias = if import.has_alias { format!(" as {name}") } else { String::new() };
        self.add_to_new(user, format!("{}{alias}", import.segments.join("::")));
    }

    /// The new local name of a module that the code names by its last part.
    fn local_name(
        &mut self,
        module: &ModulePath,
        at: usize,
        first: &str,
        old: &ModulePath,
        new: &ModulePath,
    ) -> Option<String> {
        let here = &self.modules.modules[module];
        let import = here
            .imports
            .iter()
            .find(|import| import.name.as_deref() == Some(first) && import.scope.contains(&at));
        if let Some(import) = import {
            if import.has_alias || (new.0.len() > 1 && self.keeps_old_name(module, import)) {
                return Some(first.to_owned());
            }
            return Some(new.name().to_owned());
        }
        let user = self.new_module(module);
        if old.parent().as_ref() == Some(module) && new.parent().as_ref() == Some(&user) {
            return Some(new.name().to_owned());
        }
        // It came through `*` of a module that has it as a child.
        let is_by_star = old.parent().is_some_and(|parent| parent != *module && module.is_below(&parent));
        if is_by_star && new.parent() == old.parent().map(|parent| self.new_module(&parent)) {
            return Some(new.name().to_owned());
        }
        if old == new {
            return Some(first.to_owned());
        }
        self.import_for(module, &user, new, false)
    }

    /// Adds a `use` of a module and gives its name.
    fn import_for(
        &mut self,
        module: &ModulePath,
        user: &ModulePath,
        target: &ModulePath,
        is_cut: bool,
    ) -> Option<String> {
        if target.0.len() == 1 {
            return (target.root() != user.root()).then(|| target.name().to_owned());
        }
        let name = target.name().to_owned();
        let line = self.absolute(user, target).join("::");
        if is_cut {
            self.add_to_new(user, line);
            return Some(name);
        }
        let others = self.modules.look_up(module, None, &name);
        let is_free = others.iter().all(|meaning| match meaning {
            Meaning::Module(other) => self.new_module(other) == *target,
            Meaning::Item(..) | Meaning::Variant => true,
        });
        if !is_free {
            return None;
        }
        self.need(user, target, None);
        self.added.entry(module.clone()).or_default().insert(line);
        Some(name)
    }

    fn add_to_new(&mut self, user: &ModulePath, line: String) {
        let Some(file) = self.file_of.get(user).cloned() else { return };
        self.appended.entry(file).or_default().insert(0, format!("use {line};\n"));
    }

    /// A name that stands alone, or in front of a member.
    fn change_name(
        &mut self,
        file: usize,
        module: &ModulePath,
        user: &ModulePath,
        at: usize,
        meaning: &Meaning,
        is_cut: bool,
    ) {
        let Meaning::Item(path, name) = meaning else { return };
        let tokens = self.tokens(file);
        let kind =
            self.modules.modules[path].items.iter().find(|item| item.name == *name).map(|item| item.kind);
        let next = tokens.get(at + 1).map(|token| token.text.as_str()).unwrap_or_default();
        let before = at.checked_sub(1).map(|at| tokens[at].text.as_str()).unwrap_or_default();
        let is_call =
            next == "(" || next == "::" || (matches!(before, "(" | ",") && matches!(next, ")" | ","));
        if kind == Some(ItemKind::Function) && (!is_call || before == "fn") {
            return;
        }
        if kind == Some(ItemKind::Macro) {
            return;
        }
        if matches!(kind, Some(ItemKind::Type | ItemKind::Value))
            && name.starts_with(|c: char| c.is_lowercase())
        {
            return;
        }
        let text = &tokens[at].text;
        let here = &self.modules.modules[module];
        let import = here
            .imports
            .iter()
            .find(|import| import.name.as_deref() == Some(text.as_str()) && import.scope.contains(&at));
        let (new, new_name) = self.new_item(path, name);
        if is_cut {
            if new != *user {
                let mut line = self.absolute(user, &new);
                line.push(new_name.clone());
                self.need(user, &new, Some(&new_name));
                self.add_to_new(user, line.join("::"));
            }
        } else if import.is_none() && path == module && new != *user {
            let mut line = self.absolute(user, &new);
            line.push(new_name.clone());
            self.need(user, &new, Some(&new_name));
            self.added.entry(module.clone()).or_default().insert(line.join("::"));
        } else if import.is_none() && path != module && new.root() != user.root() {
            // A name through `super::*` whose export goes away.
            let parent = module.parent().and_then(|parent| self.modules.modules.get(&parent));
            let is_exported = parent.is_some_and(|parent| {
                parent.imports.iter().any(|import| {
                    import.name.as_deref() == Some(text.as_str()) && !import.visibility.is_empty()
                })
            });
            if is_exported && new.root() != path.root() {
                let mut line = self.absolute(user, &new);
                line.push(new_name.clone());
                self.added.entry(module.clone()).or_default().insert(line.join("::"));
            }
        }
        if import.is_some_and(|import| import.has_alias || self.keeps_old_name(module, import)) {
            return;
        }
        if *text != new_name && text == name {
            self.edit(file, tokens[at].bytes.clone(), new_name);
        }
    }
}
