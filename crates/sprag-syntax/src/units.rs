//! The functions and types of a source, each with a hash that ignores formatting and comments. Records name
//! units, so that they can be found after lines moved.

use std::ops::RangeInclusive;

use crate::digest::{hex, sha256};
use crate::lang::Lang;
use crate::symbol::Symbols;
use crate::tree::{self, NodeId, SyntaxTree};

/// Maximum size of a source; larger ones are not written by hand.
const MAX_NODES: usize = 2_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    pub kind: UnitKind,
    /// The name with its enclosing names: `Store.open`.
    pub name: String,
    /// Line numbers, starting at 1.
    pub lines: RangeInclusive<u32>,
    /// `unit1:` and a hash of the tree without comments and sugar.
    pub hash: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitKind {
    Function,
    Type,
}

/// Returns the units in source order. A source with a syntax error has none.
pub fn units(lang: Lang, text: &[u8]) -> Vec<Unit> {
    let mut symbols = Symbols::new();
    let mut left = MAX_NODES;
    let Ok(tree) = tree::read(lang, text, &mut symbols, &mut left) else { return Vec::new() };
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let lines = LineStarts::new(text);
    outline(&tree, &symbols)
        .into_iter()
        .map(|entry| {
            let node = tree.node(entry.id);
            Unit {
                kind: entry.kind,
                name: entry.name,
                lines: lines.at(node.start)..=lines.at(node.end.saturating_sub(1).max(node.start)),
                hash: format!("unit1:{}", hex(&sha256(&spelled(&tree, &symbols, entry.id))[..16])),
            }
        })
        .collect()
}

/// The start positions of lines.
pub(crate) struct LineStarts(Vec<u32>);

impl LineStarts {
    pub(crate) fn new(text: &[u8]) -> LineStarts {
        let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at as u32 + 1);
        LineStarts(std::iter::once(0).chain(ends).collect())
    }

    /// Returns the line number of a byte, starting at 1.
    pub(crate) fn at(&self, byte: u32) -> u32 {
        self.0.partition_point(|start| *start <= byte) as u32
    }
}

pub(crate) struct UnitEntry {
    pub id: NodeId,
    pub kind: UnitKind,
    pub name: String,
}

/// Returns the units of a tree with their qualified names.
pub(crate) fn outline(tree: &SyntaxTree, symbols: &Symbols) -> Vec<UnitEntry> {
    let mut found = Vec::new();
    let mut stack: Vec<(NodeId, String)> = vec![(tree.root, String::new())];
    while let Some((id, owner)) = stack.pop() {
        let own = unit_kind(tree, id).and_then(|kind| Some((kind, name_of(tree, symbols, id)?)));
        let inner = match own {
            Some((kind, name)) => {
                let name = if owner.is_empty() { name } else { format!("{owner}.{name}") };
                found.push(UnitEntry { id, kind, name: name.clone() });
                name
            }
            None if tree.kind(id) == "impl_item" => {
                let of = tree.child(id, "type").map(|of| spelled_name(tree, symbols, of)).unwrap_or_default();
                if owner.is_empty() { of } else { format!("{owner}.{of}") }
            }
            None => owner,
        };
        stack.extend(
            tree.kids(id).iter().rev().filter(|kid| !tree.is_leaf(**kid)).map(|kid| (*kid, inner.clone())),
        );
    }
    found
}

pub(crate) fn unit_kind(tree: &SyntaxTree, id: NodeId) -> Option<UnitKind> {
    match tree.kind(id) {
        "function_item"
        | "function_signature_item"
        | "function_definition"
        | "function_declaration"
        | "generator_function_declaration"
        | "method_definition"
        | "method_declaration"
        | "constructor_declaration"
        | "function_signature"
        | "method_signature"
        | "abstract_method_signature"
        | "method_elem" => Some(UnitKind::Function),
        "variable_declarator"
            if tree.child(id, "value").is_some_and(|value| {
                matches!(tree.kind(value), "arrow_function" | "function_expression" | "generator_function")
            }) =>
        {
            Some(UnitKind::Function)
        }
        "struct_item"
        | "enum_item"
        | "trait_item"
        | "union_item"
        | "class_definition"
        | "class_declaration"
        | "abstract_class_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "record_declaration"
        | "annotation_type_declaration"
        | "type_alias_declaration"
        | "type_item"
        | "type_spec"
        | "type_alias"
        | "mod_item" => Some(UnitKind::Type),
        _ => None,
    }
}

/// Returns the name of a unit; a Go method includes the type of its receiver.
fn name_of(tree: &SyntaxTree, symbols: &Symbols, id: NodeId) -> Option<String> {
    let name = tree.child(id, "name").filter(|name| tree.is_leaf(*name))?;
    let name = symbols.text(tree.sym(name)).to_owned();
    let receiver = tree.child(id, "receiver").and_then(|receiver| {
        tree.walk(receiver)
            .find(|node| tree.kind(*node) == "type_identifier")
            .map(|of| symbols.text(tree.sym(of)).to_owned())
    });
    Some(match receiver {
        Some(of) => format!("{of}.{name}"),
        None => name,
    })
}

fn spelled_name(tree: &SyntaxTree, symbols: &Symbols, id: NodeId) -> String {
    tree.walk(id)
        .find(|node| tree.is_leaf(*node))
        .map(|leaf| symbols.text(tree.sym(leaf)).to_owned())
        .unwrap_or_default()
}

/// Serializes a tree to bytes without ambiguity.
fn spelled(tree: &SyntaxTree, symbols: &Symbols, id: NodeId) -> Vec<u8> {
    let mut out = Vec::new();
    for node in tree.walk(id) {
        out.extend_from_slice(tree.kind(node).as_bytes());
        out.push(b'\x01');
        out.extend_from_slice(tree.field(node).as_bytes());
        if tree.is_leaf(node) {
            out.push(b'=');
            out.extend_from_slice(symbols.text(tree.sym(node)).as_bytes());
            out.push(0);
        } else {
            out.extend_from_slice(&(tree.kids(node).len() as u32).to_le_bytes())
        }
    }
    out
}
