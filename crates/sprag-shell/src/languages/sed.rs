//! Scripts of `sed`: `e` and the flag `e` of `s` run commands, `w` writes files. All other commands are
//! skipped; a script that cannot be read is a doubt.

use crate::eval::{Evaluator, StdinText};
use crate::expand::unknown::{self, HOLE};
use crate::paths::options::{self, ProgramOptions};
use crate::{Carrier, DoubtKind};

/// The effects of a script besides editing.
#[derive(Debug, Default, PartialEq, Eq)]
struct Effects {
    /// Commands that the script runs; `None` stands for the edited text.
    runs: Vec<Option<String>>,
    writes: Vec<String>,
    reads: Vec<String>,
}

impl Evaluator {
    /// Records the paths of `sed`. `-i.bak` has an attached value, so `i` is not a letter of the table. With
    /// `-e` the first operand is a file.
    pub(crate) fn sed(&mut self, words: &[String]) {
        let (scripts, files, in_place) = arguments(words);
        for path in &files {
            self.reads(path, "sed");
            if in_place {
                self.writes(path, "sed");
            }
        }
        let Some(effects) = effects(&scripts.join("\n")) else { return };
        for path in effects.writes.iter().filter(|path| !is_stream(path)) {
            self.writes(path, "sed");
        }
        for path in effects.reads.iter().filter(|path| !is_stream(path)) {
            self.reads(path, "sed");
        }
    }

    /// Walks the commands of a script; `command` is `sed` itself.
    pub(crate) fn sed_code(&mut self, words: &[String], command: Option<usize>) {
        let (scripts, files, _) = arguments(words);
        let Some(effects) = effects(&scripts.join("\n")) else {
            self.doubt_of(DoubtKind::Opaque, "a sed script that cannot be read", command);
            return;
        };
        let file = options::anywhere(words, 1, &OPTIONS).0.value(&["-f", "--file"]).map(str::to_owned);
        if let Some(file) = file {
            self.doubt_of(DoubtKind::Opaque, &format!("script file {file}"), command);
        }
        let input = match &self.input {
            StdinText::Text(text) if files.is_empty() => Some(text.clone()),
            StdinText::Text(_) | StdinText::Inherited | StdinText::File(_) => None,
        };
        self.via.push(Carrier::Program("sed".to_owned()));
        for code in effects.runs {
            let known = code.as_deref().is_some_and(|code| !code.trim().is_empty());
            if let Some(code) = &code {
                self.input_unknown(|walk| walk.shell_text("sed", code, Vec::new()));
            }
            match &input {
                Some(text) => {
                    self.input_unknown(|walk| walk.shell_text("sed", text, Vec::new()));
                }
                None if known => {}
                None => self.doubt_of(DoubtKind::Dynamic, "sed runs the lines of a file", command),
            }
        }
        self.via.pop();
    }
}

const OPTIONS: ProgramOptions =
    ProgramOptions { letters: "efl", long: &["--expression", "--file", "--line-length"] };

/// Returns the scripts, the files, and whether `sed` changes the files.
fn arguments(words: &[String]) -> (Vec<String>, Vec<String>, bool) {
    let mut plain = Vec::new();
    let mut in_place = false;
    let mut values = false;
    for word in words {
        let is_in_place = !values
            && (word.starts_with("--in-place")
                || options::abbreviates(word.split('=').next().unwrap_or(word), "--in-place")
                || word.starts_with('-')
                    && !word.starts_with("--")
                    && word.chars().skip(1).take_while(|c| !"efl".contains(*c)).any(|c| c == 'i'));
        in_place |= is_in_place;
        if !is_in_place {
            plain.push(word.clone());
        }
        values |= word == "--";
    }
    let (split, operands) = options::anywhere(&plain, 1, &OPTIONS);
    let mut scripts: Vec<String> = split
        .given
        .iter()
        .filter(|given| given.may_be(&["-e", "--expression"]))
        .filter_map(|given| given.value.clone())
        .collect();
    // The macOS form has a separate empty suffix.
    let mut operands = operands.strip_prefix(&[String::new()]).unwrap_or(&operands);
    if scripts.is_empty()
        && !split.may_have(&["-f", "--file"])
        && let Some((script, rest)) = operands.split_first()
    {
        scripts.push(script.clone());
        operands = rest;
    }
    (scripts, operands.to_vec(), in_place)
}

fn is_stream(path: &str) -> bool {
    matches!(path, "/dev/stdout" | "/dev/stderr" | "/dev/stdin")
}

/// Returns the effects of a script, or `None` if it cannot be read.
fn effects(script: &str) -> Option<Effects> {
    let mut reader = SedReader { rest: script };
    let mut effects = Effects::default();
    loop {
        reader.skip(|c| c.is_whitespace() || c == ';');
        let Some(c) = reader.peek() else { return Some(effects) };
        if c == '#' {
            reader.line();
            continue;
        }
        reader.addresses()?;
        let command = reader.next()?;
        match command {
            '{' | '}' => {}
            'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | '=' | 'z' | 'F' => {
                reader.end()?;
            }
            'q' | 'Q' | 'l' | 'L' => {
                reader.skip(|c| c.is_ascii_digit() || c == ' ');
                reader.end()?;
            }
            'a' | 'i' | 'c' => reader.text(),
            ':' | 'b' | 't' | 'T' | 'v' => reader.label(),
            'r' | 'R' => effects.reads.push(reader.line().to_owned()),
            'w' | 'W' => effects.writes.push(reader.line().to_owned()),
            'e' => {
                let code = reader.line();
                effects.runs.push(Some(code.to_owned()).filter(|code| !code.is_empty()));
            }
            'y' => {
                let delimiter = reader.next()?;
                reader.until(delimiter)?;
                reader.until(delimiter)?;
                reader.end()?;
            }
            's' => reader.substitution(&mut effects)?,
            _ => return None,
        }
    }
}

struct SedReader<'s> {
    rest: &'s str,
}

impl<'s> SedReader<'s> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn skip(&mut self, skipped: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(skipped);
    }

    /// Takes the rest of the line.
    fn line(&mut self) -> &'s str {
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        line.trim()
    }

    /// Skips the text of `a`, `i` and `c`, up to a line that does not end in a backslash.
    fn text(&mut self) {
        loop {
            let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
            self.rest = rest;
            if !line.ends_with('\\') || rest.is_empty() {
                return;
            }
        }
    }

    fn label(&mut self) {
        let end = self.rest.find([';', '\n', '}']).unwrap_or(self.rest.len());
        self.rest = &self.rest[end..];
    }

    /// Checks that only blanks follow a command.
    fn end(&mut self) -> Option<()> {
        self.skip(|c| matches!(c, ' ' | '\t'));
        matches!(self.peek(), None | Some(';' | '\n' | '}' | '#')).then_some(())
    }

    /// Takes the text up to the next delimiter that is neither escaped nor in brackets.
    fn until(&mut self, delimiter: char) -> Option<&'s str> {
        let whole = self.rest;
        let mut escaped = false;
        for (at, c) in whole.char_indices() {
            if escaped {
                escaped = false;
            } else if c == delimiter {
                self.rest = &whole[at + c.len_utf8()..];
                return Some(&whole[..at]);
            } else if c == '\\' {
                escaped = true;
            }
        }
        None
    }

    fn addresses(&mut self) -> Option<()> {
        loop {
            match self.peek()? {
                '0'..='9' | '$' | ',' | '~' | '+' | ' ' | '\t' | '!' => {
                    self.next();
                }
                '/' => {
                    self.next();
                    self.until('/')?;
                    self.skip(|c| matches!(c, 'I' | 'M'));
                }
                '\\' => {
                    self.next();
                    let delimiter = self.next()?;
                    self.until(delimiter)?;
                    self.skip(|c| matches!(c, 'I' | 'M'));
                }
                _ => return Some(()),
            }
        }
    }

    fn substitution(&mut self, effects: &mut Effects) -> Option<()> {
        let delimiter = self.next()?;
        self.until(delimiter)?;
        let replacement = self.until(delimiter)?;
        loop {
            match self.peek() {
                Some('g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9') => {
                    self.next();
                }
                Some('e') => {
                    self.next();
                    effects.runs.push(Some(replaced(replacement)));
                }
                Some('w') => {
                    self.next();
                    let path = self.line().to_owned();
                    effects.writes.push(path);
                    return Some(());
                }
                _ => return self.end(),
            }
        }
    }
}

/// Returns the replacement with holes for the matched text.
fn replaced(replacement: &str) -> String {
    let mut out = String::new();
    let mut chars = replacement.chars();
    while let Some(c) = chars.next() {
        match c {
            '&' => out.push(HOLE),
            '\\' => match chars.next() {
                Some('0'..='9') => out.push(HOLE),
                Some('n') => out.push('\n'),
                Some(c) => out.push(c),
                None => {}
            },
            _ if unknown::is_hole(c) => out.push(HOLE),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(script: &str) -> String {
        match effects(script) {
            None => "not understood".to_owned(),
            Some(effects) => {
                let runs = effects.runs.iter().map(|code| format!("run {}", code.as_deref().unwrap_or("?")));
                let writes = effects.writes.iter().map(|path| format!("write {path}"));
                runs.chain(writes).collect::<Vec<_>>().join(", ")
            }
        }
    }

    #[test]
    fn commands_and_files_are_found_and_the_rest_is_stepped_over() {
        for (script, expected) in [
            ("s/a/b/g", ""),
            ("1,5p", ""),
            ("$!N;P;D", ""),
            ("/x/,/y/{s,a,b,;p}", ""),
            ("s/we/ew/;y/abc/xyz/", ""),
            (":a;N;$!ba;s/\\n/ /g", ""),
            ("a\\\ne rm\n1e id", "run id"),
            ("/x/I{e id\n}", "run id"),
            ("e", "run ?"),
            ("s/.*/id/e", "run id"),
            ("s|a|id|ge", "run id"),
            ("s/x/echo e w/", ""),
            ("w out", "write out"),
            ("/a/w a b", "write a b"),
            ("s/a/b/w out", "write out"),
            ("1~2d;2,+3d", ""),
            ("10q", ""),
            ("ph", "not understood"),
            ("s/a/b", "not understood"),
        ] {
            assert_eq!(told(script), expected, "{script}");
        }
    }
}
