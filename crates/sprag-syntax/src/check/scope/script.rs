//! Scopes of JavaScript and TypeScript: `var`, functions and parameters belong to the function; `let`,
//! `const` and classes belong to the block. Each is visible in its whole scope. A shorthand property is a
//! name and a key at once.

use super::{IdentifierUse, ScopeKind, ScopeWalk};
use crate::tree::NodeId;

/// The level of hoisting: function declarations are hoisted at the top level of a body, `var` at every level.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HoistLevel {
    Body,
    Inner,
}

impl ScopeWalk<'_> {
    pub(super) fn script(&mut self, id: NodeId) {
        match self.tree.kind(id) {
            "function_declaration"
            | "function_expression"
            | "generator_function"
            | "generator_function_declaration"
            | "arrow_function"
            | "method_definition" => {
                if self.tree.kind(id) == "method_definition" {
                    self.script_key(id);
                }
                if let Some(name) =
                    self.tree.child(id, "name").filter(|name| self.tree.kind(*name) == "identifier")
                    && self.tree.kind(id).ends_with("_declaration")
                {
                    self.reference(name);
                }
                self.push(ScopeKind::Function, id);
                if let Some(name) =
                    self.tree.child(id, "name").filter(|name| self.tree.kind(*name) == "identifier")
                    && !self.tree.kind(id).ends_with("_declaration")
                {
                    // The property `name` and stack traces show its own name.
                    self.bind_pinned(name);
                }
                if let Some(parameters) = self.tree.child(id, "parameters") {
                    self.script_pattern(parameters, Binds::Here);
                }
                if let Some(parameter) = self.tree.child(id, "parameter") {
                    self.script_pattern(parameter, Binds::Here);
                }
                // Defaults do not see declarations of the body.
                self.fields(id, &["parameters", "parameter", "return_type", "type_parameters"]);
                if let Some(body) = self.tree.child(id, "body") {
                    self.script_hoist(body, HoistLevel::Body);
                    self.script_block(body);
                }
                match self.tree.child(id, "body") {
                    Some(body) if self.tree.kind(body) == "statement_block" => self.kids(body),
                    Some(body) => self.visit(body),
                    None => {}
                }
                self.pop();
            }
            "statement_block" | "switch_body" => {
                self.push(ScopeKind::Block, id);
                self.script_block(id);
                self.kids(id);
                self.pop();
            }
            "class_static_block" => {
                self.push(ScopeKind::Function, id);
                if let Some(body) = self.tree.child(id, "body") {
                    self.script_hoist(body, HoistLevel::Body);
                }
                self.kids(id);
                self.pop();
            }
            "for_statement" | "for_in_statement" => {
                self.push(ScopeKind::Block, id);
                if let Some(first) = self.tree.child(id, "initializer") {
                    self.script_declaration(first);
                }
                let kind = self.tree.child(id, "kind").map(|kind| self.tree.kind(kind));
                if let (Some(left), Some("let" | "const")) = (self.tree.child(id, "left"), kind) {
                    self.script_pattern(left, Binds::Here);
                }
                self.kids(id);
                self.pop();
            }
            "catch_clause" => {
                self.push(ScopeKind::Block, id);
                if let Some(parameter) = self.tree.child(id, "parameter") {
                    self.script_pattern(parameter, Binds::Here);
                    self.visit(parameter);
                }
                // The block must not redeclare the parameter.
                if let Some(body) = self.tree.child(id, "body") {
                    self.script_block(body);
                    self.kids(body);
                }
                self.pop();
            }
            "class" | "class_declaration" | "abstract_class_declaration" => {
                if let Some(name) = self.tree.child(id, "name") {
                    self.named_reference(name);
                }
                for at in 0..self.tree.kids(id).len() {
                    let kid = self.tree.kids(id)[at];
                    if self.tree.field(kid) != "name" {
                        self.visit(kid);
                    }
                }
            }
            // Its object may have a member of any name.
            "with_statement" => {
                self.all_are_read();
                self.kids(id);
            }
            // All its names are for other files.
            "ambient_declaration" => {
                let from = self.bindings.len();
                self.kids(id);
                self.bindings[from..].iter_mut().for_each(|binding| binding.is_pinned = true);
            }
            "call_expression" | "new_expression" => {
                let callee = ["function", "constructor"].iter().find_map(|field| self.tree.child(id, field));
                if let Some(callee) = callee.filter(|callee| self.tree.is_leaf(*callee)) {
                    self.called.callees.insert(callee);
                }
                self.kids(id);
            }
            "member_expression" => {
                let property = self.tree.child(id, "property").filter(|leaf| self.tree.is_leaf(*leaf));
                match property.map(|leaf| self.symbols.text(self.tree.sym(leaf))) {
                    Some("name") => self.called.reads_name = true,
                    Some("constructor") => self.called.reads_class = true,
                    _ => {}
                }
                self.kids(id);
            }
            "import_statement" | "export_specifier" | "namespace_export" | "export_clause" => {}
            "jsx_opening_element" | "jsx_closing_element" | "jsx_self_closing_element" => {
                for at in 0..self.tree.kids(id).len() {
                    let kid = self.tree.kids(id)[at];
                    match self.tree.kind(kid) {
                        "identifier" => self.named_reference(kid),
                        _ => self.visit(kid),
                    }
                }
            }
            // Parameter names in types bind nothing.
            "function_type"
            | "constructor_type"
            | "call_signature"
            | "method_signature"
            | "construct_signature"
            | "function_signature"
            | "abstract_method_signature"
            | "index_signature" => {
                self.push(ScopeKind::Function, id);
                if let Some(parameters) = self.tree.child(id, "parameters") {
                    self.script_pattern(parameters, Binds::Here);
                }
                for at in 0..self.tree.kids(id).len() {
                    let kid = self.tree.kids(id)[at];
                    if self.tree.field(kid) != "name" {
                        self.visit(kid);
                    }
                }
                self.pop();
            }
            "pair_pattern" => self.kids(id),
            _ => self.kids(id),
        }
    }

    fn script_key(&mut self, id: NodeId) {
        if let Some(name) = self.tree.child(id, "name").filter(|name| !self.tree.is_leaf(*name)) {
            self.visit(name);
        }
    }

    /// Binds the `var` and function declarations of a body at any depth, except in inner functions.
    fn script_hoist(&mut self, body: NodeId, level: HoistLevel) {
        if self.tree.is_leaf(body) {
            return;
        }
        for kid in self.tree.kids(body).to_vec() {
            match self.tree.kind(kid) {
                "variable_declaration" => {
                    for declarator in self.tree.kids(kid).to_vec() {
                        if let Some(name) = self.tree.child(declarator, "name") {
                            self.script_pattern(name, Binds::Once);
                        }
                    }
                    self.script_hoist(kid, HoistLevel::Inner);
                }
                "for_in_statement" => {
                    let kind = self.tree.child(kid, "kind").map(|kind| self.tree.kind(kind));
                    if let (Some(left), Some("var")) = (self.tree.child(kid, "left"), kind) {
                        self.script_pattern(left, Binds::Once);
                    }
                    self.script_hoist(kid, HoistLevel::Inner);
                }
                "function_declaration" | "generator_function_declaration" if level == HoistLevel::Body => {
                    if let Some(name) = self.tree.child(kid, "name") {
                        self.script_bind(name, Binds::Once);
                    }
                }
                "function_declaration"
                | "generator_function_declaration"
                | "function_expression"
                | "arrow_function"
                | "generator_function"
                | "method_definition"
                | "class_body"
                | "class_static_block" => {}
                _ => self.script_hoist(kid, HoistLevel::Inner),
            }
        }
    }

    /// Binds the declarations of a block itself.
    fn script_block(&mut self, block: NodeId) {
        if self.tree.kind(block) != "statement_block" && self.tree.kind(block) != "switch_body" {
            return;
        }
        let is_inner = self.scopes.last().is_some_and(|scope| scope.kind != ScopeKind::Function);
        let mut stack: Vec<NodeId> = self.tree.kids(block).iter().rev().copied().collect();
        while let Some(kid) = stack.pop() {
            match self.tree.kind(kid) {
                "lexical_declaration" => self.script_declaration(kid),
                "class_declaration" | "abstract_class_declaration" | "enum_declaration" => {
                    if let Some(name) = self.tree.child(kid, "name") {
                        self.script_bind(name, Binds::Once);
                        self.script_shown(name, Shows::Class);
                    }
                }
                "function_declaration" | "generator_function_declaration" => {
                    if let Some(name) = self.tree.child(kid, "name") {
                        self.script_bind(name, Binds::Once);
                        self.script_shown(name, Shows::Function);
                        // Outside strict code the function is visible around its block too.
                        if is_inner && let IdentifierUse::Local(binding) = self.uses[name as usize] {
                            self.bindings[binding as usize].is_pinned = true;
                        }
                    }
                }
                "switch_case" | "switch_default" => stack.extend(self.tree.kids(kid).iter().rev()),
                _ => {}
            }
        }
    }

    fn script_declaration(&mut self, id: NodeId) {
        if self.tree.kind(id) != "lexical_declaration" {
            return;
        }
        for declarator in self.tree.kids(id).to_vec() {
            if let Some(name) = self.tree.child(declarator, "name") {
                self.script_pattern(name, Binds::Once);
                // An anonymous function takes the name of its variable.
                match self.tree.child(declarator, "value").map(|value| self.tree.kind(value)) {
                    Some("arrow_function" | "function_expression" | "generator_function") => {
                        self.script_shown(name, Shows::Function);
                    }
                    Some("class") => self.script_shown(name, Shows::Class),
                    _ => {}
                }
            }
        }
    }

    fn script_shown(&mut self, name: NodeId, shows: Shows) {
        let IdentifierUse::Local(binding) = self.uses[name as usize] else { return };
        match shows {
            Shows::Function => self.called.functions.insert(binding),
            Shows::Class => self.called.classes.insert(binding),
        };
    }

    fn script_pattern(&mut self, id: NodeId, binds: Binds) {
        match self.tree.kind(id) {
            "identifier" => self.script_bind(id, binds),
            "shorthand_property_identifier_pattern" => {
                self.script_bind(id, binds);
                if let IdentifierUse::Local(binding) = self.uses[id as usize] {
                    self.uses[id as usize] = IdentifierUse::Named(binding);
                }
            }
            "assignment_pattern" | "object_assignment_pattern" => {
                if let Some(left) = self.tree.child(id, "left") {
                    self.script_pattern(left, binds);
                }
            }
            "pair_pattern" => {
                if let Some(value) = self.tree.child(id, "value") {
                    self.script_pattern(value, binds);
                }
            }
            "required_parameter" | "optional_parameter" => {
                // A parameter with a modifier is also a property.
                let is_property = self.tree.kids(id).iter().any(|kid| {
                    matches!(
                        self.tree.kind(*kid),
                        "accessibility_modifier" | "readonly" | "override_modifier" | "decorator"
                    )
                });
                let Some(pattern) = self.tree.child(id, "pattern") else { return };
                let from = self.bindings.len();
                self.script_pattern(pattern, binds);
                if is_property {
                    self.bindings[from..].iter_mut().for_each(|binding| binding.is_pinned = true);
                }
            }
            "formal_parameters" | "object_pattern" | "array_pattern" | "rest_pattern" => {
                for kid in self.tree.kids(id).to_vec() {
                    self.script_pattern(kid, binds);
                }
            }
            _ => {}
        }
    }

    fn script_bind(&mut self, id: NodeId, binds: Binds) {
        let sym = self.tree.sym(id);
        let Some(scope) = self.scopes.last() else {
            self.uses[id as usize] = IdentifierUse::Free;
            return;
        };
        let known = scope.names.get(&sym).copied();
        match known {
            Some(binding) if binds == Binds::Once => self.uses[id as usize] = IdentifierUse::Local(binding),
            _ => {
                self.bind(id);
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Binds {
    /// A new binding each time.
    Here,
    /// A second declaration in one scope is the same variable.
    Once,
}

#[derive(Clone, Copy)]
enum Shows {
    Function,
    Class,
}
