//! Reads the items and imports of one module from its tokens.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{Import, Item, ItemKind, is_name};
use crate::tidy::source::Token;

pub struct Reader<'a> {
    pub tokens: &'a [Token],
    pub closing: &'a BTreeMap<usize, usize>,
    pub items: Vec<Item>,
    pub imports: Vec<Import>,
}

impl Reader<'_> {
    fn text(&self, at: usize) -> &str {
        self.tokens.get(at).map(|token| token.text.as_str()).unwrap_or_default()
    }

    fn close(&self, open: usize) -> usize {
        self.closing.get(&open).copied().unwrap_or(self.tokens.len().saturating_sub(1))
    }

    /// Reads a module and returns the bodies of inner modules.
    pub fn read_module(&mut self, body: Range<usize>) -> Vec<(String, Range<usize>)> {
        let mut inner = Vec::new();
        let mut at = body.start;
        while at < body.end {
            at = self.read_item(at, &body, &mut inner);
        }
        inner
    }

    fn read_item(
        &mut self,
        start: usize,
        body: &Range<usize>,
        inner: &mut Vec<(String, Range<usize>)>,
    ) -> usize {
        let mut at = start;
        while self.text(at) == "#" {
            if self.text(at + 1) == "!" {
                return self.close(at + 2) + 1;
            }
            at = self.close(at + 1) + 1;
        }
        let visibility_start = at;
        if self.text(at) == "pub" {
            at += 1;
            if self.text(at) == "(" {
                at = self.close(at) + 1;
            }
        }
        let visibility = visibility_start..at;
        loop {
            match (self.text(at), self.text(at + 1)) {
                ("async" | "unsafe" | "default" | "auto", _) => at += 1,
                ("const", "fn" | "unsafe" | "async" | "extern") => at += 1,
                ("extern", literal) if literal.starts_with('"') && self.text(at + 2) == "fn" => at += 2,
                _ => break,
            }
        }
        let keyword = self.text(at).to_owned();
        let kind = match keyword.as_str() {
            "use" => {
                let end = self.end_at_semicolon(at);
                self.read_use(at, start..end, visibility, body.clone());
                return end;
            }
            "mod" => ItemKind::Module,
            "struct" | "enum" | "union" | "trait" | "type" => ItemKind::Type,
            "fn" => ItemKind::Function,
            "const" | "static" => ItemKind::Value,
            "impl" | "extern" => {
                let end = self.end_at_body(at);
                self.read_blocks(at..end);
                return end;
            }
            "macro_rules" => {
                let end = self.end_at_body(at + 3);
                self.push_item(self.text(at + 2).to_owned(), ItemKind::Macro, at + 2, visibility, body);
                return end;
            }
            _ if self.text(at + 1) == "!" => {
                let end = self.end_at_body(at + 2);
                if matches!(keyword.as_str(), "choices" | "named" | "texts") {
                    self.read_made_types(at + 2..end, body);
                }
                return if self.text(end) == ";" { end + 1 } else { end };
            }
            _ => return at + 1,
        };
        let name_at = if self.text(at + 1) == "mut" { at + 2 } else { at + 1 };
        let name = self.text(name_at).to_owned();
        let end = match keyword.as_str() {
            "type" | "const" | "static" => self.end_at_semicolon(at),
            _ => self.end_at_body(at),
        };
        self.push_item(name.clone(), kind, name_at, visibility, body);
        let open = (at..end).find(|at| self.text(*at) == "{");
        match (keyword.as_str(), open) {
            ("mod", Some(open)) => inner.push((name, open + 1..self.close(open))),
            ("enum", Some(open)) => {
                let variants = self.variants(open);
                if let Some(item) = self.items.last_mut() {
                    item.variants = variants;
                }
            }
            ("fn" | "trait", Some(_)) => self.read_blocks(at..end),
            _ => {}
        }
        end
    }

    fn push_item(
        &mut self,
        name: String,
        kind: ItemKind,
        at: usize,
        visibility: Range<usize>,
        body: &Range<usize>,
    ) {
        self.items.push(Item { name, kind, at, visibility, variants: Vec::new(), scope: body.clone() });
    }

    /// Reads types that a macro makes from a list: each name that is not inside braces.
    fn read_made_types(&mut self, list: Range<usize>, body: &Range<usize>) {
        let mut at = list.start + 1;
        while at + 1 < list.end {
            match self.text(at) {
                "#" => at = self.close(at + 1) + 1,
                "{" | "(" | "[" => {
                    let variants = self.variants(at);
                    if let Some(item) = self.items.last_mut() {
                        item.variants = variants;
                    }
                    at = self.close(at) + 1;
                }
                name if is_name(name) => {
                    let name = name.to_owned();
                    self.push_item(name, ItemKind::Type, at, at..at, body);
                    at += 1;
                }
                _ => at += 1,
            }
        }
    }

    /// Reads imports and types inside functions.
    fn read_blocks(&mut self, range: Range<usize>) {
        let mut blocks: Vec<Range<usize>> = Vec::new();
        let mut at = range.start;
        while at < range.end {
            while blocks.last().is_some_and(|block| at >= block.end) {
                blocks.pop();
            }
            match self.text(at) {
                "{" => blocks.push(at + 1..self.close(at)),
                "use" if self.tokens[at].text == "use" && self.text(at + 1) != "<" && !blocks.is_empty() => {
                    let end = self.end_at_semicolon(at);
                    let scope = blocks.last().cloned().expect("there is a block");
                    self.read_use(at, at..end, at..at, scope);
                    at = end;
                    continue;
                }
                "struct" | "enum" | "trait" if !blocks.is_empty() && is_name(self.text(at + 1)) => {
                    let scope = blocks.last().cloned().expect("there is a block");
                    let name = self.text(at + 1).to_owned();
                    self.push_item(name, ItemKind::Type, at + 1, at..at, &scope);
                }
                _ => {}
            }
            at += 1;
        }
    }

    fn variants(&self, open: usize) -> Vec<(String, usize)> {
        let close = self.close(open);
        let mut found = Vec::new();
        let mut at = open + 1;
        while at < close {
            while self.text(at) == "#" {
                at = self.close(at + 1) + 1;
            }
            if is_name(self.text(at)) {
                found.push((self.text(at).to_owned(), at));
            }
            while at < close && self.text(at) != "," {
                at = match self.text(at) {
                    "(" | "[" | "{" => self.close(at) + 1,
                    _ => at + 1,
                };
            }
            at += 1;
        }
        found
    }

    fn end_at_semicolon(&self, mut at: usize) -> usize {
        while at < self.tokens.len() && self.text(at) != ";" {
            at = match self.text(at) {
                "(" | "[" | "{" => self.close(at) + 1,
                _ => at + 1,
            };
        }
        at + 1
    }

    /// Returns the position after the first block in braces, or after the first semicolon.
    fn end_at_body(&self, mut at: usize) -> usize {
        while at < self.tokens.len() {
            match self.text(at) {
                ";" => return at + 1,
                "{" => return self.close(at) + 1,
                "(" | "[" => at = self.close(at) + 1,
                _ => at += 1,
            }
        }
        at
    }

    fn read_use(
        &mut self,
        keyword: usize,
        statement: Range<usize>,
        visibility: Range<usize>,
        scope: Range<usize>,
    ) {
        let end = statement.end - 1;
        let mut prefix: Vec<String> = Vec::new();
        let mut outer: Vec<usize> = Vec::new();
        let mut at = keyword + 1;
        while at < end {
            let line = self.tokens[at].line;
            match self.text(at) {
                "{" => outer.push(prefix.len()),
                "," => prefix.truncate(outer.last().copied().unwrap_or_default()),
                "}" => prefix.truncate(outer.pop().unwrap_or_default()),
                "*" => self.imports.push(Import {
                    segments: prefix.clone(),
                    name: None,
                    has_alias: false,
                    scope: scope.clone(),
                    statement: statement.clone(),
                    visibility: visibility.clone(),
                    line,
                }),
                name if is_name(name) => {
                    let is_self_of_list = name == "self" && !prefix.is_empty();
                    if !is_self_of_list {
                        prefix.push(name.to_owned());
                    }
                    let (alias, next) = match (self.text(at + 1), self.text(at + 2)) {
                        ("as", alias) => (Some(alias.to_owned()), at + 3),
                        _ => (None, at + 1),
                    };
                    if self.text(next) != "::" {
                        self.imports.push(Import {
                            name: alias.clone().or(prefix.last().cloned()),
                            segments: prefix.clone(),
                            has_alias: alias.is_some(),
                            scope: scope.clone(),
                            statement: statement.clone(),
                            visibility: visibility.clone(),
                            line,
                        });
                    }
                    at = next;
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
    }
}
