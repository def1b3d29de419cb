//! Name resolution: each identifier of a tree is either a local of a function or free. The checker compares
//! free names by text and locals by binding. So a renamed local makes no difference, but a captured name
//! does.
//!
//! An identifier whose meaning is not certain is `Named`: it has a binding, and its text counts too.

mod go;
mod java;
mod python;
mod rust;
mod script;

use crate::lang::Lang;
use crate::symbol::{QuickMap, QuickSet, Sym, Symbols};
use crate::tree::{NodeId, SyntaxTree};

/// The meaning of an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdentifierUse {
    /// An identifier that is not looked up as a name.
    Text,
    /// A looked-up name that no function declares.
    Free,
    Local(u32),
    /// A local whose text counts at this use.
    Named(u32),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Binding {
    pub name: Sym,
    /// Whether the text counts at every use.
    pub is_pinned: bool,
    /// The declaring identifier.
    pub at: NodeId,
}

/// The resolution of a whole tree.
pub(crate) struct Scopes {
    uses: Vec<IdentifierUse>,
    pub bindings: Vec<Binding>,
    /// The outermost functions or blocks with their own names.
    regions: QuickSet<NodeId>,
    /// The number of scopes that lookups visited.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test counts the work"))]
    looks: usize,
}

impl Scopes {
    pub(crate) fn build(tree: &SyntaxTree, symbols: &Symbols) -> Scopes {
        let mut walk = ScopeWalk {
            tree,
            symbols,
            uses: vec![IdentifierUse::Text; tree.len()],
            bindings: Vec::new(),
            scopes: Vec::new(),
            regions: QuickSet::default(),
            alternatives: None,
            constants: QuickSet::default(),
            macros: QuickSet::default(),
            keys: QuickSet::default(),
            reader: NameReader::Nobody,
            called: ExposedLocals::default(),
            looks: 0,
        };
        walk.prepare();
        walk.visit(tree.root);
        walk.finish();
        Scopes { uses: walk.uses, bindings: walk.bindings, regions: walk.regions, looks: walk.looks }
    }

    pub(crate) fn of_leaf(&self, id: NodeId) -> IdentifierUse {
        self.uses[id as usize]
    }

    pub(crate) fn is_region(&self, id: NodeId) -> bool {
        self.regions.contains(&id)
    }
}

struct ScopeWalk<'a> {
    tree: &'a SyntaxTree,
    symbols: &'a Symbols,
    uses: Vec<IdentifierUse>,
    bindings: Vec<Binding>,
    scopes: Vec<LexicalScope>,
    regions: QuickSet<NodeId>,
    /// Bindings from the alternatives of a Rust pattern.
    alternatives: Option<QuickMap<Sym, u32>>,
    /// Constants of a Rust source, which a pattern compares with and does not bind.
    constants: QuickSet<Sym>,
    /// Macros that a Rust source defines.
    macros: QuickSet<Sym>,
    /// Python texts that are only texts.
    keys: QuickSet<NodeId>,
    reader: NameReader,
    called: ExposedLocals,
    looks: usize,
}

/// Whether something reads the names of locals: an attribute in Rust, an annotation in Java.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NameReader {
    Nobody,
    Somebody,
}

/// Local functions and classes that may expose their own names.
#[derive(Default)]
struct ExposedLocals {
    functions: QuickSet<u32>,
    classes: QuickSet<u32>,
    /// Identifiers that are called and not passed on.
    callees: QuickSet<NodeId>,
    /// Calls of Python's `vars` and `dir` with an argument, which do not list the enclosing function.
    elsewhere: QuickSet<NodeId>,
    /// Locals that are passed on as values.
    handed: QuickSet<u32>,
    reads_name: bool,
    reads_class: bool,
}

#[derive(Default)]
struct LexicalScope {
    kind: ScopeKind,
    /// The last binding of each name.
    names: QuickMap<Sym, u32>,
    /// All bindings.
    all: Vec<u32>,
    /// Names that belong to an outer scope or to a class, and are never locals here.
    outside: QuickSet<Sym>,
    /// Whether code here reads names as texts.
    is_dynamic: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum ScopeKind {
    #[default]
    Block,
    /// `var` and `def` stop here.
    Function,
    /// Code here sees no outer names.
    Item,
    /// Names are attributes: visible in the body itself, but not in its functions.
    Class,
    /// An inherited name may hide an outer one.
    Heir,
}

impl ScopeWalk<'_> {
    fn prepare(&mut self) {
        if self.tree.lang == Lang::Rust {
            self.constants = rust::constants(self.tree);
            self.macros = rust::macros(self.tree);
        }
    }

    /// Pins bindings whose names turn out to be read.
    fn finish(&mut self) {
        if self.tree.lang == Lang::Python && python::reads_frames(self.tree, self.symbols) {
            self.bindings.iter_mut().for_each(|binding| binding.is_pinned = true);
        }
        let called = &self.called;
        let is_shown = |binding: &u32| called.reads_name && called.handed.contains(binding);
        let functions = called.functions.iter().copied().filter(is_shown);
        let classes = called.classes.iter().copied().filter(|class| called.reads_class || is_shown(class));
        for binding in functions.chain(classes) {
            self.bindings[binding as usize].is_pinned = true;
        }
    }

    fn visit(&mut self, id: NodeId) {
        if self.tree.is_leaf(id) {
            return self.leaf(id);
        }
        match self.tree.lang {
            Lang::Rust => self.rust(id),
            Lang::Go => self.go(id),
            Lang::Java => self.java(id),
            Lang::Python => self.python(id),
            Lang::JavaScript | Lang::TypeScript | Lang::Tsx => self.script(id),
        }
    }

    fn kids(&mut self, id: NodeId) {
        let mut mark = NameReader::Nobody;
        for at in 0..self.tree.kids(id).len() {
            let kid = self.tree.kids(id)[at];
            if self.tree.kind(kid) == "attribute_item" {
                if !rust::is_blind(self.tree, self.symbols, kid) {
                    mark = NameReader::Somebody;
                }
                continue;
            }
            match std::mem::replace(&mut mark, NameReader::Nobody) {
                NameReader::Nobody => self.visit(kid),
                NameReader::Somebody => self.under(NameReader::Somebody, |walk| walk.visit(kid)),
            }
        }
    }

    /// Visits a node with this reader; an outer reader stays in effect.
    fn under(&mut self, reader: NameReader, visit: impl FnOnce(&mut Self)) {
        let outer = self.reader;
        if reader == NameReader::Somebody {
            self.reader = reader;
        }
        visit(self);
        self.reader = outer;
    }

    fn fields(&mut self, id: NodeId, fields: &[&str]) {
        for at in 0..self.tree.kids(id).len() {
            let kid = self.tree.kids(id)[at];
            if fields.contains(&self.tree.field(kid)) {
                self.visit(kid);
            }
        }
    }

    fn leaf(&mut self, id: NodeId) {
        match self.tree.kind(id) {
            "identifier" => self.reference(id),
            // Types, packages and values of Go share one namespace.
            "type_identifier" | "package_identifier" if self.tree.lang == Lang::Go => self.reference(id),
            "string" | "string_content" if self.tree.lang == Lang::Python => self.python_text(id),
            "shorthand_property_identifier" | "shorthand_field_identifier" => self.named_reference(id),
            // An assignment to a pattern; a declaration has already bound it.
            "shorthand_property_identifier_pattern" if self.uses[id as usize] == IdentifierUse::Text => {
                self.named_reference(id);
            }
            _ => {}
        }
    }

    fn reference(&mut self, id: NodeId) {
        let sym = self.tree.sym(id);
        self.uses[id as usize] = match self.lookup(sym) {
            Some((binding, false)) => IdentifierUse::Local(binding),
            Some((binding, true)) => IdentifierUse::Named(binding),
            None => IdentifierUse::Free,
        };
        match self.uses[id as usize] {
            IdentifierUse::Free if self.is_dynamic(sym) && !self.called.elsewhere.contains(&id) => {
                self.all_are_read()
            }
            IdentifierUse::Local(binding) | IdentifierUse::Named(binding)
                if self.bindings[binding as usize].at != id && !self.called.callees.contains(&id) =>
            {
                self.called.handed.insert(binding);
            }
            _ => {}
        }
    }

    /// Marks all scopes as dynamic, because code here may read any local by its name.
    fn all_are_read(&mut self) {
        for scope in &mut self.scopes {
            scope.is_dynamic = true;
        }
    }

    /// Records a use whose text counts.
    fn named_reference(&mut self, id: NodeId) {
        self.uses[id as usize] = match self.lookup(self.tree.sym(id)) {
            Some((binding, _)) => IdentifierUse::Named(binding),
            None => IdentifierUse::Free,
        };
    }

    fn is_dynamic(&self, sym: Sym) -> bool {
        let text = self.symbols.text(sym);
        match self.tree.lang {
            Lang::Python => matches!(text, "locals" | "vars" | "eval" | "exec" | "dir" | "globals"),
            Lang::JavaScript | Lang::TypeScript | Lang::Tsx => matches!(text, "eval" | "Function"),
            _ => false,
        }
    }

    /// Returns the binding of a name, and whether its text counts.
    fn lookup(&mut self, sym: Sym) -> Option<(u32, bool)> {
        let mut crossed_function = false;
        let mut crossed_heir = false;
        for scope in self.scopes.iter().rev() {
            self.looks += 1;
            let is_seen = scope.kind != ScopeKind::Class || !crossed_function;
            if is_seen && let Some(binding) = scope.names.get(&sym) {
                return Some((*binding, crossed_heir));
            }
            if is_seen && scope.outside.contains(&sym) {
                return None;
            }
            match scope.kind {
                ScopeKind::Item => return None,
                ScopeKind::Function => crossed_function = true,
                ScopeKind::Heir => crossed_heir = true,
                ScopeKind::Block | ScopeKind::Class => {}
            }
        }
        None
    }

    fn push(&mut self, kind: ScopeKind, at: NodeId) {
        if self.scopes.is_empty() {
            self.regions.insert(at);
        }
        let is_dynamic = self.scopes.last().is_some_and(|scope| scope.is_dynamic);
        self.scopes.push(LexicalScope { kind, is_dynamic, ..LexicalScope::default() });
    }

    fn pop(&mut self) {
        let scope = self.scopes.pop().expect("every pop has its push");
        if scope.is_dynamic {
            for binding in scope.all {
                self.bindings[binding as usize].is_pinned = true;
            }
        }
    }

    /// Binds a new local in the innermost scope. Outside functions there are no locals.
    fn bind(&mut self, id: NodeId) -> Option<u32> {
        let depth = self.scopes.len().checked_sub(1)?;
        Some(self.bind_in(depth, id))
    }

    fn bind_in(&mut self, depth: usize, id: NodeId) -> u32 {
        let name = self.tree.sym(id);
        let binding = self.bindings.len() as u32;
        let is_pinned =
            self.reader == NameReader::Somebody || name_counts(self.tree.lang, self.symbols.text(name));
        self.bindings.push(Binding { name, is_pinned, at: id });
        let twin = self.twin(depth, name);
        self.scopes[depth].names.insert(name, binding);
        self.scopes[depth].all.push(binding);
        if let Some(twin) = twin {
            self.bindings[twin as usize].is_pinned = true;
            self.bindings[binding as usize].is_pinned = true;
        }
        self.uses[id as usize] = IdentifierUse::Local(binding);
        binding
    }

    /// Returns a local of the same name that makes this declaration invalid.
    fn twin(&self, depth: usize, name: Sym) -> Option<u32> {
        let here = &self.scopes[depth];
        match self.tree.lang {
            // A block may hide outer names; in Rust it may even hide its own.
            Lang::Rust | Lang::Python | Lang::JavaScript | Lang::TypeScript | Lang::Tsx => {
                let has_parameters = matches!(here.kind, ScopeKind::Function | ScopeKind::Item);
                here.names.get(&name).copied().filter(|_| has_parameters)
            }
            Lang::Go => here.names.get(&name).copied(),
            // A Java local cannot hide another local of its method.
            Lang::Java => {
                let around = self.scopes[..=depth].iter().rev();
                around
                    .take_while(|scope| scope.kind != ScopeKind::Heir)
                    .find_map(|scope| scope.names.get(&name).copied())
            }
        }
    }

    fn bind_pinned(&mut self, id: NodeId) {
        if let Some(binding) = self.bind(id) {
            self.bindings[binding as usize].is_pinned = true;
        }
    }
}

/// Reports whether the text of a local name counts: it has a special meaning or several spellings.
fn name_counts(lang: Lang, name: &str) -> bool {
    let is_known = match lang {
        // Mangled inside a class, and read by tools.
        Lang::Python => name.starts_with("__"),
        // Passed by name to code that asks for it, or a reserved word, at least in strict code.
        Lang::JavaScript | Lang::TypeScript | Lang::Tsx => {
            let reserved = "await yield let static eval arguments implements interface package private protected public \
                            enum undefined NaN Infinity async of";
            (name.len() > 1 && name.starts_with('$')) || is_word(reserved, name)
        }
        Lang::Rust => is_word(
            "abstract become box do final macro override priv try typeof unsized virtual yield gen async await dyn union",
            name,
        ),
        Lang::Java => is_word("_ goto const enum assert strictfp var yield record sealed permits when", name),
        Lang::Go => false,
    };
    is_known || !name.is_ascii() || name.contains('\\')
}

fn is_word(words: &str, name: &str) -> bool {
    words.split_whitespace().any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(locals: usize) -> usize {
        let body: String = (0..locals).map(|n| format!("    let v{n} = g(v{});\n", n.max(1) - 1)).collect();
        let source = format!("fn f(v0: u8) {{\n{body}}}\n");
        let mut symbols = Symbols::new();
        let tree = crate::tree::read(Lang::Rust, source.as_bytes(), &mut symbols, &mut usize::MAX.clone())
            .expect("the source is well formed");
        let scopes = Scopes::build(&tree, &symbols);
        assert!(scopes.bindings.len() > locals);
        scopes.looks
    }

    #[test]
    fn twice_as_many_locals_are_twice_the_work() {
        let (some, more) = (looks(2000), looks(4000));
        assert!(more <= some * 2 + 10, "{some} and {more}");
    }
}
