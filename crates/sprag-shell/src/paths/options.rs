//! Stepping over the options of a program, by a description of which of them take a value.

use crate::expand::unknown;

/// The options of one program, as far as they matter for finding its operands.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProgramOptions {
    /// Letters whose option takes a value: `-u x`, `-ux`.
    pub letters: &'static str,
    /// Long options that take a value in the next word, with their dashes; single-dash words
    /// (`-chdir`) are listed likewise.
    pub long: &'static [&'static str],
}

/// One option as found: its name with dashes, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundOption {
    pub name: String,
    pub value: Option<String>,
}

impl FoundOption {
    /// Whether it is one of these or the start of a long one, which most programs take for the whole.
    /// Which other options fit the same start is not known here, so this may be one too many.
    pub(crate) fn may_be(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.name == *name || abbreviates(&self.name, name))
    }
}

/// Whether `word` is the start of a long option.
pub(crate) fn abbreviates(word: &str, long: &str) -> bool {
    word.len() > 2 && word.starts_with("--") && long.starts_with(word)
}

/// Options until the first operand.
pub struct Split {
    pub given: Vec<FoundOption>,
    /// Where the operands begin.
    pub operands: usize,
}

impl Split {
    pub fn value(&self, names: &[&str]) -> Option<&str> {
        self.given.iter().find(|given| names.contains(&given.name.as_str()))?.value.as_deref()
    }

    pub fn has(&self, names: &[&str]) -> bool {
        self.given.iter().any(|given| names.contains(&given.name.as_str()))
    }

    /// The same with abbreviations, where one too many does no harm.
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

/// Options from word `from` on, up to the first operand or `--`.
pub fn leading(words: &[String], from: usize, options: &ProgramOptions) -> Split {
    let mut given = Vec::new();
    let mut at = from;
    while let Some(word) = words.get(at) {
        if word == "--" {
            at += 1;
            break;
        }
        // A word that begins with a hole may be anything: it ends the options.
        if !word.starts_with('-') || word == "-" {
            break;
        }
        at += 1 + option(words, at, options, &mut given);
    }
    Split { given, operands: at.min(words.len()) }
}

/// All options, wherever they stand, and all operands.
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

/// Reads the option at `at`; returns how many further words it takes.
fn option(words: &[String], at: usize, options: &ProgramOptions, given: &mut Vec<FoundOption>) -> usize {
    let word = words[at].as_str();
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (word, None),
    };
    if word.starts_with("--") || options.long.contains(&name) {
        let takes = value.is_none() && options.long.contains(&name);
        // What an abbreviation stands for is a guess: its value is told, and the word stays an operand.
        // `curl --head -o f` is no start of `--header`.
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
