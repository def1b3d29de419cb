//! The short way from text to syntax tree, for lines of plain words: no quotes, no expansions, no
//! redirections but `2>&1`, nothing but `|`, `&&`, `||` and `;` between commands. Most lines that
//! agents run are of that kind, and the parser takes ten times as long. What is not plain beyond any
//! doubt is left to the parser.

use std::sync::Arc;

use brush_parser::ast::{
    AndOr, AndOrList, Command, CommandPrefixOrSuffixItem, CommandSuffix, CompoundList, CompoundListItem,
    IoFileRedirectKind, IoFileRedirectTarget, IoRedirect, Pipeline, Program, SeparatorOperator,
    SimpleCommand, Word,
};
use brush_parser::{SourcePosition, SourceSpan};

/// Longer ones are worth a parser.
const LONGEST: usize = 2000;

/// Words that are no program where a command starts.
const RESERVED: &[&str] = &[
    "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "select",
    "then", "time", "until", "while",
];

/// The tree of a plain line, the same that the parser would give.
pub(crate) fn read(text: &str) -> Option<Program> {
    if text.len() > LONGEST || !text.bytes().all(is_plain) {
        return None;
    }
    let mut line = PlainLine { text, at: 0 };
    let mut items = Vec::new();
    while !line.is_done() {
        let list = line.and_or()?;
        items.push(CompoundListItem(list, SeparatorOperator::Sequence));
        if !line.is_done() && !line.takes(";") {
            return None;
        }
    }
    (!items.is_empty()).then(|| Program { complete_commands: vec![CompoundList(items)] })
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b" _./:=,@%+-|&;>".contains(&byte)
}

fn is_word(byte: u8) -> bool {
    !b" |&;>".contains(&byte)
}

struct PlainLine<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> PlainLine<'a> {
    fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at..]
    }

    fn skip_blanks(&mut self) {
        self.at += self.rest().iter().take_while(|&&byte| byte == b' ').count();
    }

    fn is_done(&mut self) -> bool {
        self.skip_blanks();
        self.rest().is_empty()
    }

    /// Takes an operator that is there, and is not the start of a longer one.
    fn takes(&mut self, operator: &str) -> bool {
        self.skip_blanks();
        let Some(after) = self.rest().strip_prefix(operator.as_bytes()) else {
            return false;
        };
        if after.first().is_some_and(|byte| b"|&;>".contains(byte)) {
            return false;
        }
        self.at += operator.len();
        true
    }

    fn and_or(&mut self) -> Option<AndOrList> {
        let first = self.pipeline()?;
        let mut additional = Vec::new();
        loop {
            if self.takes("&&") {
                additional.push(AndOr::And(self.pipeline()?));
            } else if self.takes("||") {
                additional.push(AndOr::Or(self.pipeline()?));
            } else {
                return Some(AndOrList { first, additional });
            }
        }
    }

    fn pipeline(&mut self) -> Option<Pipeline> {
        let mut seq = vec![Command::Simple(self.command()?)];
        while self.takes("|") {
            seq.push(Command::Simple(self.command()?));
        }
        Some(Pipeline { timed: None, bang: false, seq })
    }

    fn command(&mut self) -> Option<SimpleCommand> {
        let name = self.word()?;
        if RESERVED.contains(&name.value.as_str()) || name.value.contains('=') {
            return None;
        }
        let mut suffix = Vec::new();
        loop {
            self.skip_blanks();
            if self.rest().starts_with(b"2>&1") {
                suffix.push(CommandPrefixOrSuffixItem::IoRedirect(self.both_outputs()?));
                continue;
            }
            match self.word() {
                // Told apart from an operand by the parser.
                Some(word) if is_assignment(&word.value) => return None,
                Some(word) => suffix.push(CommandPrefixOrSuffixItem::Word(word)),
                None => break,
            }
        }
        let suffix = (!suffix.is_empty()).then_some(CommandSuffix(suffix));
        Some(SimpleCommand { prefix: None, word_or_name: Some(name), suffix })
    }

    /// `2>&1`, with nothing of a word around it.
    fn both_outputs(&mut self) -> Option<IoRedirect> {
        let is_alone = self.rest().get(4).is_none_or(|&byte| !is_word(byte) && byte != b'>');
        let descriptor = self.at + 3;
        self.at += 4;
        let target = IoFileRedirectTarget::Duplicate(self.word_at(descriptor, descriptor + 1));
        is_alone.then_some(IoRedirect::File(Some(2), IoFileRedirectKind::DuplicateOutput, target))
    }

    /// The next word; `None` at an operator or the end. Any other redirection ends in neither a word nor
    /// an operator, and so in no tree.
    fn word(&mut self) -> Option<Word> {
        self.skip_blanks();
        let length = self.rest().iter().take_while(|&&byte| is_word(byte)).count();
        let end = self.at + length;
        if length == 0 || self.text.as_bytes().get(end) == Some(&b'>') {
            return None;
        }
        let word = self.word_at(self.at, end);
        self.at = end;
        Some(word)
    }

    fn word_at(&self, start: usize, end: usize) -> Word {
        let place = |index: usize| Arc::new(SourcePosition { index, line: 1, column: index + 1 });
        let loc = SourceSpan { start: place(start), end: place(end) };
        Word { value: self.text[start..end].to_owned(), loc: Some(loc) }
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && !name.is_empty()
    })
}

#[cfg(test)]
mod tests {
    use brush_parser::{Parser, ParserOptions};
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Option<Program> {
        Parser::new(text.as_bytes(), &ParserOptions::default()).parse_program().ok()
    }

    #[test]
    fn plain_lines_take_the_short_way() {
        for text in [
            "ls",
            "cargo test --workspace 2>&1 | tail -20 && git diff --stat",
            "a;b; c ;",
            "cd src && make -j4 || echo no",
            "x 2>&1",
            "docker run --rm -e=1 a:b@c +x %y",
        ] {
            assert_eq!(
                format!("{:?}", read(text).unwrap()),
                format!("{:?}", parsed(text).unwrap()),
                "{text}"
            );
        }
    }

    #[test]
    fn whatever_is_more_is_left_to_the_parser() {
        for text in [
            "",
            " ",
            ";",
            "a &",
            "a & b",
            "a |& b",
            "a;;b",
            "a > b",
            "a 2>&1x",
            "a 2>&12",
            "a >&2",
            "a2>&1",
            "X=1 a",
            "a X=1",
            "if a",
            "time a",
            "a &&",
            "| a",
            "a || | b",
            "a 'b'",
            "a $b",
            "a *",
            "a ~",
            "a # b",
            "a\nb",
            "! a",
            "a {b,c}",
            "a (b)",
            "a 1>&2",
            "a 2>&1 >b",
            "a &> b",
            "a é",
        ] {
            assert!(read(text).is_none(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_short_way_leads_to_the_same_tree(
            words in proptest::collection::vec(
                prop_oneof![
                    Just("a"), Just("git"), Just("-x"), Just("--y=z"), Just("v=w"), Just("2>&1"), Just("|"), Just("&&"),
                    Just("||"), Just(";"), Just("2"), Just(">"), Just("&"), Just("if"), Just("in"), Just("f/g.h"),
                ],
                1..12,
            ),
            spaces in proptest::collection::vec(any::<bool>(), 12),
        ) {
            let mut text = String::new();
            for (word, space) in words.iter().zip(&spaces) {
                text.push_str(word);
                if *space {
                    text.push(' ');
                }
            }
            if let Some(short) = read(&text) {
                prop_assert_eq!(format!("{:?}", Some(short)), format!("{:?}", parsed(&text)), "{}", text);
            }
        }
    }
}
