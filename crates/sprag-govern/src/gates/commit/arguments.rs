//! The words of a command as options and operands. An unknown part of a word is a character that no word can
//! contain.

use sprag_shell::{Command, Word};

/// Placeholder for a part that is known only at run time.
pub(crate) const HOLE: char = '\0';

/// The options of a program that take a value, by letter and by name.
pub struct Spec {
    pub letters: &'static str,
    /// Letters whose value, if any, is the rest of the word.
    pub attached: &'static str,
    pub long: &'static [&'static str],
}

/// Position of a value: its word, and the first byte in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValuePosition {
    pub word: usize,
    pub from: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GivenValue {
    /// `-m` or `--message`, for any spelling.
    pub name: String,
    /// The word of the option itself.
    pub word: usize,
    pub value: Option<ValuePosition>,
}

/// A parsed command line.
pub(crate) struct Arguments {
    pub texts: Vec<String>,
    pub options: Vec<GivenValue>,
    /// Indices into `texts`.
    pub operands: Vec<usize>,
}

impl Arguments {
    /// Reads the words after the first `verbs` words.
    pub(super) fn read(command: &Command, verbs: usize, spec: &Spec) -> Arguments {
        let texts: Vec<String> = command.argv.iter().map(text_of).collect();
        let mut words = Arguments { options: Vec::new(), operands: Vec::new(), texts };
        let mut at = verbs;
        let mut only_operands = false;
        while at < words.texts.len() {
            let text = words.texts[at].clone();
            let next = at + 1 < words.texts.len();
            let mut used = at;
            if only_operands || !text.starts_with('-') || text == "-" {
                words.operands.push(at);
            } else if text == "--" {
                only_operands = true;
            } else if text.starts_with("--") {
                let (name, value) = match text.split_once('=') {
                    Some((name, _)) => (name, Some(ValuePosition { word: at, from: name.len() + 1 })),
                    None => (text.as_str(), None),
                };
                let name = full_name(name, spec);
                let takes_next = value.is_none() && next && spec.long.contains(&name.as_str());
                used += usize::from(takes_next);
                let value = value.or_else(|| takes_next.then_some(ValuePosition { word: used, from: 0 }));
                words.options.push(GivenValue { name, word: at, value });
            } else {
                for (offset, letter) in text.char_indices().skip(1) {
                    let from = offset + letter.len_utf8();
                    let rest = (from < text.len()).then_some(ValuePosition { word: at, from });
                    let value = if spec.letters.contains(letter) {
                        used += usize::from(rest.is_none() && next);
                        rest.or_else(|| next.then_some(ValuePosition { word: at + 1, from: 0 }))
                    } else {
                        rest.filter(|_| spec.attached.contains(letter))
                    };
                    words.options.push(GivenValue { name: format!("-{letter}"), word: at, value });
                    if value.is_some() {
                        break;
                    }
                }
            }
            at = used + 1;
        }
        words
    }

    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|given| names.contains(&given.name.as_str()))
    }

    pub(super) fn text(&self, at: ValuePosition) -> &str {
        &self.texts[at.word][at.from..]
    }

    pub(super) fn operand(&self, at: usize) -> Option<&str> {
        self.operands.get(at).map(|&word| self.texts[word].as_str())
    }

    pub(super) fn operands(&self) -> impl Iterator<Item = &str> {
        self.operands.iter().map(|&word| self.texts[word].as_str())
    }
}

pub(crate) fn text_of(word: &Word) -> String {
    word.text(HOLE)
}

/// Returns the full name of an option. Git accepts unique prefixes.
fn full_name(name: &str, spec: &Spec) -> String {
    let is_whole = spec.long.contains(&name) || name.len() < 5;
    let meant = spec.long.iter().find(|long| !is_whole && long.starts_with(name));
    meant.map_or_else(|| name.to_owned(), |long| (*long).to_owned())
}
