//! Scopes of Go: a declaration is visible from its end to the end of its block. `if`, `for`, `switch` and
//! every case are separate blocks.

use super::{IdentifierUse, ScopeKind, ScopeWalk};
use crate::symbol::Sym;
use crate::tree::NodeId;

impl ScopeWalk<'_> {
    pub(super) fn go(&mut self, id: NodeId) {
        match self.tree.kind(id) {
            "function_declaration" | "method_declaration" | "func_literal" => {
                self.push(ScopeKind::Function, id);
                self.fields(id, &["receiver", "type_parameters", "parameters", "result"]);
                self.fields(id, &["body"]);
                self.pop();
            }
            "parameter_declaration" | "variadic_parameter_declaration" => {
                self.fields(id, &["type"]);
                for at in 0..self.tree.kids(id).len() {
                    let kid = self.tree.kids(id)[at];
                    if self.tree.field(kid) == "name" {
                        self.bind(kid);
                    }
                }
            }
            // Parameters of a type bind nothing.
            "function_type" | "interface_type" => {
                self.push(ScopeKind::Block, id);
                self.kids(id);
                self.pop();
            }
            "block"
            | "if_statement"
            | "for_statement"
            | "expression_switch_statement"
            | "select_statement"
            | "expression_case"
            | "default_case"
            | "communication_case"
            | "type_case" => {
                self.push(ScopeKind::Block, id);
                self.kids(id);
                self.pop();
            }
            "type_switch_statement" => {
                self.push(ScopeKind::Block, id);
                self.fields(id, &["initializer", "value"]);
                if let Some(alias) = self.tree.child(id, "alias") {
                    self.go_targets(alias);
                }
                for at in 0..self.tree.kids(id).len() {
                    let kid = self.tree.kids(id)[at];
                    if !matches!(self.tree.field(kid), "initializer" | "value" | "alias") {
                        self.visit(kid);
                    }
                }
                self.pop();
            }
            "short_var_declaration" => {
                self.fields(id, &["right"]);
                self.fields_as_targets(id, "left");
            }
            "range_clause" | "receive_statement" => {
                self.fields(id, &["right"]);
                if self.tree.has_token(id, ":=") {
                    self.fields_as_targets(id, "left")
                } else {
                    self.fields(id, &["left"])
                }
            }
            "var_spec" | "const_spec" => {
                self.fields(id, &["type", "value"]);
                for at in 0..self.tree.kids(id).len() {
                    let kid = self.tree.kids(id)[at];
                    if self.tree.field(kid) == "name" && self.bind(kid).is_none() {
                        self.uses[kid as usize] = IdentifierUse::Free;
                    }
                }
            }
            "keyed_element" => {
                // A field name, or a key that is a variable: the text counts.
                for at in 0..self.tree.kids(id).len() {
                    let kid = self.tree.kids(id)[at];
                    let only = self.tree.kids(kid).first().copied();
                    match only {
                        Some(only)
                            if self.tree.field(kid) == "key" && self.tree.kind(only) == "identifier" =>
                        {
                            self.named_reference(only);
                        }
                        _ => self.visit(kid),
                    }
                }
            }
            _ => self.kids(id),
        }
    }

    fn fields_as_targets(&mut self, id: NodeId, field: &str) {
        if let Some(list) = self.tree.child(id, field) {
            self.go_targets(list);
        }
    }

    /// Binds the names on the left of `:=`; a name that the same block already has keeps its binding.
    fn go_targets(&mut self, list: NodeId) {
        for at in 0..self.tree.kids(list).len() {
            let kid = self.tree.kids(list)[at];
            if self.tree.kind(kid) != "identifier" {
                self.visit(kid);
                continue;
            }
            let sym = self.tree.sym(kid);
            let is_blank = self.symbols.text(sym) == "_";
            // Parameters and the body of a function count as one block here.
            let known = self.scopes.last().and_then(|scope| scope.names.get(&sym).copied());
            let known = known.or_else(|| self.go_parameter(sym));
            match known {
                Some(binding) if !is_blank => self.uses[kid as usize] = IdentifierUse::Local(binding),
                _ if is_blank => self.uses[kid as usize] = IdentifierUse::Text,
                _ => {
                    if self.bind(kid).is_none() {
                        self.uses[kid as usize] = IdentifierUse::Free;
                    }
                }
            }
        }
    }

    fn go_parameter(&self, sym: Sym) -> Option<u32> {
        let count = self.scopes.len();
        let function = &self.scopes[count.checked_sub(2)?];
        if function.kind != ScopeKind::Function {
            return None;
        }
        function.names.get(&sym).copied()
    }
}
