//! Modules of the workspace: their items and imports, and the meaning of a path in them. The module of a file
//! follows from its path, so modules that a macro declares are found too.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::source::{Place, Source, Token};
pub use path::{ModulePath, module_of_file};
use reader::Reader;

mod path;
mod reader;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemKind {
    Module,
    Type,
    Function,
    Value,
    Macro,
}

#[derive(Clone, Debug)]
pub struct Item {
    pub name: String,
    pub kind: ItemKind,
    /// The index of its name among the tokens of the file.
    pub at: usize,
    /// The tokens of its visibility; empty for a private item.
    pub visibility: Range<usize>,
    /// Names of variants with their tokens, if it is an enum.
    pub variants: Vec<(String, usize)>,
    /// The range where the name is known: the module, or a block of a function.
    pub scope: Range<usize>,
}

#[derive(Clone, Debug)]
pub struct Import {
    pub segments: Vec<String>,
    /// The name that it defines; none for `*`.
    pub name: Option<String>,
    pub has_alias: bool,
    pub scope: Range<usize>,
    /// The whole statement with its attributes.
    pub statement: Range<usize>,
    pub visibility: Range<usize>,
    pub line: usize,
}

#[derive(Debug)]
pub struct Module {
    pub file: usize,
    /// The tokens of its body.
    pub body: Range<usize>,
    pub items: Vec<Item>,
    pub imports: Vec<Import>,
    pub is_test: bool,
}

/// The meaning of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    Module(ModulePath),
    Item(ModulePath, String),
    Variant,
}

/// A path in the code, outside `use`.
#[derive(Debug)]
pub struct PathUse {
    pub module: ModulePath,
    /// Indices of the names among the tokens of the file.
    pub names: Vec<usize>,
}

/// The steps of a resolved path.
#[derive(Debug, Default)]
pub struct Resolved {
    /// The meaning after each segment, as far as it is known.
    pub steps: Vec<Meaning>,
}

/// The meaning that wins at the end of a path, if a function and a module share a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Item,
    Module,
}

pub struct Modules {
    pub sources: Vec<Source>,
    pub modules: BTreeMap<ModulePath, Module>,
    /// The modules of each file, the outermost first.
    pub of_file: BTreeMap<usize, Vec<ModulePath>>,
    closing: Vec<BTreeMap<usize, usize>>,
}

impl Modules {
    pub fn new(sources: &[Source]) -> Modules {
        let paths: BTreeSet<&str> = sources.iter().map(|source| source.path.as_str()).collect();
        let closing = sources.iter().map(|source| closing_brackets(&source.tokens)).collect();
        let mut all = Modules {
            sources: sources.to_vec(),
            modules: BTreeMap::new(),
            of_file: BTreeMap::new(),
            closing,
        };
        for file in 0..all.sources.len() {
            let Some(path) = module_of_file(&all.sources[file].path, &paths) else { continue };
            let tokens = 0..all.sources[file].tokens.len();
            all.add_module(file, tokens, path, Place::Product);
        }
        all.mark_tests();
        let owners = all.owners_of_test_folders();
        for (from, to) in owners {
            all.adopt(&from, &to);
        }
        all
    }

    fn add_module(&mut self, file: usize, body: Range<usize>, path: ModulePath, place: Place) {
        let source = self.sources[file].clone();
        let mut reader =
            Reader { tokens: &source.tokens, closing: &self.closing[file], items: vec![], imports: vec![] };
        let inner = reader.read_module(body.clone());
        let is_test = place == Place::Test
            || body.clone().next().is_some_and(|at| source.tokens[at].place == Place::Test);
        let (items, imports) = (reader.items, reader.imports);
        self.of_file.entry(file).or_default().push(path.clone());
        self.modules.insert(path.clone(), Module { file, body, items, imports, is_test });
        for (name, body) in inner {
            let place = if is_test { Place::Test } else { source.tokens[body.start - 1].place };
            self.add_module(file, body, path.child(&name), place);
        }
    }

    /// Marks modules that are declared for tests as test code, with all modules below them.
    fn mark_tests(&mut self) {
        let declared: Vec<ModulePath> = self
            .modules
            .iter()
            .flat_map(|(path, module)| {
                let tokens = &self.sources[module.file].tokens;
                let modules = module.items.iter().filter(|item| item.kind == ItemKind::Module);
                let tests = modules.filter(|item| tokens[item.at].place == Place::Test);
                tests.map(|item| path.child(&item.name)).collect::<Vec<_>>()
            })
            .collect();
        for (path, module) in &mut self.modules {
            module.is_test |= declared.iter().any(|test| path.is_below(test));
        }
    }

    /// Returns folders below `tests/` that belong to a test beside them: the folder as a crate, and the test.
    fn owners_of_test_folders(&self) -> Vec<(ModulePath, ModulePath)> {
        let mut found = Vec::new();
        for (path, module) in &self.modules {
            if path.0.len() != 1 || !path.0[0].contains("/tests/") {
                continue;
            }
            for item in module.items.iter().filter(|item| item.kind == ItemKind::Module) {
                let folder = path.0[0].rsplit_once('/').map(|(dir, _)| format!("{dir}/{}", item.name));
                let folder = ModulePath(vec![folder.unwrap_or_default()]);
                if self.modules.contains_key(&folder) && folder != *path {
                    found.push((folder, path.child(&item.name)));
                }
            }
        }
        found
    }

    fn adopt(&mut self, from: &ModulePath, to: &ModulePath) {
        let moved: Vec<ModulePath> =
            self.modules.keys().filter(|path| path.is_below(from)).cloned().collect();
        for old in moved {
            let mut parts = to.0.clone();
            parts.extend_from_slice(&old.0[from.0.len()..]);
            let new = ModulePath(parts);
            let module = self.modules.remove(&old).expect("it was listed");
            for path in self.of_file.entry(module.file).or_default() {
                if *path == old {
                    *path = new.clone();
                }
            }
            self.modules.insert(new, module);
        }
    }

    /// Returns the innermost module around a token of a file.
    pub fn at(&self, file: usize, token: usize) -> Option<&ModulePath> {
        let paths = self.of_file.get(&file)?;
        let around = paths.iter().filter(|path| self.modules[*path].body.contains(&token));
        around.min_by_key(|path| self.modules[*path].body.len())
    }

    /// Returns the meanings of a name at a place; several if a module and an item share it.
    pub fn look_up(&self, module: &ModulePath, at: Option<usize>, name: &str) -> Vec<Meaning> {
        let Some(here) = self.modules.get(module) else { return Vec::new() };
        if let Some(at) = at {
            let local = |scope: &Range<usize>| scope.len() < here.body.len() && scope.contains(&at);
            let items = here.items.iter().filter(|item| item.name == name && local(&item.scope));
            if items.count() > 0 {
                return Vec::new();
            }
            let mut imports: Vec<&Import> = here
                .imports
                .iter()
                .filter(|import| import.name.as_deref() == Some(name) && local(&import.scope))
                .collect();
            imports.sort_by_key(|import| import.scope.len());
            if let Some(import) = imports.first() {
                return self.meaning_of_import(module, import, &mut BTreeSet::new());
            }
        }
        let found = self.member(module, name, &mut BTreeSet::new());
        if !found.is_empty() {
            return found;
        }
        let crate_root = ModulePath(vec![name.to_owned()]);
        if self.modules.contains_key(&crate_root) { vec![Meaning::Module(crate_root)] } else { Vec::new() }
    }

    /// Returns the meanings of a name as a member of a module.
    fn member(
        &self,
        module: &ModulePath,
        name: &str,
        seen: &mut BTreeSet<(ModulePath, String)>,
    ) -> Vec<Meaning> {
        if !seen.insert((module.clone(), name.to_owned())) {
            return Vec::new();
        }
        let Some(here) = self.modules.get(module) else { return Vec::new() };
        let mut found = Vec::new();
        let child = module.child(name);
        if self.modules.contains_key(&child) {
            found.push(Meaning::Module(child));
        }
        let is_of_module = |scope: &Range<usize>| scope.len() == here.body.len();
        let is_item =
            |item: &&Item| item.name == name && item.kind != ItemKind::Module && is_of_module(&item.scope);
        if here.items.iter().any(|item| is_item(&item)) {
            found.push(Meaning::Item(module.clone(), name.to_owned()));
        }
        // A function and a module may share a name.
        let is_type = |item: &&Item| matches!(item.kind, ItemKind::Type | ItemKind::Module);
        let has_type = here.items.iter().any(|item| is_item(&item) && is_type(&item));
        if !has_type {
            let named = here
                .imports
                .iter()
                .filter(|import| import.name.as_deref() == Some(name) && is_of_module(&import.scope));
            for import in named {
                found.extend(self.meaning_of_import(module, import, seen));
            }
            found.dedup();
        }
        if found.is_empty() {
            for import in here.imports.iter().filter(|import| import.name.is_none()) {
                let steps = self.resolve_import(module, import, seen).steps;
                match steps.get(import.segments.len() - 1) {
                    Some(Meaning::Module(path)) => found.extend(self.member(path, name, seen)),
                    Some(Meaning::Item(path, of)) if self.has_variant(path, of, name) => {
                        found.push(Meaning::Variant);
                    }
                    _ => {}
                }
                if !found.is_empty() {
                    break;
                }
            }
        }
        found
    }

    fn has_variant(&self, module: &ModulePath, item: &str, variant: &str) -> bool {
        let Some(here) = self.modules.get(module) else { return false };
        here.items
            .iter()
            .any(|each| each.name == item && each.variants.iter().any(|(name, _)| name == variant))
    }

    fn meaning_of_import(
        &self,
        module: &ModulePath,
        import: &Import,
        seen: &mut BTreeSet<(ModulePath, String)>,
    ) -> Vec<Meaning> {
        let Some((last, before)) = import.segments.split_last() else { return Vec::new() };
        if before.is_empty() {
            // `use crate_name;` or `use child;`
            return self.first(module, last, seen);
        }
        let first = self.first(module, &before[0], seen);
        let prefix = self.follow(first, &before[1..], Last::Module, seen);
        match prefix.steps.get(before.len() - 1) {
            Some(Meaning::Module(path)) => self.member(path, last, seen),
            Some(Meaning::Item(path, of)) if self.has_variant(path, of, last) => vec![Meaning::Variant],
            _ => Vec::new(),
        }
    }

    fn first(
        &self,
        module: &ModulePath,
        name: &str,
        seen: &mut BTreeSet<(ModulePath, String)>,
    ) -> Vec<Meaning> {
        match name {
            "crate" => vec![Meaning::Module(module.root())],
            "self" => vec![Meaning::Module(module.clone())],
            "super" => module.parent().map(Meaning::Module).into_iter().collect(),
            _ => {
                let root = ModulePath(vec![name.to_owned()]);
                let mut found = self.member(module, name, seen);
                let child = module.child(name);
                if found.is_empty() && self.modules.contains_key(&child) {
                    // `use x::x` needs the module while the name is being resolved.
                    found.push(Meaning::Module(child));
                }
                if found.is_empty() && self.modules.contains_key(&root) {
                    return vec![Meaning::Module(root)];
                }
                found
            }
        }
    }

    pub fn resolve_import(
        &self,
        module: &ModulePath,
        import: &Import,
        seen: &mut BTreeSet<(ModulePath, String)>,
    ) -> Resolved {
        self.resolve_segments(module, &import.segments, seen)
    }

    fn resolve_segments(
        &self,
        module: &ModulePath,
        segments: &[String],
        seen: &mut BTreeSet<(ModulePath, String)>,
    ) -> Resolved {
        let Some((first, rest)) = segments.split_first() else { return Resolved::default() };
        self.follow(self.first(module, first, seen), rest, Last::Item, seen)
    }

    fn follow(
        &self,
        first: Vec<Meaning>,
        rest: &[String],
        last: Last,
        seen: &mut BTreeSet<(ModulePath, String)>,
    ) -> Resolved {
        let mut steps = Vec::new();
        let mut meanings = first;
        for segment in rest.iter().map(Some).chain([None]) {
            let is_module = |meaning: &&Meaning| matches!(meaning, Meaning::Module(_));
            let wanted = match segment {
                Some(_) => meanings.iter().find(is_module).or(meanings.first()),
                None if last == Last::Module => meanings.iter().find(is_module).or(meanings.first()),
                None => meanings.iter().find(|meaning| !is_module(meaning)).or(meanings.first()),
            };
            let Some(meaning) = wanted.cloned() else { break };
            steps.push(meaning.clone());
            let Some(segment) = segment else { break };
            meanings = match meaning {
                Meaning::Module(path) if segment == "super" => {
                    path.parent().map(Meaning::Module).into_iter().collect()
                }
                Meaning::Module(path) if segment == "self" => vec![Meaning::Module(path)],
                Meaning::Module(path) => self.member(&path, segment, seen),
                Meaning::Item(..) | Meaning::Variant => break,
            };
        }
        Resolved { steps }
    }

    /// Returns the steps of a path at a place in a module.
    pub fn resolve(&self, module: &ModulePath, at: usize, segments: &[String]) -> Resolved {
        let Some((first, rest)) = segments.split_first() else { return Resolved::default() };
        let mut seen = BTreeSet::new();
        let meanings = match first.as_str() {
            "crate" | "self" | "super" => self.first(module, first, &mut seen),
            _ => self.look_up(module, Some(at), first),
        };
        self.follow(meanings, rest, Last::Item, &mut BTreeSet::new())
    }

    /// Returns the paths of a file outside `use` that have several names.
    pub fn paths_of(&self, file: usize) -> Vec<PathUse> {
        let tokens = &self.sources[file].tokens;
        let mut found = Vec::new();
        let mut skip_to = 0;
        let statements: Vec<Range<usize>> = self
            .of_file
            .get(&file)
            .into_iter()
            .flatten()
            .flat_map(|path| self.modules[path].imports.iter().map(|import| import.statement.clone()))
            .collect();
        let variants: BTreeSet<usize> = self
            .of_file
            .get(&file)
            .into_iter()
            .flatten()
            .flat_map(|path| self.modules[path].items.iter().flat_map(|item| &item.variants))
            .map(|(_, at)| *at)
            .collect();
        let ends: BTreeMap<usize, usize> = statements.iter().map(|range| (range.start, range.end)).collect();
        for (at, token) in tokens.iter().enumerate() {
            if let Some(end) = ends.get(&at) {
                skip_to = skip_to.max(*end);
            }
            if at < skip_to || !is_name(&token.text) || variants.contains(&at) {
                continue;
            }
            let before = at.checked_sub(1).map(|before| tokens[before].text.as_str());
            if matches!(
                before,
                Some("::" | "." | "'" | "fn" | "mod" | "struct" | "enum" | "trait" | "union" | "type")
            ) {
                // In `a..b` a path may follow the dots.
                let is_range = before == Some(".") && at >= 2 && tokens[at - 2].text == ".";
                if !is_range {
                    continue;
                }
            }
            let mut names = vec![at];
            while let [colons, name, ..] = &tokens[names[names.len() - 1] + 1..] {
                if colons.text != "::" || !is_name(&name.text) {
                    break;
                }
                names.push(names[names.len() - 1] + 2);
            }
            skip_to = names[names.len() - 1] + 1;
            if names.len() > 1
                && let Some(module) = self.at(file, at)
            {
                found.push(PathUse { module: module.clone(), names });
            }
        }
        found
    }
}

fn closing_brackets(tokens: &[Token]) -> BTreeMap<usize, usize> {
    let mut open = Vec::new();
    let mut closing = BTreeMap::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "(" | "[" | "{" => open.push(at),
            ")" | "]" | "}" => {
                if let Some(start) = open.pop() {
                    closing.insert(start, at);
                }
            }
            _ => {}
        }
    }
    closing
}

pub fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}
