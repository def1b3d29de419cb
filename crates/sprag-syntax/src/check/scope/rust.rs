//! Scopes of Rust: patterns bind names, a `let` is visible from its end, and items do not see the enclosing
//! function. The checker knows the common macros; in any other macro the text of an identifier counts.

use super::{IdentifierUse, ScopeKind, ScopeWalk};
use crate::symbol::{QuickMap, QuickSet, Sym, Symbols};
use crate::tree::sugar::is_std_macro;
use crate::tree::{NodeId, SyntaxTree};

impl ScopeWalk<'_> {
    pub(super) fn rust(&mut self, id: NodeId) {
        match self.tree.kind(id) {
            "function_item" | "function_signature_item" => {
                self.push(ScopeKind::Item, id);
                self.fields(id, &["parameters", "return_type", "type_parameters"]);
                self.fields(id, &["body"]);
                self.pop();
            }
            "const_item" | "static_item" | "enum_variant" => {
                self.push(ScopeKind::Item, id);
                self.fields(id, &["value", "type", "body"]);
                self.pop();
            }
            "parameter" => {
                self.fields(id, &["type"]);
                self.pattern_field(id);
            }
            "closure_expression" => {
                self.push(ScopeKind::Function, id);
                if let Some(parameters) = self.tree.child(id, "parameters") {
                    for at in 0..self.tree.kids(parameters).len() {
                        let kid = self.tree.kids(parameters)[at];
                        match self.tree.kind(kid) {
                            "parameter" => self.visit(kid),
                            _ => self.pattern(kid),
                        }
                    }
                }
                self.fields(id, &["return_type", "body"]);
                self.pop();
            }
            "block" => {
                self.push(ScopeKind::Block, id);
                self.kids(id);
                self.pop();
            }
            "let_declaration" => {
                self.fields(id, &["type", "value", "alternative"]);
                self.pattern_field(id);
            }
            "let_condition" => {
                self.fields(id, &["value"]);
                self.pattern_field(id);
            }
            "if_expression" => {
                self.push(ScopeKind::Block, id);
                self.fields(id, &["condition"]);
                self.fields(id, &["consequence"]);
                self.pop();
                self.fields(id, &["alternative"]);
            }
            "while_expression" => {
                self.push(ScopeKind::Block, id);
                self.kids(id);
                self.pop();
            }
            "for_expression" => {
                self.fields(id, &["value"]);
                self.push(ScopeKind::Block, id);
                self.pattern_field(id);
                self.fields(id, &["body"]);
                self.pop();
            }
            "match_arm" => {
                self.push(ScopeKind::Block, id);
                if let Some(pattern) = self.tree.child(id, "pattern") {
                    for at in 0..self.tree.kids(pattern).len() {
                        let kid = self.tree.kids(pattern)[at];
                        match self.tree.field(kid) {
                            "condition" => self.visit(kid),
                            _ => {
                                let from = self.bindings.len();
                                self.pattern(kid);
                                self.rust_pattern_done(from);
                            }
                        }
                    }
                }
                self.fields(id, &["value"]);
                self.pop();
            }
            "shorthand_field_initializer" => {
                for at in 0..self.tree.kids(id).len() {
                    let kid = self.tree.kids(id)[at];
                    if self.tree.kind(kid) == "identifier" {
                        self.named_reference(kid);
                    }
                }
            }
            "macro_invocation" => {
                let name = self.tree.child(id, "macro").filter(|name| self.tree.is_leaf(*name));
                let tokens = match name.map(|name| self.symbols.text(self.tree.sym(name))) {
                    Some(_) if name.is_some_and(|name| self.macros.contains(&self.tree.sym(name))) => {
                        MacroTokens::Unknown
                    }
                    Some("matches") => MacroTokens::First,
                    // These macros print the text of their argument.
                    Some("assert" | "debug_assert") | None => MacroTokens::Unknown,
                    Some(name) if is_std_macro(name) => MacroTokens::Expressions,
                    Some(_) => MacroTokens::Unknown,
                };
                for at in 0..self.tree.kids(id).len() {
                    let kid = self.tree.kids(id)[at];
                    if self.tree.kind(kid) == "token_tree" {
                        self.tokens(kid, tokens);
                    }
                }
            }
            // The expansion may read a local of the enclosing function.
            "macro_definition" => {
                for leaf in self.tree.walk(id).filter(|leaf| self.tree.kind(*leaf) == "identifier") {
                    if let Some((binding, _)) = self.lookup(self.tree.sym(leaf)) {
                        self.bindings[binding as usize].is_pinned = true;
                    }
                }
            }
            "scoped_identifier"
            | "use_declaration"
            | "attribute_item"
            | "inner_attribute_item"
            | "visibility_modifier"
            | "extern_crate_declaration" => {
                // `<T>::f` and `a::<T>::b` may contain types, but never locals.
            }
            _ => self.kids(id),
        }
    }

    fn pattern_field(&mut self, id: NodeId) {
        if let Some(pattern) = self.tree.child(id, "pattern") {
            let from = self.bindings.len();
            self.pattern(pattern);
            self.rust_pattern_done(from);
        }
    }

    /// Pins names that one pattern binds twice, which is not valid Rust.
    fn rust_pattern_done(&mut self, from: usize) {
        let mut seen: QuickMap<Sym, usize> = QuickMap::default();
        for at in from..self.bindings.len() {
            if let Some(twin) = seen.insert(self.bindings[at].name, at) {
                self.bindings[twin].is_pinned = true;
                self.bindings[at].is_pinned = true;
            }
        }
    }

    fn pattern(&mut self, id: NodeId) {
        match self.tree.kind(id) {
            "identifier" => {
                let is_constant = self.constants.contains(&self.tree.sym(id))
                    || self.symbols.text(self.tree.sym(id)).starts_with(|c: char| c.is_uppercase());
                if is_constant {
                    self.uses[id as usize] = IdentifierUse::Free
                } else {
                    // The same name in several alternatives is one local.
                    self.rust_bind(id)
                }
            }
            "shorthand_field_identifier" => {
                self.rust_bind(id);
                if let IdentifierUse::Local(binding) = self.uses[id as usize] {
                    self.uses[id as usize] = IdentifierUse::Named(binding);
                }
            }
            "scoped_identifier" | "range_pattern" | "literal_pattern" | "const_block"
            | "macro_invocation" => self.visit(id),
            kind => {
                let is_outermost = kind == "or_pattern" && self.alternatives.is_none();
                if is_outermost {
                    self.alternatives = Some(QuickMap::default());
                }
                for at in 0..self.tree.kids(id).len() {
                    let kid = self.tree.kids(id)[at];
                    if self.tree.field(kid) != "type" {
                        self.pattern(kid);
                    }
                }
                if is_outermost {
                    self.alternatives = None;
                }
            }
        }
    }

    /// Binds a name; `A(x) | B(x)` binds `x` only once.
    fn rust_bind(&mut self, id: NodeId) {
        let name = self.tree.sym(id);
        let twin = self.alternatives.as_ref().and_then(|bound| bound.get(&name).copied());
        match twin {
            Some(twin) => self.uses[id as usize] = IdentifierUse::Local(twin),
            None => match (self.bind(id), &mut self.alternatives) {
                (Some(binding), Some(bound)) => {
                    bound.insert(name, binding);
                }
                (Some(_), None) => {}
                (None, _) => self.uses[id as usize] = IdentifierUse::Free,
            },
        }
    }

    fn tokens(&mut self, id: NodeId, kind: MacroTokens) {
        let kids = self.tree.kids(id).to_vec();
        let mut kind = kind;
        for (at, kid) in kids.iter().enumerate() {
            if kind == MacroTokens::First && self.tree.kind(*kid) == "," {
                kind = MacroTokens::Unknown;
            }
            let before = at.checked_sub(1).map(|at| self.tree.kind(kids[at]));
            let after = kids.get(at + 1).map(|next| self.tree.kind(*next));
            match self.tree.kind(*kid) {
                "token_tree" => {
                    let inner = match (kind, self.called_in(&kids[..at])) {
                        (MacroTokens::Unknown, _) | (_, BracketOwner::Macro) => MacroTokens::Unknown,
                        _ => MacroTokens::Expressions,
                    };
                    self.tokens(*kid, inner);
                }
                "identifier" => {
                    let is_path = before == Some("::") || after == Some("::");
                    let is_member = before == Some(".");
                    if is_path || is_member {
                        continue;
                    }
                    // `S { x, y }` names fields by their values.
                    let is_short = kids.first().is_some_and(|open| self.tree.kind(*open) == "{")
                        && matches!(before, Some("{" | ","))
                        && matches!(after, Some("," | "}"));
                    let is_plain = kind != MacroTokens::Unknown
                        && !is_short
                        && !matches!(after, Some(":" | "=" | "!" | "{" | "|"))
                        && before != Some("|");
                    if is_plain { self.reference(*kid) } else { self.named_reference(*kid) }
                }
                "string_literal" | "raw_string_literal" => self.captures(*kid),
                _ => {}
            }
        }
    }

    /// Returns whether the tokens before a bracket call an unknown macro.
    fn called_in(&self, before: &[NodeId]) -> BracketOwner {
        let &[.., name, bang] = before else { return BracketOwner::Nothing };
        if self.tree.kind(bang) != "!" || self.tree.kind(name) != "identifier" {
            return BracketOwner::Nothing;
        }
        let text = self.symbols.text(self.tree.sym(name));
        let is_known =
            is_std_macro(text) && !text.ends_with("assert") && !self.macros.contains(&self.tree.sym(name));
        if is_known { BracketOwner::Nothing } else { BracketOwner::Macro }
    }

    /// Marks locals that a format string reads by name, such as `"{name}"`.
    fn captures(&mut self, id: NodeId) {
        let text = self.symbols.text(self.tree.sym(id)).to_owned();
        for part in text.split('{').skip(1) {
            let name: &str = part.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
            let widths =
                part.split(['}', ':']).nth(1).unwrap_or("").split(|c: char| !c.is_alphanumeric() && c != '_');
            for name in std::iter::once(name).chain(widths).filter(|name| !name.is_empty()) {
                if let Some((binding, _)) = self.symbols.find(name).and_then(|sym| self.lookup(sym)) {
                    self.bindings[binding as usize].is_pinned = true;
                }
            }
        }
    }
}

/// The owner of a bracket among tokens.
enum BracketOwner {
    Nothing,
    Macro,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MacroTokens {
    Expressions,
    /// An expression, and other tokens after a comma.
    First,
    Unknown,
}

/// Returns the macros that the source defines.
pub(crate) fn macros(tree: &SyntaxTree) -> QuickSet<Sym> {
    let own = tree.walk(tree.root).filter(|id| tree.kind(*id) == "macro_definition");
    own.filter_map(|id| tree.child(id, "name")).map(|name| tree.sym(name)).collect()
}

/// Returns names that may be constants, because a pattern of that name compares. An import may be a constant.
pub(crate) fn constants(tree: &SyntaxTree) -> QuickSet<Sym> {
    let mut found = QuickSet::default();
    for id in tree.walk(tree.root) {
        match tree.kind(id) {
            "const_item" | "static_item" => found.extend(tree.child(id, "name").map(|name| tree.sym(name))),
            "use_declaration" => {
                let leaves: Vec<NodeId> = tree.walk(id).filter(|leaf| tree.is_leaf(*leaf)).collect();
                // The last part of a path is the imported name.
                let brought = leaves.windows(2).filter(|pair| tree.kind(pair[1]) != "::").map(|pair| pair[0]);
                found.extend(
                    brought.filter(|leaf| tree.kind(*leaf) == "identifier").map(|leaf| tree.sym(leaf)),
                );
            }
            _ => {}
        }
    }
    found
}

/// Reports whether an attribute ignores the names of parameters.
pub(crate) fn is_blind(tree: &SyntaxTree, symbols: &Symbols, attribute: NodeId) -> bool {
    let first = tree.walk(attribute).find(|id| tree.kind(*id) == "identifier");
    first.is_some_and(|first| {
        matches!(
            symbols.text(tree.sym(first)),
            "inline"
                | "must_use"
                | "allow"
                | "warn"
                | "deny"
                | "expect"
                | "cfg"
                | "cold"
                | "test"
                | "ignore"
                | "should_panic"
                | "track_caller"
                | "doc"
                | "deprecated"
                | "derive"
                | "non_exhaustive"
                | "no_mangle"
                | "repr"
                | "target_feature"
                | "rustfmt"
                | "clippy"
                | "tokio"
                | "async_trait"
        )
    })
}
