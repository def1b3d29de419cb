//! Comments, documentation and directives, and which of them count as code.

use super::{Build, Docs};
use crate::comment;
use crate::lang::Lang;

impl Build<'_> {
    /// Reports whether a statement is a docstring: a lone string at the start of a module, class or function.
    pub(super) fn is_docstring(&self, node: &tree_sitter::Node<'_>, kind: &str, text: &str) -> bool {
        if self.tree.lang != Lang::Python || kind != "expression_statement" || node.child_count() != 1 {
            return false;
        }
        let Some(frame) = self.frames.last() else { return false };
        let is_string = node
            .child(0)
            .is_some_and(|child| child.kind() == "string" || child.kind() == "concatenated_string");
        let is_plain = |text: &str| {
            let start = text.find(['"', '\'']).unwrap_or(0);
            !text[..start].contains(['f', 'F', 'b', 'B', '(', 't', 'T'])
        };
        let parts_are_plain = node.child(0).is_some_and(|child| {
            let mut cursor = child.walk();
            child.kind() == "string"
                || child.children(&mut cursor).all(|part| is_plain(&self.text[part.byte_range()]))
        });
        if !is_string || !is_plain(text) || !parts_are_plain {
            return false;
        }
        let is_first = self.pending[frame.from..].iter().all(|id| self.tree.kind(*id) == "directive");
        let owner = match self.tree.grammar.kinds[frame.kind as usize] {
            "module" => true,
            "block" => self.frames.len().checked_sub(2).is_some_and(|at| {
                matches!(
                    self.tree.grammar.kinds[self.frames[at].kind as usize],
                    "function_definition" | "class_definition"
                )
            }),
            _ => false,
        };
        is_first && owner
    }

    /// Reports whether a macro or a derive reads a doc comment.
    fn is_macro_input(&mut self, text: &str, end: usize) -> bool {
        let is_doc = ["///", "//!", "/**", "/*!"].iter().any(|mark| text.starts_with(mark));
        if self.tree.lang != Lang::Rust || !is_doc {
            return false;
        }
        let is_token =
            self.frames.iter().any(|frame| self.tree.grammar.kinds[frame.kind as usize] == "token_tree");
        is_token || self.docs() == Docs::Read || self.docs_ahead(end) == Docs::Read
    }

    /// Returns whether the last attributes read the documentation.
    pub(super) fn docs(&self) -> Docs {
        const MANY: usize = 64;
        let Some(frame) = self.frames.last().filter(|_| self.tree.lang == Lang::Rust) else {
            return Docs::Ignored;
        };
        let last = self.pending[frame.from..].iter().rev().take(MANY);
        let reads =
            last.take_while(|id| matches!(self.tree.kind(**id), "attribute_item" | "directive")).any(|id| {
                let node = self.tree.node(*id);
                self.tree.kind(*id) == "attribute_item"
                    && comment::reads_docs(&self.text[node.start as usize..node.end as usize])
            });
        if reads { Docs::Read } else { frame.docs }
    }

    /// Returns the same for following attributes; it reads a run of comments only once.
    fn docs_ahead(&mut self, end: usize) -> Docs {
        if let Some((_, docs)) = self.attributes.filter(|(until, _)| end <= *until) {
            return docs;
        }
        let (length, reads) = comment::attributes_ahead(&self.text[end..]);
        let docs = if reads { Docs::Read } else { Docs::Ignored };
        self.attributes = Some((end + length, docs));
        docs
    }

    /// Reports whether a comment directly precedes `import "C"`; then it is C code.
    fn is_preamble(&self, end: usize) -> bool {
        let Some(import) = self.preambles.iter().copied().find(|import| end <= *import) else { return false };
        let between = &self.text[end..import];
        let rest = between.trim_start();
        let lines = between[..between.len() - rest.len()].matches('\n').count();
        lines < 2 && (rest.is_empty() || rest.starts_with("//") || rest.starts_with("/*"))
    }

    /// Keeps the parts of a comment that count as code.
    pub(super) fn comment(&mut self, text: &str, start: usize, end: usize) {
        let lang = self.tree.lang;
        let (before, behind) = (&self.text[..start], &self.text[end..]);
        // The lines below `// Output:` belong to it.
        let is_output = lang == Lang::Go
            && (comment::is_output(text)
                || self.output.is_some_and(|output| self.text[output..start].trim().is_empty()));
        if is_output {
            self.output = Some(end);
        }
        let is_directive = comment::is_directive(lang, text, before)
            || is_output
            || self.is_preamble(end)
            || self.is_macro_input(text, end);
        if is_directive {
            // An old build constraint counts only if a blank line follows.
            let is_apart = text.contains("+build")
                && behind.split('\n').nth(1).is_some_and(|line| line.trim().is_empty());
            let text = text.trim_end();
            let marked = format!("{text}\n");
            let text = if is_apart { &marked } else { text };
            return self.leaf(self.tree.grammar.directive, 0, text, start, end);
        }
        // A comment with a line break ends the line, and with it a `return`.
        let is_between = text.contains('\n')
            && (lang == Lang::Go || lang.is_script())
            && before.rsplit('\n').next().is_some_and(|line| !line.trim().is_empty())
            && behind.split('\n').next().is_some_and(|line| !line.trim().is_empty());
        if is_between {
            self.leaf(self.tree.grammar.directive, 0, "\n", start, end);
        }
    }

    /// Reports whether a statement is a directive such as `'use strict'`: a text among the first statements
    /// of a script or function.
    pub(super) fn is_prologue(&self, node: &tree_sitter::Node<'_>, kind: &str) -> bool {
        if !self.tree.lang.is_script() || kind != "expression_statement" {
            return false;
        }
        let is_text = node.child(0).is_some_and(|child| child.kind() == "string");
        if !is_text || node.child(1).is_some_and(|child| child.kind() != ";") {
            return false;
        }
        let Some(frame) = self.frames.last() else { return false };
        let is_first = self.pending[frame.from..]
            .iter()
            .all(|id| matches!(self.tree.kind(*id), "prologue" | "directive" | "{" | "hash_bang_line"));
        let kind_of = |at: usize| self.tree.grammar.kinds[self.frames[at].kind as usize];
        let owner = match kind_of(self.frames.len() - 1) {
            "program" => true,
            "statement_block" => self.frames.len().checked_sub(2).is_some_and(|at| {
                let owner = kind_of(at);
                owner.contains("function") || owner == "method_definition"
            }),
            _ => false,
        };
        is_first && owner
    }
}
