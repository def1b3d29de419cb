//! `cargo xtask rename TABLE`: moves files, moves items and renames them, and follows every path in
//! the code. Rows of the table are `old file<TAB>new file` or `old file::Item<TAB>new file::Item`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;

use anyhow::{Context as _, bail, ensure};

use crate::tidy::modules::{Import, ItemKind, Meaning, ModulePath, Modules, module_of_file};
use crate::tidy::tree::Tree;
use impl_blocks::impl_blocks;

mod definitions;
mod impl_blocks;
mod paths;
mod write;

#[derive(Default)]
struct Table {
    files: BTreeMap<String, String>,
    items: Vec<((String, String), (String, String))>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    Private,
    Crate,
    Public,
}

pub fn run(args: &[String]) -> anyhow::Result<()> {
    let [table] = args else { bail!("usage: cargo xtask rename TABLE") };
    let table = read_table(&fs::read_to_string(table).with_context(|| format!("cannot read `{table}`"))?)?;
    let tree = Tree::load()?;
    let broken: Vec<&str> =
        tree.rust.iter().filter(|source| source.is_broken).map(|source| source.path.as_str()).collect();
    ensure!(broken.is_empty(), "not Rust: {broken:?}");
    let modules = Modules::new(&tree.rust);
    let mut change = Change::new(&modules, &tree, &table)?;
    change.collect();
    change.write()
}

fn read_table(text: &str) -> anyhow::Result<Table> {
    let mut table = Table::default();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut columns = line.split('\t');
        let (Some(old), Some(new)) = (columns.next(), columns.next()) else { bail!("not a row: {line}") };
        match (old.split_once("::"), new.split_once("::")) {
            (Some((old_file, old)), Some((new_file, new))) => table
                .items
                .push(((old_file.to_owned(), old.to_owned()), (new_file.to_owned(), new.to_owned()))),
            (None, None) if new == "=" || old == "-" => {}
            (None, None) => {
                table.files.insert(old.to_owned(), new.to_owned());
            }
            _ => bail!("not a row: {line}"),
        }
    }
    Ok(table)
}

struct Change<'a> {
    modules: &'a Modules<'a>,
    table: &'a Table,
    /// The new module of every old one.
    new_modules: BTreeMap<ModulePath, ModulePath>,
    /// The new path of every file, for files of new modules that exist already.
    file_of: BTreeMap<ModulePath, String>,
    items: BTreeMap<(ModulePath, String), (ModulePath, String)>,
    edits: BTreeMap<usize, Vec<(Range<usize>, String)>>,
    /// `use` lines to add to old modules.
    added: BTreeMap<ModulePath, BTreeSet<String>>,
    /// Text to append to files, by new path.
    appended: BTreeMap<String, Vec<String>>,
    /// Declarations to insert into the file of a new module.
    declared: BTreeMap<ModulePath, Vec<String>>,
    needed_modules: BTreeMap<ModulePath, Reach>,
    needed_items: BTreeMap<(ModulePath, String), Reach>,
    /// Token ranges that move to another file.
    cuts: BTreeMap<usize, Vec<(Range<usize>, ModulePath)>>,
    warnings: BTreeSet<String>,
}

impl<'a> Change<'a> {
    fn new(modules: &'a Modules<'a>, tree: &Tree, table: &'a Table) -> anyhow::Result<Change<'a>> {
        let moved = |path: &str| table.files.get(path).cloned().unwrap_or_else(|| path.to_owned());
        for old in table.files.keys() {
            ensure!(tree.paths.contains(old), "no file `{old}`");
        }
        let new_paths: Vec<String> = modules.sources.iter().map(|source| moved(&source.path)).collect();
        let mut known: BTreeSet<&str> = new_paths.iter().map(String::as_str).collect();
        known.extend(table.items.iter().map(|(_, (file, _))| file.as_str()));
        let mut new_modules = BTreeMap::new();
        let mut file_of = BTreeMap::new();
        for (file, paths) in &modules.of_file {
            let new = &new_paths[*file];
            let old_root = &paths[0];
            let stays = *new == modules.sources[*file].path;
            let Some(root) = (if stays { Some(old_root.clone()) } else { module_of_file(new, &known) })
            else {
                continue;
            };
            file_of.insert(root.clone(), new.clone());
            for path in paths {
                let mut parts = root.0.clone();
                parts.extend_from_slice(&path.0[old_root.0.len()..]);
                new_modules.insert(path.clone(), ModulePath(parts));
            }
        }
        let mut change = Change {
            modules,
            table,
            new_modules,
            file_of,
            items: BTreeMap::new(),
            edits: BTreeMap::new(),
            added: BTreeMap::new(),
            appended: BTreeMap::new(),
            declared: BTreeMap::new(),
            needed_modules: BTreeMap::new(),
            needed_items: BTreeMap::new(),
            cuts: BTreeMap::new(),
            warnings: BTreeSet::new(),
        };
        for ((old_file, old), (new_file, new)) in &table.items {
            let file = modules.sources.iter().position(|source| source.path == *old_file);
            // A table of names may give the path before the files moved.
            let file = file.or_else(|| modules.sources.iter().position(|source| source.path == *new_file));
            let Some(file) = file else { bail!("no file `{old_file}`") };
            let paths = &modules.of_file[&file];
            let defines =
                |path: &&ModulePath| modules.modules[*path].items.iter().any(|item| item.name == *old);
            let Some(path) = paths.iter().find(defines) else {
                change.warnings.insert(format!("no item `{old}` in `{}`", modules.sources[file].path));
                continue;
            };
            let target = if *new_file == moved(&modules.sources[file].path) {
                change.new_modules[path].clone()
            } else {
                let target = module_of_file(new_file, &known).context("not a module")?;
                change.file_of.entry(target.clone()).or_insert_with(|| new_file.clone());
                target
            };
            change.items.insert((path.clone(), old.clone()), (target, new.clone()));
        }
        Ok(change)
    }

    fn new_module(&self, path: &ModulePath) -> ModulePath {
        self.new_modules.get(path).cloned().unwrap_or_else(|| path.clone())
    }

    fn new_item(&self, path: &ModulePath, name: &str) -> (ModulePath, String) {
        let key = (path.clone(), name.to_owned());
        self.items.get(&key).cloned().unwrap_or_else(|| (self.new_module(path), name.to_owned()))
    }

    fn is_moved_item(&self, path: &ModulePath, name: &str) -> bool {
        let key = (path.clone(), name.to_owned());
        self.items.get(&key).is_some_and(|(module, _)| *module != self.new_module(path))
    }

    fn tokens(&self, file: usize) -> &'a [crate::tidy::source::Token] {
        &self.modules.sources[file].tokens
    }

    fn edit(&mut self, file: usize, range: Range<usize>, text: String) {
        self.edits.entry(file).or_default().push((range, text));
    }

    fn collect(&mut self) {
        self.plan_cuts();
        let files: Vec<usize> = self.modules.of_file.keys().copied().collect();
        for file in files {
            for path in self.modules.of_file[&file].clone() {
                self.change_imports(file, &path);
            }
            self.change_paths(file);
        }
        self.change_definitions();
        self.change_declarations();
        self.declare_targets();
        self.declare_lists();
        self.raise_visibility();
    }

    /// Items that leave their file, with their `impl` blocks.
    fn plan_cuts(&mut self) {
        let moved: Vec<(ModulePath, String, ModulePath)> = self
            .items
            .iter()
            .filter(|((path, name), _)| self.is_moved_item(path, name))
            .map(|((path, name), (target, _))| (path.clone(), name.clone(), target.clone()))
            .collect();
        for (path, name, target) in moved {
            let module = &self.modules.modules[&path];
            let cuts = self.cuts.entry(module.file).or_default();
            for item in module.items.iter().filter(|item| item.name == name && item.kind != ItemKind::Module)
            {
                cuts.push((item.tokens.clone(), target.clone()));
            }
            for range in impl_blocks(self.modules, module.file, &path, &name) {
                cuts.push((range, target.clone()));
            }
            cuts.sort_by_key(|(range, _)| range.start);
            cuts.dedup();
        }
    }

    fn cut_target(&self, file: usize, token: usize) -> Option<&ModulePath> {
        let cuts = self.cuts.get(&file)?;
        cuts.iter().find(|(range, _)| range.contains(&token)).map(|(_, target)| target)
    }

    fn need(&mut self, user: &ModulePath, module: &ModulePath, item: Option<&str>) {
        for length in 2..=module.0.len() {
            let path = ModulePath(module.0[..length].to_vec());
            let parent = ModulePath(module.0[..length - 1].to_vec());
            let reach = reach_from(user, &parent);
            let entry = self.needed_modules.entry(path).or_insert(Reach::Private);
            *entry = (*entry).max(reach);
        }
        if let Some(item) = item {
            let reach = reach_from(user, module);
            let entry = self.needed_items.entry((module.clone(), item.to_owned())).or_insert(Reach::Private);
            *entry = (*entry).max(reach);
        }
    }

    /// The text of a path from a module, in the style of the old one where that still fits.
    fn path_text(
        &self,
        user: &ModulePath,
        target: &ModulePath,
        old_first: &str,
        is_deep: bool,
    ) -> Vec<String> {
        let parent = user.parent();
        let relative = |from: &ModulePath, first: Option<&str>| {
            let mut parts: Vec<String> = first.map(str::to_owned).into_iter().collect();
            parts.extend_from_slice(&target.0[from.0.len()..]);
            parts
        };
        match (old_first, &parent) {
            ("super", Some(parent)) if target.is_below(parent) && !is_deep => relative(parent, Some("super")),
            ("self", _) if target.is_below(user) => relative(user, Some("self")),
            ("crate" | "super" | "self", _) => self.absolute(user, target),
            _ if target.is_below(user) && target != user && !old_first.starts_with("sprag_") => {
                relative(user, None)
            }
            _ => self.absolute(user, target),
        }
    }

    fn absolute(&self, user: &ModulePath, target: &ModulePath) -> Vec<String> {
        if user.root() != target.root() {
            return target.0.clone();
        }
        let mut parts = vec!["crate".to_owned()];
        parts.extend_from_slice(&target.0[1..]);
        parts
    }

    /// The last part of the new path of an import.
    fn target_name(&self, path: &ModulePath, import: &Import) -> String {
        let resolved = self.modules.resolve_import(path, import, &mut BTreeSet::new());
        let last = import.segments.last().cloned().unwrap_or_default();
        match resolved.steps.last() {
            Some(Meaning::Item(module, item))
                if resolved.steps.len() == import.segments.len() && *item == last =>
            {
                self.new_item(module, item).1
            }
            Some(Meaning::Module(module)) if resolved.steps.len() == import.segments.len() => {
                self.new_module(module).name().to_owned()
            }
            _ => last,
        }
    }

    /// Whether the new name of an import is taken, so that the old one stays as an alias.
    fn keeps_old_name(&self, path: &ModulePath, import: &Import) -> bool {
        let target = self.target_name(path, import);
        if import.has_alias || import.name.is_none() || import.name.as_deref() == Some(target.as_str()) {
            return false;
        }
        let others = self.modules.modules[path]
            .imports
            .iter()
            .filter(|other| other.name.is_some() && other.name != import.name && other.scope == import.scope);
        let local = |other: &Import| match &other.name {
            Some(alias) if other.has_alias => alias.clone(),
            _ => self.target_name(path, other),
        };
        let user = self.new_module(path);
        let resolved = self.modules.resolve_import(path, import, &mut BTreeSet::new());
        let is_itself = matches!(resolved.steps.last(), Some(Meaning::Module(module)) if self.new_module(module) == user.child(&target));
        let is_child = self.file_of.contains_key(&user.child(&target)) && !is_itself;
        let is_item = self.modules.modules[path].items.iter().any(|item| {
            item.kind != ItemKind::Module && self.new_item(path, &item.name) == (user.clone(), target.clone())
        });
        is_child || is_item || others.into_iter().any(|other| local(other) == target)
    }

    /// The new segments of an import; none if it names nothing of the workspace.
    fn new_import(&mut self, path: &ModulePath, import: &Import) -> Option<Vec<String>> {
        let user = self.new_module(path);
        let resolved = self.modules.resolve_import(path, import, &mut BTreeSet::new());
        let old_first = import.segments.first().cloned().unwrap_or_default();
        let is_ours =
            matches!(old_first.as_str(), "crate" | "super" | "self") || old_first.starts_with("sprag_");
        if resolved.steps.is_empty() {
            if is_ours {
                let file = self.modules.modules[path].file;
                self.warnings.insert(format!(
                    "{}:{}: cannot resolve {}",
                    self.modules.sources[file].path,
                    import.line,
                    import.segments.join("::")
                ));
            }
            return None;
        }
        let is_deep = import.segments.get(1).is_some_and(|second| second == "super");
        if let Some((module, item, at)) = resolved.item() {
            let (new, name) = self.new_item(module, item);
            let through = match &resolved.steps[..at] {
                [.., Meaning::Module(through)] => self.new_module(through),
                _ => self.new_module(path),
            };
            let keeps_facade =
                through != new && new.root() == through.root() && !self.is_moved_item(module, item);
            let given = &import.segments[at];
            let name = if keeps_facade && given != item { given.clone() } else { name };
            let from = if keeps_facade { &through } else { &new };
            let from = from.clone();
            let mut segments = if at == 0 && from == user {
                Vec::new()
            } else {
                self.path_text(&user, &from, &old_first, is_deep)
            };
            segments.push(name.clone());
            segments.extend_from_slice(&import.segments[at + 1..]);
            self.need(&user, &from, None);
            self.need(&user, &from, (!keeps_facade).then_some(name.as_str()));
            if !import.visibility.is_empty() {
                let tokens = self.tokens(self.modules.modules[path].file);
                let reach = reach_of(tokens, &import.visibility);
                let entry = self.needed_items.entry((new, name)).or_insert(Reach::Private);
                *entry = (*entry).max(reach);
            }
            return Some(segments);
        }
        let (module, count) = resolved.module()?;
        if count < import.segments.len() {
            // A name that the resolver does not know, made by a macro for example.
            let new = self.new_module(module);
            let mut segments = self.path_text(&user, &new, &old_first, is_deep);
            segments.extend_from_slice(&import.segments[count..]);
            self.need(&user, &new, None);
            return Some(segments);
        }
        let new = self.new_module(module);
        self.need(&user, &new, None);
        Some(self.path_text(&user, &new, &old_first, is_deep))
    }

    fn change_imports(&mut self, file: usize, path: &ModulePath) {
        let module = &self.modules.modules[path];
        let source = self.modules.sources[file];
        let mut statements: BTreeMap<usize, Vec<&Import>> = BTreeMap::new();
        for import in &module.imports {
            statements.entry(import.statement.start).or_default().push(import);
        }
        for imports in statements.into_values() {
            let mut lines = Vec::new();
            let mut is_changed = false;
            for import in &imports {
                let new = self.new_import(path, import);
                let segments = new.unwrap_or_else(|| import.segments.clone());
                is_changed |= segments != import.segments;
                let last = segments.last().cloned().unwrap_or_default();
                let path_text = segments.join("::");
                if segments.len() == 1
                    && last.starts_with("sprag_")
                    && import.name.is_some()
                    && !import.has_alias
                {
                    is_changed = true;
                    continue;
                }
                let user = self.new_module(path);
                let is_here = import.name.is_some()
                    && segments.len() >= 2
                    && self.absolute(&user, &user).join("::") == segments[..segments.len() - 1].join("::")
                    && user.0.len() > 1;
                if is_here {
                    is_changed = true;
                    continue;
                }
                lines.push(match &import.name {
                    None => format!("{path_text}::*"),
                    Some(name) if import.has_alias && *name != last => format!("{path_text} as {name}"),
                    Some(name) if self.keeps_old_name(path, import) => {
                        self.warnings.insert(format!("{user}: `{path_text}` stays `{name}`"));
                        format!("{path_text} as {name}")
                    }
                    Some(_) => path_text,
                });
            }
            if !is_changed {
                continue;
            }
            let first = imports[0];
            let tokens = self.tokens(file);
            // Attributes stay where they are.
            let keyword = (first.statement.start..first.statement.end)
                .find(|at| tokens[*at].text == "use")
                .unwrap_or(first.statement.start);
            let start = if first.visibility.is_empty() { keyword } else { first.visibility.start };
            let bytes = tokens[start].bytes.start..tokens[first.statement.end - 1].bytes.end;
            // Names of another crate are not exported again.
            let is_foreign = lines.iter().all(|line| line.starts_with("sprag_"))
                && !imports.iter().all(|import| import.segments[0].starts_with("sprag_"));
            let visibility = if first.visibility.is_empty() || is_foreign {
                String::new()
            } else {
                let range =
                    tokens[first.visibility.start].bytes.start..tokens[first.visibility.end - 1].bytes.end;
                format!("{} ", &source.text[range])
            };
            let attributes = &source.text[tokens[first.statement.start].bytes.start..bytes.start];
            let lines: Vec<String> = lines.iter().map(|line| format!("{visibility}use {line};")).collect();
            self.edit(file, bytes, lines.join(&format!("\n{attributes}")));
        }
    }
}

fn reach_from(user: &ModulePath, module: &ModulePath) -> Reach {
    match () {
        () if user.root() != module.root() => Reach::Public,
        () if user.is_below(module) => Reach::Private,
        () => Reach::Crate,
    }
}

fn reach_of(tokens: &[crate::tidy::source::Token], visibility: &Range<usize>) -> Reach {
    match visibility.len() {
        0 => Reach::Private,
        1 => Reach::Public,
        _ => Reach::Crate,
    }
    .min(if visibility.is_empty() || tokens[visibility.start].text == "pub" {
        Reach::Public
    } else {
        Reach::Private
    })
}
