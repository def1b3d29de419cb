//! Separates the options of a program from its operands, from a description of the options that take a value.

use crate::expand::unknown;

/// The options of one program, as far as they matter for finding its operands.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProgramOptions {
    /// Letters of options that take a value: `-u x`, `-ux`.
    pub letters: &'static str,
    /// Long options that take a value in the next word, with their dashes; words with one dash (`-chdir`) are
    /// listed too.
    pub long: &'static [&'static str],
}

/// One found option: its name with dashes, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundOption {
    pub name: String,
    pub value: Option<String>,
}

impl FoundOption {
    /// Reports whether the option is one of these, or an abbreviation of a long one. Other options may have
    /// the same abbreviation, so the answer may be wrong.
    pub(crate) fn may_be(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.name == *name || abbreviates(&self.name, name))
    }
}

/// Reports whether `word` abbreviates a long option.
pub(crate) fn abbreviates(word: &str, long: &str) -> bool {
    word.len() > 2 && word.starts_with("--") && long.starts_with(word)
}

/// Options before the first operand.
pub struct Split {
    pub given: Vec<FoundOption>,
    /// The index of the first operand.
    pub operands: usize,
}

impl Split {
    pub fn value(&self, names: &[&str]) -> Option<&str> {
        self.given.iter().find(|given| names.contains(&given.name.as_str()))?.value.as_deref()
    }

    pub fn has(&self, names: &[&str]) -> bool {
        self.given.iter().any(|given| names.contains(&given.name.as_str()))
    }

    /// Reports whether one of these options may be given, abbreviations included. Use it where a false match
    /// does no harm.
    pub(crate) fn may_have(&self, names: &[&str]) -> bool {
        self.given.iter().any(|given| given.may_be(names))
    }

    pub(crate) fn may_values(&self, names: &[&str]) -> Vec<String> {
        self.given
            .iter()
            .filter(|given| given.may_be(names))
            .filter_map(|given| given.value.clone())
            .collect()
    }
}

/// Reads the options from word `from` on, up to the first operand or `--`.
pub fn leading(words: &[String], from: usize, options: &ProgramOptions) -> Split {
    let mut given = Vec::new();
    let mut at = from;
    while let Some(word) = words.get(at) {
        if word == "--" {
            at += 1;
            break;
        }
        // A word that starts with a hole may be anything, so it ends the options.
        if !word.starts_with('-') || word == "-" {
            break;
        }
        at += 1 + option(words, at, options, &mut given);
    }
    Split { given, operands: at.min(words.len()) }
}

/// Returns all options at any position, and all operands.
pub fn anywhere(words: &[String], from: usize, options: &ProgramOptions) -> (Split, Vec<String>) {
    let mut given = Vec::new();
    let mut operands = Vec::new();
    let mut at = from;
    while let Some(word) = words.get(at) {
        if word == "--" {
            operands.extend(words[at + 1..].iter().cloned());
            break;
        }
        if word.starts_with('-') && word != "-" {
            at += 1 + option(words, at, options, &mut given);
        } else {
            operands.push(word.clone());
            at += 1;
        }
    }
    (Split { given, operands: words.len() }, operands)
}

/// Reads the option at `at`; returns the number of further words that it takes.
fn option(words: &[String], at: usize, options: &ProgramOptions, given: &mut Vec<FoundOption>) -> usize {
    let word = words[at].as_str();
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (word, None),
    };
    if word.starts_with("--") || options.long.contains(&name) {
        let takes = value.is_none() && options.long.contains(&name);
        // The meaning of an abbreviation is a guess. So its value is reported, and the word stays an operand
        // too. For example `curl --head -o f` does not mean `--header`.
        let may_take = value.is_none() && options.long.iter().any(|long| abbreviates(name, long));
        let value = if takes || may_take { words.get(at + 1).cloned() } else { value };
        given.push(FoundOption { name: name.to_owned(), value });
        return usize::from(takes);
    }
    let letters: Vec<char> = word.chars().skip(1).collect();
    for (index, letter) in letters.iter().enumerate() {
        if unknown::is_hole(*letter) {
            break;
        }
        let name = format!("-{letter}");
        if !options.letters.contains(*letter) {
            given.push(FoundOption { name, value: None });
            continue;
        }
        let attached: String = letters[index + 1..].iter().collect();
        if attached.is_empty() {
            given.push(FoundOption { name, value: words.get(at + 1).cloned() });
            return 1;
        }
        given.push(FoundOption { name, value: Some(attached) });
        return 0;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_end_where_operands_begin() {
        let options = ProgramOptions { letters: "un", long: &["--user", "-chdir"] };
        for (line, operands) in [
            ("x -u a cmd -u", "cmd -u"),
            ("x -ua -k cmd", "cmd"),
            ("x -ku a cmd", "cmd"),
            ("x --user a cmd", "cmd"),
            ("x --user=a cmd", "cmd"),
            ("x -- -cmd", "-cmd"),
            ("x -chdir d cmd", "cmd"),
            ("x - cmd", "- cmd"),
            ("x -u", ""),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let split = leading(&words, 1, &options);
            assert_eq!(words[split.operands..].join(" "), operands, "{line}");
        }
    }
}
