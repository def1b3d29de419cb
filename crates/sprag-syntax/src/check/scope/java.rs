//! Scopes of Java: locals and parameters. Fields are free names. A class inside a method may inherit a field
//! that hides a local, so the text of a local counts there.

use super::{IdentifierUse, NameReader, ScopeKind, ScopeWalk};
use crate::tree::NodeId;

impl ScopeWalk<'_> {
    pub(super) fn java(&mut self, id: NodeId) {
        match self.tree.kind(id) {
            "method_declaration"
            | "constructor_declaration"
            | "compact_constructor_declaration"
            | "static_initializer" => {
                let parameters = self.tree.child(id, "parameters");
                let is_told = parameters.is_some_and(|list| {
                    self.tree
                        .kids(list)
                        .iter()
                        .any(|parameter| self.java_reader(*parameter) == NameReader::Somebody)
                });
                let reader = if is_told { NameReader::Somebody } else { self.java_reader(id) };
                self.push(ScopeKind::Function, id);
                self.under(reader, |walk| walk.kids_but_names(id));
                self.pop();
            }
            "class_declaration" | "interface_declaration" | "enum_declaration" => {
                let reader = self.java_reader(id);
                self.under(reader, |walk| walk.kids_but_names(id));
            }
            // Component names of a record are the names of its methods and are visible.
            "record_declaration" => self.under(NameReader::Somebody, |walk| walk.kids_but_names(id)),
            "class_body" | "enum_body" | "interface_body" => {
                let is_inner = !self.scopes.is_empty();
                if is_inner {
                    self.push(ScopeKind::Heir, id);
                    self.java_fields(id);
                }
                self.kids(id);
                if is_inner {
                    self.pop();
                }
            }
            "lambda_expression" => {
                self.push(ScopeKind::Function, id);
                if let Some(parameters) = self.tree.child(id, "parameters") {
                    match self.tree.kind(parameters) {
                        "identifier" => {
                            self.bind(parameters);
                        }
                        "inferred_parameters" => {
                            for at in 0..self.tree.kids(parameters).len() {
                                let kid = self.tree.kids(parameters)[at];
                                if self.tree.kind(kid) == "identifier" {
                                    self.bind(kid);
                                }
                            }
                        }
                        _ => self.visit(parameters),
                    }
                }
                self.fields(id, &["body"]);
                self.pop();
            }
            "formal_parameter" | "catch_formal_parameter" => {
                self.kids_but_names(id);
                self.java_name(id);
            }
            "spread_parameter" => self.kids(id),
            "block"
            | "constructor_body"
            | "for_statement"
            | "switch_rule"
            | "try_with_resources_statement"
            | "catch_clause"
            | "switch_block" => {
                self.push(ScopeKind::Block, id);
                self.kids(id);
                self.pop();
            }
            "enhanced_for_statement" => {
                self.fields(id, &["value", "type"]);
                self.push(ScopeKind::Block, id);
                self.java_name(id);
                self.fields(id, &["body"]);
                self.pop();
            }
            "field_declaration" | "constant_declaration" => {
                for at in 0..self.tree.kids(id).len() {
                    let kid = self.tree.kids(id)[at];
                    match self.tree.kind(kid) {
                        "variable_declarator" => {
                            self.fields(kid, &["value"]);
                            if let Some(name) = self.tree.child(kid, "name") {
                                self.uses[name as usize] = IdentifierUse::Free;
                            }
                        }
                        _ => self.visit(kid),
                    }
                }
            }
            "variable_declarator" => {
                self.fields(id, &["value"]);
                self.java_name(id);
            }
            "resource" => {
                self.kids_but_names(id);
                if self.tree.child(id, "name").is_some() {
                    self.java_name(id);
                }
            }
            "instanceof_expression" => {
                self.kids_but_names(id);
                if let Some(name) = self.tree.child(id, "name") {
                    self.java_flow(name);
                }
            }
            "record_pattern_component" | "type_pattern" => {
                let names: Vec<NodeId> = self
                    .tree
                    .kids(id)
                    .iter()
                    .copied()
                    .filter(|kid| self.tree.kind(*kid) == "identifier")
                    .collect();
                if let Some(name) = names.last() {
                    self.java_flow(*name);
                }
                for at in 0..self.tree.kids(id).len() {
                    let kid = self.tree.kids(id)[at];
                    if Some(&kid) != names.last() {
                        self.visit(kid);
                    }
                }
            }
            "field_access" | "method_invocation" => {
                for at in 0..self.tree.kids(id).len() {
                    let kid = self.tree.kids(id)[at];
                    match self.tree.field(kid) {
                        "field" | "name" => {}
                        _ => self.visit(kid),
                    }
                }
            }
            "switch_label" => {
                for at in 0..self.tree.kids(id).len() {
                    let kid = self.tree.kids(id)[at];
                    match self.tree.kind(kid) {
                        "identifier" => self.named_reference(kid),
                        _ => self.visit(kid),
                    }
                }
            }
            "method_reference" => {
                if let Some(first) = self.tree.kids(id).first() {
                    self.visit(*first);
                }
            }
            "labeled_statement" | "break_statement" | "continue_statement" => {
                for at in 0..self.tree.kids(id).len() {
                    let kid = self.tree.kids(id)[at];
                    if self.tree.kind(kid) != "identifier" {
                        self.visit(kid);
                    }
                }
            }
            "annotation"
            | "marker_annotation"
            | "package_declaration"
            | "import_declaration"
            | "scoped_identifier"
            | "scoped_type_identifier"
            | "enum_constant"
                if self.scopes.is_empty() =>
            {
                if self.tree.kind(id) == "enum_constant" {
                    self.fields(id, &["arguments", "body"]);
                }
            }
            "annotation" | "marker_annotation" => {}
            _ => self.kids_but_names(id),
        }
    }

    /// Returns whether an annotation may read the names of parameters.
    fn java_reader(&self, id: NodeId) -> NameReader {
        let modifiers = self.tree.kids(id).iter().filter(|kid| self.tree.kind(**kid) == "modifiers");
        let is_read = modifiers.flat_map(|modifiers| self.tree.kids(*modifiers)).any(|kid| {
            let name = self.tree.child(*kid, "name").map(|name| self.symbols.text(self.tree.sym(name)));
            matches!(self.tree.kind(*kid), "annotation" | "marker_annotation")
                && !matches!(
                    name,
                    Some(
                        "Override"
                            | "Deprecated"
                            | "SuppressWarnings"
                            | "SafeVarargs"
                            | "FunctionalInterface"
                            | "Nullable"
                            | "NotNull"
                            | "Nonnull"
                            | "NonNull"
                            | "CheckForNull"
                            | "VisibleForTesting"
                            | "Test"
                            | "Before"
                            | "After"
                            | "BeforeEach"
                            | "AfterEach"
                    )
                )
        });
        if is_read { NameReader::Somebody } else { NameReader::Nobody }
    }

    /// Visits all children except names, which are declared or selected but never looked up.
    fn kids_but_names(&mut self, id: NodeId) {
        for at in 0..self.tree.kids(id).len() {
            let kid = self.tree.kids(id)[at];
            if self.tree.field(kid) != "name" || !self.tree.is_leaf(kid) {
                self.visit(kid);
            }
        }
    }

    fn java_name(&mut self, id: NodeId) {
        if let Some(name) = self.tree.child(id, "name")
            && self.bind(name).is_none()
        {
            self.uses[name as usize] = IdentifierUse::Free;
        }
    }

    /// Binds the variable of a pattern. Its visibility depends on control flow, so it belongs to the whole
    /// function and its name counts.
    fn java_flow(&mut self, name: NodeId) {
        let depth = self.scopes.iter().rposition(|scope| scope.kind == ScopeKind::Function);
        match depth {
            Some(depth) => {
                let binding = self.bind_in(depth, name);
                self.bindings[binding as usize].is_pinned = true;
            }
            None => self.uses[name as usize] = IdentifierUse::Free,
        }
    }

    /// Hides locals that have the name of a field, in a class inside a method.
    fn java_fields(&mut self, body: NodeId) {
        let mut names = Vec::new();
        for member in
            self.tree.named_kids(body).filter(|member| self.tree.kind(*member) == "field_declaration")
        {
            for declarator in
                self.tree.named_kids(member).filter(|kid| self.tree.kind(*kid) == "variable_declarator")
            {
                names.extend(self.tree.child(declarator, "name").map(|name| self.tree.sym(name)));
            }
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.outside.extend(names);
        }
    }
}
