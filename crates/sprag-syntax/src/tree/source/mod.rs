//! Builds a tree from a source.

mod comments;

use tree_sitter::{Parser, TreeCursor};

use super::lines::{c_imports, has_hidden_lines, is_open_member};
use super::{MAX_DEPTH, NodeId, SyntaxNode, SyntaxTree};
use crate::digest::sha256;
use crate::lang::{Lang, grammar};
use crate::literal;
use crate::reason::UnprovenReason;
use crate::symbol::{Sym, Symbols};
use crate::tree::sugar;

/// Reads a source; `left` is the remaining node budget.
pub(crate) fn read(
    lang: Lang,
    bytes: &[u8],
    symbols: &mut Symbols,
    left: &mut usize,
) -> Result<SyntaxTree, UnprovenReason> {
    let parsed = parse(lang, bytes, None, *left)?;
    build(lang, &parsed, symbols, left)
}

/// A source with its tree-sitter tree.
pub(crate) struct ParsedSource<'a> {
    text: &'a str,
    tree: tree_sitter::Tree,
}

/// Parses a source, with a similar one to save time. No proof depends on tree-sitter giving the same tree,
/// because the checker always parses from scratch.
pub(crate) fn parse<'a>(
    lang: Lang,
    bytes: &'a [u8],
    like: Option<&ParsedSource<'_>>,
    left: usize,
) -> Result<ParsedSource<'a>, UnprovenReason> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|_| UnprovenReason::Binary)?;
    if text.contains('\0') {
        return Err(UnprovenReason::Binary);
    }
    if has_hidden_lines(lang, text) {
        return Err(UnprovenReason::ParseError);
    }
    // A node takes at least one byte on average, so a source beyond this limit is not even parsed.
    if bytes.len() / 8 > left {
        return Err(UnprovenReason::TooLarge);
    }
    let grammar = grammar(lang).ok_or(UnprovenReason::Language)?;
    let mut parser = Parser::new();
    parser.set_language(grammar.language).map_err(|_| UnprovenReason::Language)?;
    let edited = like.map(|like| edited(like, text));
    let tree = parser.parse(text, edited.as_ref()).ok_or(UnprovenReason::ParseError)?;
    if tree.root_node().has_error() {
        Err(UnprovenReason::ParseError)
    } else {
        Ok(ParsedSource { text, tree })
    }
}

/// Returns the other tree with the changed range of its text marked.
fn edited(like: &ParsedSource<'_>, text: &str) -> tree_sitter::Tree {
    let (old, new) = (like.text.as_bytes(), text.as_bytes());
    let start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - start;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    let point = |text: &[u8], at: usize| {
        let before = &text[..at];
        let row = before.iter().filter(|byte| **byte == b'\n').count();
        let column = at - before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        tree_sitter::Point { row, column }
    };
    let mut tree = like.tree.clone();
    tree.edit(&tree_sitter::InputEdit {
        start_byte: start,
        old_end_byte: old.len() - tail,
        new_end_byte: new.len() - tail,
        start_position: point(old, start),
        old_end_position: point(old, old.len() - tail),
        new_end_position: point(new, new.len() - tail),
    });
    tree
}

pub(crate) fn build(
    lang: Lang,
    parsed: &ParsedSource<'_>,
    symbols: &mut Symbols,
    left: &mut usize,
) -> Result<SyntaxTree, UnprovenReason> {
    let grammar = grammar(lang).ok_or(UnprovenReason::Language)?;
    let text = parsed.text;
    let mut build = Build {
        text,
        symbols,
        plain: Vec::with_capacity(text.len() * 2),
        tree: SyntaxTree { lang, root: 0, plain: [0; 32], grammar, nodes: Vec::new(), lists: Vec::new() },
        frames: Vec::new(),
        pending: Vec::new(),
        preambles: if lang == Lang::Go { c_imports(text) } else { Vec::new() },
        output: None,
        attributes: None,
    };
    build.run(&mut parsed.tree.walk(), left)?;
    let mut tree = build.tree;
    tree.plain = sha256(&build.plain);
    tree.root_if_empty();
    Ok(tree)
}

struct Build<'a> {
    text: &'a str,
    symbols: &'a mut Symbols,
    plain: Vec<u8>,
    tree: SyntaxTree,
    frames: Vec<NodeFrame>,
    pending: Vec<NodeId>,
    /// The positions where a Go source imports C.
    preambles: Vec<usize>,
    /// The end of the last line of expected example output.
    output: Option<usize>,
    /// The end of the attributes after a doc comment, and whether they read documentation.
    attributes: Option<(usize, Docs)>,
}

/// An inner node whose children are being read.
struct NodeFrame {
    kind: u16,
    field: u16,
    start: usize,
    end: usize,
    /// The index of its first child among the pending nodes.
    from: usize,
    /// The end of the last token, to find text between tokens.
    seen: usize,
    gaps: Gaps,
    docs: Docs,
}

/// Whether something reads the documentation in a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Docs {
    Ignored,
    Read,
}

/// The meaning of text between the tokens of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gaps {
    Blank,
    /// In texts even blanks count.
    Text,
    /// Between elements blanks count, unless they contain a line break.
    Markup,
}

impl Build<'_> {
    fn run(&mut self, cursor: &mut TreeCursor<'_>, left: &mut usize) -> Result<(), UnprovenReason> {
        loop {
            *left = left.checked_sub(1).ok_or(UnprovenReason::TooLarge)?;
            let mut go_down = false;
            let node = cursor.node();
            let (start, end) = (node.start_byte(), node.end_byte());
            let text = &self.text[start..end];
            let kind = node.kind();
            match () {
                () if kind.ends_with("comment") || kind == "line_continuation" => {
                    self.seen(start, end);
                    self.comment(text, start, end);
                }
                () if self.is_docstring(&node, kind, text) => self.seen(start, end),
                () if self.is_prologue(&node, kind) => {
                    self.seen(start, end);
                    // The text stays unchanged, because an escape makes it another directive.
                    let text = text.trim_end_matches([';', ' ', '\t', '\r', '\n']);
                    let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or(text);
                    self.plain_leaf(self.tree.grammar.prologue, text);
                    let sym = self.symbols.intern(inner);
                    self.add_leaf(self.tree.grammar.prologue, 0, sym, start, end);
                }
                () if is_open_member(self.text, &node, kind) => return Err(UnprovenReason::ParseError),
                () if node.child_count() == 0 || is_whole(self.tree.lang, &node, kind) => {
                    self.seen(start, end);
                    if !text.trim().is_empty()
                        || (kind.contains("text") && !text.is_empty())
                        || kind.contains("fragment")
                        || kind == "string_content"
                    {
                        let field = cursor.field_id().map_or(0, |id| id.get());
                        self.token(node.kind_id(), kind, field, text, start, end);
                    }
                }
                () => {
                    if self.frames.len() >= MAX_DEPTH {
                        return Err(UnprovenReason::TooLarge);
                    }
                    self.seen(start, start);
                    self.plain
                        .extend_from_slice(&self.tree.grammar.canon[node.kind_id() as usize].to_le_bytes());
                    self.plain.push(b'(');
                    let docs = self.docs();
                    self.frames.push(NodeFrame {
                        kind: self.tree.grammar.canon[node.kind_id() as usize],
                        field: cursor.field_id().map_or(0, |id| id.get()),
                        start,
                        end,
                        from: self.pending.len(),
                        seen: start,
                        gaps: gaps(kind),
                        docs,
                    });
                    // `f"{x = }"` prints its own source.
                    if self.tree.lang == Lang::Python && kind == "interpolation" && has_kind(&node, &["="]) {
                        self.leaf(self.tree.grammar.gap, 0, text, start, start);
                    }
                    go_down = true;
                }
            }
            if go_down && cursor.goto_first_child() {
                continue;
            }
            loop {
                if cursor.goto_next_sibling() {
                    break;
                }
                if !cursor.goto_parent() {
                    return Ok(());
                }
                if !self.close() {
                    return Ok(());
                }
            }
        }
    }

    /// Closes the current node; returns `false` for the root.
    fn close(&mut self) -> bool {
        let Some(frame) = self.frames.last() else { return false };
        let end = frame.end;
        self.seen(end, end);
        let frame = self.frames.pop().expect("there was one above");
        self.plain.push(b')');
        let mut kids: Vec<NodeId> = self.pending.split_off(frame.from);
        let kind = sugar::settle(&mut self.tree, self.symbols, frame.kind, frame.field, &mut kids);
        if let Some(kind) = kind {
            let node = SyntaxNode {
                kind,
                field: frame.field,
                sym: Sym::NONE,
                start: frame.start as u32,
                end: frame.end as u32,
                kids_at: self.tree.lists.len() as u32,
                kids: kids.len() as u32,
            };
            self.tree.lists.extend_from_slice(&kids);
            let id = self.tree.push(node);
            self.pending.push(id);
            self.tree.root = id;
        }
        match self.frames.last_mut() {
            Some(parent) => parent.seen = parent.seen.max(frame.end),
            None => return false,
        }
        true
    }

    /// Records that the source was read from `start` to `end`, and keeps text that no token covers.
    fn seen(&mut self, start: usize, end: usize) {
        let Some(frame) = self.frames.last_mut() else { return };
        let from = frame.seen;
        frame.seen = frame.seen.max(end);
        if from >= start {
            return;
        }
        let between = &self.text[from..start];
        let counts = match frame.gaps {
            Gaps::Blank => !between.trim().is_empty() && between.trim() != "\\",
            Gaps::Text => true,
            Gaps::Markup => !between.trim().is_empty() || !between.contains('\n'),
        };
        if counts {
            self.leaf(self.tree.grammar.gap, 0, between, from, start);
        }
    }

    fn token(&mut self, kind_id: u16, kind: &str, field: u16, text: &str, start: usize, end: usize) {
        let kind_id = self.tree.grammar.canon[kind_id as usize];
        self.plain_leaf(kind_id, text);
        let in_markup = self
            .frames
            .last()
            .is_some_and(|frame| self.tree.grammar.kinds[frame.kind as usize] == "jsx_attribute");
        let canonical = match kind {
            _ if in_markup => None,
            "string_start" => Some(literal::python_start(text)),
            "string_end" => Some("'".to_owned()),
            "string_content" if !self.is_raw() => Some(literal::unquoted(text)),
            _ => literal::canonical(self.tree.lang, kind, text),
        };
        let sym = self.symbols.intern(canonical.as_deref().unwrap_or(text));
        self.add_leaf(kind_id, field, sym, start, end);
    }

    /// Reports whether the current text belongs to a raw string, where a backslash has no special meaning.
    fn is_raw(&self) -> bool {
        let Some(frame) = self.frames.last() else { return false };
        self.pending.get(frame.from).is_some_and(|first| {
            self.tree.kind(*first) == "string_start" && self.symbols.text(self.tree.sym(*first)).contains('r')
        })
    }

    fn leaf(&mut self, kind: u16, field: u16, text: &str, start: usize, end: usize) {
        self.plain_leaf(kind, text);
        let sym = self.symbols.intern(text);
        self.add_leaf(kind, field, sym, start, end);
    }

    fn plain_leaf(&mut self, kind: u16, text: &str) {
        self.plain.extend_from_slice(&kind.to_le_bytes());
        self.plain.push(b'=');
        self.plain.extend_from_slice(&(text.len() as u32).to_le_bytes());
        self.plain.extend_from_slice(text.as_bytes());
    }

    fn add_leaf(&mut self, kind: u16, field: u16, sym: Sym, start: usize, end: usize) {
        // An empty text is still a leaf, but it has no token.
        let sym = if sym == Sym::NONE { self.symbols.intern("\0") } else { sym };
        let node = SyntaxNode { kind, field, sym, start: start as u32, end: end as u32, kids_at: 0, kids: 0 };
        let id = self.tree.push(node);
        self.pending.push(id);
    }
}

fn gaps(kind: &str) -> Gaps {
    match kind {
        "string" | "template_string" | "string_literal" | "template_literal_type" | "format_specifier" => {
            Gaps::Text
        }
        "jsx_element" | "jsx_fragment" => Gaps::Markup,
        _ => Gaps::Blank,
    }
}

/// Reports whether a literal becomes one leaf, because it contains no code.
fn is_whole(lang: Lang, node: &tree_sitter::Node<'_>, kind: &str) -> bool {
    match kind {
        "string" | "template_string" | "template_literal_type" | "string_literal" => !has_kind(
            node,
            &["interpolation", "template_substitution", "string_interpolation", "template_type"],
        ),
        "string_content"
        | "raw_string_literal"
        | "char_literal"
        | "character_literal"
        | "regex"
        | "rune_literal"
        | "interpreted_string_literal"
        | "lifetime"
        | "label" => true,
        "format_specifier" => !has_kind(node, &["format_expression", "interpolation"]),
        // `f"{x:=5}"` has a format and assigns nothing.
        "interpolation" => lang == Lang::Python && has_kind(node, &["named_expression"]),
        _ => false,
    }
}

fn has_kind(node: &tree_sitter::Node<'_>, kinds: &[&str]) -> bool {
    let mut cursor = node.walk();
    node.children(&mut cursor).any(|child| kinds.contains(&child.kind()))
}
