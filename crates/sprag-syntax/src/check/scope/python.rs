//! Scopes of Python: a name that a function assigns is local in its whole body. Callers can name parameters,
//! so their text counts. Names of a class are attributes.

use super::{IdentifierUse, ScopeKind, ScopeWalk};
use crate::symbol::{QuickSet, Sym, Symbols};
use crate::tree::{NodeId, SyntaxTree};

impl ScopeWalk<'_> {
    pub(super) fn python(&mut self, id: NodeId) {
        self.python_keys(id);
        match self.tree.kind(id) {
            "function_definition" => {
                // Defaults and annotations are evaluated outside the function.
                self.python_outside(id);
                self.python_defined(id, Defines::Function);
                self.push(ScopeKind::Function, id);
                self.python_parameters(id);
                if let Some(body) = self.tree.child(id, "body") {
                    self.python_function(body);
                }
                self.pop();
            }
            "lambda" => {
                self.python_outside(id);
                self.push(ScopeKind::Function, id);
                self.python_parameters(id);
                self.fields(id, &["body"]);
                self.pop();
            }
            "class_definition" => {
                self.fields(id, &["superclasses", "type_parameters"]);
                if let Some(name) = self.tree.child(id, "name")
                    && self.uses[name as usize] == IdentifierUse::Text
                {
                    self.reference(name);
                }
                self.python_defined(id, Defines::Class);
                if let Some(body) = self.tree.child(id, "body") {
                    let in_function = !self.scopes.is_empty();
                    if in_function {
                        self.push(ScopeKind::Class, id);
                        let mut names = Vec::new();
                        self.python_targets(body, &mut names);
                        let names = names.iter().map(|name| self.tree.sym(*name)).collect::<Vec<_>>();
                        self.scopes.last_mut().expect("pushed above").outside.extend(names);
                    }
                    self.visit(body);
                    if in_function {
                        self.pop();
                    }
                }
            }
            "list_comprehension"
            | "set_comprehension"
            | "dictionary_comprehension"
            | "generator_expression" => {
                self.python_comprehension(id);
            }
            "decorated_definition" => {
                let is_wrapped = self.tree.kids(id).iter().any(|kid| {
                    self.tree.kind(*kid) == "decorator" && !is_blind(self.tree, self.symbols, *kid)
                });
                self.kids(id);
                let name = self.tree.child(id, "definition").and_then(|inner| self.tree.child(inner, "name"));
                if let (true, Some(name)) = (is_wrapped, name) {
                    self.python_pin(name);
                }
            }
            "call" => {
                if let Some(function) = self.tree.child(id, "function").filter(|it| self.tree.is_leaf(*it)) {
                    self.called.callees.insert(function);
                }
                self.python_asked(id);
                self.kids(id);
            }
            "attribute" => {
                let reads = self.tree.child(id, "attribute").is_some_and(|name| {
                    matches!(self.symbols.text(self.tree.sym(name)), "__name__" | "__qualname__")
                });
                self.called.reads_name |= reads;
                self.called.reads_class |= reads;
                self.fields(id, &["object"]);
            }
            "keyword_argument" => self.fields(id, &["value"]),
            "named_expression" => {
                self.fields(id, &["name", "value"]);
            }
            "import_statement" | "import_from_statement" | "future_import_statement" => {
                // A local import binds its last name, which is also a name of the module, so its text counts.
                let mut names = Vec::new();
                self.python_targets(id, &mut names);
                for name in names {
                    self.named_reference(name);
                }
            }
            "global_statement" | "nonlocal_statement" => {
                for at in 0..self.tree.kids(id).len() {
                    let kid = self.tree.kids(id)[at];
                    if self.tree.kind(kid) == "identifier" {
                        self.named_reference(kid);
                    }
                }
            }
            "keyword_pattern" => {
                for at in 1..self.tree.kids(id).len() {
                    self.visit(self.tree.kids(id)[at]);
                }
            }
            _ => self.kids(id),
        }
    }

    /// Notes that `vars(x)` and `dir(x)` are about `x`.
    fn python_asked(&mut self, call: NodeId) {
        let tree = self.tree;
        let callee = tree.child(call, "function").filter(|callee| tree.is_leaf(*callee));
        let given = tree.child(call, "arguments").and_then(|given| tree.named_kids(given).next());
        let is_plain = |given: NodeId| !tree.kind(given).contains("splat");
        let asks = |callee: &NodeId| matches!(self.symbols.text(tree.sym(*callee)), "vars" | "dir");
        let asked = callee.filter(asks).filter(|_| given.is_some_and(is_plain));
        self.called.elsewhere.extend(asked);
    }

    /// Records a local function or class, which may expose its name. A base class sees the names of its
    /// classes.
    fn python_defined(&mut self, id: NodeId, defines: Defines) {
        let Some(name) = self.tree.child(id, "name") else { return };
        let IdentifierUse::Local(binding) = self.uses[name as usize] else { return };
        match defines {
            Defines::Function => self.called.functions.insert(binding),
            Defines::Class => self.called.classes.insert(binding),
        };
        if self.tree.child(id, "superclasses").is_some() {
            self.python_pin(name);
        }
    }

    fn python_pin(&mut self, name: NodeId) {
        if let IdentifierUse::Local(binding) = self.uses[name as usize] {
            self.bindings[binding as usize].is_pinned = true;
        }
    }

    /// Collects texts that are only compared, or are keys or attribute names. Their words are not names of
    /// locals.
    pub(super) fn python_keys(&mut self, id: NodeId) {
        let tree = self.tree;
        let symbols = self.symbols;
        let is_word =
            |text: &str| text.trim_matches(['\'', '"']).chars().all(|c| c.is_alphanumeric() || c == '_');
        let is_text = |kid: &NodeId| {
            tree.kind(*kid) == "string" && tree.is_leaf(*kid) && is_word(symbols.text(tree.sym(*kid)))
        };
        let mut take = |kid: NodeId| self.keys.extend(Some(kid).filter(is_text));
        match tree.kind(id) {
            "subscript" => tree.child(id, "subscript").into_iter().for_each(take),
            "pair" => tree.child(id, "key").into_iter().for_each(take),
            "comparison_operator" => tree.kids(id).iter().copied().for_each(take),
            "call" => {
                let callee = tree.child(id, "function").filter(|callee| tree.is_leaf(*callee));
                let name = callee.map(|callee| self.symbols.text(tree.sym(callee)));
                let arguments = tree.child(id, "arguments");
                if matches!(name, Some("getattr" | "hasattr" | "setattr" | "delattr")) {
                    arguments.and_then(|list| tree.named_kids(list).nth(1)).into_iter().for_each(&mut take);
                }
            }
            _ => {}
        }
    }

    /// Marks locals that occur in a text, because queries, formulas and templates may read them.
    pub(super) fn python_text(&mut self, id: NodeId) {
        if self.keys.contains(&id) {
            return;
        }
        let symbols = self.symbols;
        let words = symbols.text(self.tree.sym(id)).split(|c: char| !c.is_alphanumeric() && c != '_');
        for word in words.filter(|word| !word.is_empty()) {
            if let Some((binding, _)) = symbols.find(word).and_then(|sym| self.lookup(sym)) {
                self.bindings[binding as usize].is_pinned = true;
            }
        }
    }

    fn python_outside(&mut self, id: NodeId) {
        self.fields(id, &["return_type"]);
        if let Some(name) =
            self.tree.child(id, "name").filter(|_| self.tree.kind(id) == "function_definition")
        {
            self.reference(name);
        }
        let Some(parameters) = self.tree.child(id, "parameters") else { return };
        for parameter in self.tree.kids(parameters).to_vec() {
            if !self.tree.is_leaf(parameter) {
                self.fields(parameter, &["value", "type"]);
            }
        }
    }

    fn python_parameters(&mut self, id: NodeId) {
        let is_lambda = self.tree.kind(id) == "lambda";
        let Some(parameters) = self.tree.child(id, "parameters") else { return };
        for parameter in self.tree.kids(parameters).to_vec() {
            let name = match self.tree.kind(parameter) {
                "identifier" => Some(parameter),
                "default_parameter" | "typed_default_parameter" => self.tree.child(parameter, "name"),
                _ => self
                    .tree
                    .walk(parameter)
                    .find(|node| self.tree.kind(*node) == "identifier" && self.tree.field(*node) != "type"),
            };
            let is_starred = self.tree.kind(parameter).contains("splat");
            match name {
                // A caller cannot name `*args` and `**options`.
                Some(name) if is_starred => {
                    self.bind(name);
                }
                Some(name) if is_lambda && self.tree.kind(parameter) == "identifier" => {
                    self.bind_pinned(name)
                }
                Some(name) => self.bind_pinned(name),
                None => {}
            }
        }
    }

    fn python_function(&mut self, body: NodeId) {
        let mut names = Vec::new();
        self.python_targets(body, &mut names);
        let elsewhere = self.python_elsewhere(body);
        let depth = self.scopes.len() - 1;
        self.scopes[depth]
            .outside
            .extend(elsewhere.iter().filter(|(_, nonlocal)| !nonlocal).map(|(name, _)| *name));
        let elsewhere: QuickSet<Sym> = elsewhere.into_iter().map(|(name, _)| name).collect();
        for name in names {
            let sym = self.tree.sym(name);
            let is_elsewhere = elsewhere.contains(&sym);
            let is_known = self.scopes[depth].names.contains_key(&sym);
            if !is_elsewhere && !is_known {
                self.bind_in(depth, name);
            }
        }
        self.visit(body);
    }

    fn python_comprehension(&mut self, id: NodeId) {
        // The first iterable is evaluated outside.
        let clauses: Vec<NodeId> = self
            .tree
            .kids(id)
            .iter()
            .copied()
            .filter(|kid| self.tree.kind(*kid) == "for_in_clause")
            .collect();
        if let Some(first) = clauses.first() {
            self.fields(*first, &["right"]);
        }
        self.push(ScopeKind::Function, id);
        let mut names = Vec::new();
        for clause in &clauses {
            if let Some(left) = self.tree.child(*clause, "left") {
                self.python_pattern(left, &mut names);
            }
        }
        let depth = self.scopes.len() - 1;
        for name in names {
            if !self.scopes[depth].names.contains_key(&self.tree.sym(name)) {
                self.bind_in(depth, name);
            }
        }
        for (at, clause) in clauses.iter().enumerate() {
            self.fields(*clause, if at == 0 { &["left"] } else { &["left", "right"] });
        }
        for kid in self.tree.kids(id).to_vec() {
            if self.tree.kind(kid) != "for_in_clause" {
                self.visit(kid);
            }
        }
        self.pop();
    }

    /// Returns the `global` and `nonlocal` names of a function; `true` marks `nonlocal`.
    fn python_elsewhere(&self, body: NodeId) -> Vec<(Sym, bool)> {
        let mut found = Vec::new();
        let mut stack = vec![body];
        while let Some(id) = stack.pop() {
            match self.tree.kind(id) {
                "function_definition" | "class_definition" | "lambda" => continue,
                kind @ ("global_statement" | "nonlocal_statement") => {
                    let names = self.tree.kids(id).iter().filter(|kid| self.tree.kind(**kid) == "identifier");
                    found.extend(names.map(|name| (self.tree.sym(*name), kind == "nonlocal_statement")));
                }
                _ => stack.extend(self.tree.kids(id)),
            }
        }
        found
    }

    /// Collects the identifiers that a body binds, without inner functions and classes.
    fn python_targets(&self, body: NodeId, names: &mut Vec<NodeId>) {
        let mut stack = vec![body];
        while let Some(id) = stack.pop() {
            match self.tree.kind(id) {
                "function_definition" | "class_definition" => names.extend(self.tree.child(id, "name")),
                "lambda" => {}
                "list_comprehension"
                | "set_comprehension"
                | "dictionary_comprehension"
                | "generator_expression" => {
                    // A walrus inside binds a name outside.
                    let walrus =
                        self.tree.walk(id).filter(|node| self.tree.kind(*node) == "named_expression");
                    names.extend(walrus.filter_map(|node| self.tree.child(node, "name")));
                }
                kind => {
                    match kind {
                        "assignment" | "augmented_assignment" | "for_statement" => {
                            if let Some(left) = self.tree.child(id, "left") {
                                self.python_pattern(left, names);
                            }
                        }
                        "named_expression" => names.extend(self.tree.child(id, "name")),
                        "as_pattern_target" => self.python_pattern(id, names),
                        "delete_statement" => {
                            for kid in self.tree.kids(id) {
                                self.python_pattern(*kid, names);
                            }
                        }
                        "case_pattern" | "splat_pattern" => self.python_case(id, names),
                        "import_statement" | "import_from_statement" => {
                            for name in
                                self.tree.kids(id).iter().filter(|kid| self.tree.field(**kid) == "name")
                            {
                                let bound = match self.tree.kind(*name) {
                                    "aliased_import" => self.tree.child(*name, "alias"),
                                    _ => self.tree.kids(*name).first().copied(),
                                };
                                names.extend(bound);
                            }
                        }
                        "except_clause" => {
                            names.extend(
                                self.tree
                                    .child(id, "alias")
                                    .filter(|alias| self.tree.kind(*alias) == "identifier"),
                            );
                        }
                        _ => {}
                    }
                    stack.extend(self.tree.kids(id).iter().rev());
                }
            }
        }
    }

    fn python_pattern(&self, id: NodeId, names: &mut Vec<NodeId>) {
        match self.tree.kind(id) {
            "identifier" => names.push(id),
            "attribute" | "subscript" | "call" => {}
            _ => {
                for kid in self.tree.kids(id) {
                    self.python_pattern(*kid, names);
                }
            }
        }
    }

    fn python_case(&self, id: NodeId, names: &mut Vec<NodeId>) {
        for kid in self.tree.kids(id) {
            match self.tree.kind(*kid) {
                "dotted_name" if self.tree.kids(*kid).len() == 1 => names.push(self.tree.kids(*kid)[0]),
                "identifier" => names.push(*kid),
                _ => {}
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Defines {
    Function,
    Class,
}

/// Reports whether a decorator ignores the name of its function or replaces it.
fn is_blind(tree: &SyntaxTree, symbols: &Symbols, decorator: NodeId) -> bool {
    let mut words = tree.walk(decorator).filter(|id| tree.kind(*id) == "identifier");
    let first = words.next().map(|id| symbols.text(tree.sym(id)));
    match first {
        Some("functools") => words.next().is_some_and(|id| symbols.text(tree.sym(id)) == "wraps"),
        first => matches!(first, Some("wraps" | "staticmethod" | "classmethod")),
    }
}

/// Reports whether a source inspects stack frames, and with them the locals of functions.
pub(crate) fn reads_frames(tree: &SyntaxTree, symbols: &Symbols) -> bool {
    let names =
        "f_locals _getframe currentframe getinnerframes getouterframes co_varnames co_cellvars co_freevars";
    let readers: Vec<Sym> = names.split_whitespace().filter_map(|name| symbols.find(name)).collect();
    !readers.is_empty() && tree.walk(tree.root).any(|id| tree.is_leaf(id) && readers.contains(&tree.sym(id)))
}
