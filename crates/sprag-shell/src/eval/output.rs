//! The output of programs, where it can be computed: `echo`, `printf`, `cat`, `tee`, and decoders of literal
//! text. Any other output is unknown.

use sprag_base::base64;

use super::{Evaluator, StdinText, TEXT};
use crate::expand::escapes::{self, EscapeDialect};
use crate::expand::unknown::{self, HOLE, NUMBER};
use crate::paths::options::{self, ProgramOptions};

/// Decodes a text; returns `None` if the text has another format.
type Decoder = fn(&str) -> Option<Vec<u8>>;

impl Evaluator {
    /// Adds the output of a program.
    pub(super) fn output(&mut self, name: &str, words: &[String]) {
        match self.printed(name, words) {
            Some(text) if text.len() <= TEXT => self.print(&text),
            Some(_) | None => self.print_unknown(),
        }
    }

    /// Copies the known content of a file to its copy.
    fn copied(&mut self, name: &str, arguments: &[String]) {
        let (from, to) = if name == "dd" {
            let value = |key: &str| arguments.iter().find_map(|word| word.strip_prefix(key));
            (value("if=").unwrap_or("/dev/stdin"), value("of=").unwrap_or_default())
        } else {
            let operands: Vec<&str> =
                arguments.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
            match operands.as_slice() {
                [.., from, to] => (*from, *to),
                _ => return,
            }
        };
        if let Some(text) = self.file(from).map(str::to_owned)
            && !to.is_empty()
        {
            self.write_file(to, &text);
            let inside = format!("{}/{}", to.trim_end_matches('/'), unknown::base_name(from));
            self.write_file(&inside, &text);
        }
    }

    fn printed(&mut self, name: &str, words: &[String]) -> Option<String> {
        let arguments = &words[1..];
        if matches!(name, "cp" | "mv" | "ln" | "install" | "dd" | "rsync") {
            self.copied(name, arguments);
        }
        match name {
            "echo" => Some(echo(arguments)),
            "printf" => {
                if arguments.first().is_some_and(|word| word == "-v") {
                    return Some(String::new());
                }
                let from = usize::from(arguments.first().is_some_and(|word| word == "--"));
                printf(arguments.get(from)?, &arguments[from + 1..])
            }
            // A path that ends with the name, because programs are identified by their base name.
            "which" | "type" | "command" => {
                let names: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
                let asks = name == "which"
                    || arguments.iter().any(|word| matches!(word.as_str(), "-v" | "-P" | "-p" | "-pv"));
                match names.as_slice() {
                    // A guess, which keeps the name of the program.
                    [program] if name == "which" && unknown::is_known(program) && !program.contains('/') => {
                        Some(format!("/usr/bin/{program}\n"))
                    }
                    [program] if asks && unknown::is_known(program) => Some(format!("{program}\n")),
                    _ => None,
                }
            }
            "wc" if arguments.iter().all(|word| matches!(word.as_str(), "-l" | "-c" | "-w" | "-m"))
                && arguments.len() == 1 =>
            {
                Some(format!("{NUMBER}\n"))
            }
            // For a single file it prints no name.
            "grep" | "egrep"
                if arguments.len() <= 3 && arguments.first().is_some_and(|word| word == "-c") =>
            {
                Some(format!("{NUMBER}\n"))
            }
            "nproc" => Some(format!("{NUMBER}\n")),
            "id" if matches!(arguments, [only] if matches!(only.as_str(), "-u" | "-g")) => {
                Some(format!("{NUMBER}\n"))
            }
            "date" if matches!(arguments, [only] if matches!(only.as_str(), "+%s" | "+%Y" | "+%s%N")) => {
                Some(format!("{NUMBER}\n"))
            }
            "cat" | "tac" => self.cat(arguments),
            // A new directory that only this text uses, so deleting in it is safe. Its exact name is unknown,
            // but it lies in `/tmp` and is unique.
            "mktemp" if arguments.iter().all(|word| !word.starts_with("-p") && !word.contains('/')) => {
                Some("/tmp/tmp.XXXXXXXXXX\n".to_owned())
            }
            "tee" => {
                let text = self.input_text()?;
                let append = arguments.iter().any(|word| matches!(word.as_str(), "-a" | "--append"));
                for path in arguments.iter().filter(|word| !word.starts_with('-')) {
                    if append { self.append_file(path, &text) } else { self.write_file(path, &text) }
                }
                Some(text)
            }
            "rev" if arguments.is_empty() => {
                let text = self.input_text()?;
                Some(text.split_inclusive('\n').map(reversed).collect())
            }
            "base64" | "gbase64" => {
                let decodes = arguments.iter().any(|word| {
                    word == "--decode"
                        || word.len() > 1
                            && !word.starts_with("--")
                            && word.starts_with('-')
                            && word.contains(['d', 'D'])
                });
                self.decoded(arguments, decodes.then_some(base64::decoded as fn(&str) -> Option<Vec<u8>>))
            }
            "openssl" => {
                let base64_decode =
                    arguments.iter().any(|word| matches!(word.as_str(), "base64" | "-base64" | "-a"))
                        && arguments.iter().any(|word| word == "-d");
                self.decoded(&[], base64_decode.then_some(base64::decoded as fn(&str) -> Option<Vec<u8>>))
            }
            "xxd" => {
                let letters: String =
                    arguments.iter().filter(|word| word.starts_with('-')).cloned().collect();
                let plain = letters.contains('r') && letters.contains('p');
                self.decoded(arguments, plain.then_some(hex))
            }
            "tr" => self.translated(arguments),
            "cd" | "chdir" | "export" | "declare" | "typeset" | "local" | "readonly" | "unset" | "read"
            | "let" | "set" | "shift" | "unalias" | ":" | "true" | "false" | "test" | "[" | "shopt"
            | "wait" | "return" | "exit" | "break" | "continue" | "hash" | "mkdir" | "rm" | "touch"
            | "cp" | "mv" | "ln" | "chmod" | "chown" | "sleep" => Some(String::new()),
            _ => None,
        }
    }

    pub(crate) fn input_text(&self) -> Option<String> {
        match &self.input {
            StdinText::Text(text) => Some(text.clone()),
            StdinText::Inherited | StdinText::File(_) => None,
        }
    }

    fn cat(&mut self, arguments: &[String]) -> Option<String> {
        let files: Vec<&String> =
            arguments.iter().filter(|word| !word.starts_with('-') || *word == "-").collect();
        if files.is_empty() {
            return self.input_text();
        }
        let mut text = String::new();
        for file in files {
            match file.as_str() {
                "-" | "/dev/stdin" => text.push_str(&self.input_text()?),
                path => text.push_str(self.file(path)?),
            }
        }
        Some(text)
    }

    fn decoded(&mut self, arguments: &[String], decoder: Option<Decoder>) -> Option<String> {
        let decoder = decoder?;
        let file = arguments
            .iter()
            .find(|word| !word.starts_with('-') && !word.bytes().all(|byte| byte.is_ascii_digit()));
        let text = match file {
            Some(path) => self.file(path)?.to_owned(),
            None => self.input_text()?,
        };
        if !unknown::is_known(&text) {
            return None;
        }
        Some(unknown::without_marks(&escapes::text_of(decoder(&text)?)))
    }

    /// Computes `tr` with plain sets and ranges, and `tr -d`.
    fn translated(&mut self, arguments: &[String]) -> Option<String> {
        const OPTIONS: ProgramOptions = ProgramOptions { letters: "", long: &[] };
        let split = options::leading(arguments, 0, &OPTIONS);
        let text = self.input_text()?;
        let sets = arguments.get(split.operands..)?;
        let from = set(sets.first()?)?;
        if split.has(&["-d", "--delete"]) {
            return Some(text.chars().filter(|c| !from.contains(c)).collect());
        }
        if !split.given.is_empty() {
            return None;
        }
        let to = set(sets.get(1)?)?;
        let last = *to.last()?;
        Some(
            text.chars()
                .map(|c| match from.iter().rposition(|known| *known == c) {
                    Some(at) => to.get(at).copied().unwrap_or(last),
                    None => c,
                })
                .collect(),
        )
    }
}

/// Returns the characters of a set of `tr`; classes are not supported.
fn set(text: &str) -> Option<Vec<char>> {
    if text.contains("[:") || !unknown::is_known(text) {
        return None;
    }
    let text = escapes::decode(text, EscapeDialect::Format).0;
    let chars: Vec<char> = text.chars().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        if chars.get(at + 1) == Some(&'-')
            && let Some(last) = chars.get(at + 2)
        {
            if u32::from(*last).checked_sub(u32::from(chars[at]))? > 256 {
                return None;
            }
            out.extend(chars[at]..=*last);
            at += 3;
        } else {
            out.push(chars[at]);
            at += 1;
        }
    }
    Some(out)
}

fn reversed(line: &str) -> String {
    let (body, end) = line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n"));
    let mut out: String = body.chars().rev().collect();
    out.push_str(end);
    out
}

fn echo(arguments: &[String]) -> String {
    let mut newline = true;
    let mut escaped = false;
    let mut at = 0;
    while let Some(word) = arguments.get(at)
        && let Some(letters) = word.strip_prefix('-')
        && !letters.is_empty()
        && letters.chars().all(|c| matches!(c, 'n' | 'e' | 'E'))
    {
        newline &= !letters.contains('n');
        escaped = letters.contains('e') || escaped && !letters.contains('E');
        at += 1;
    }
    let mut text = arguments[at..].join(" ");
    if escaped {
        let (decoded, ended) = escapes::decode(&text, EscapeDialect::Echo);
        text = decoded;
        newline &= !ended;
    }
    if newline {
        text.push('\n');
    }
    text
}

/// Computes `printf`; returns `None` for an unknown directive.
pub(crate) fn printf(format: &str, arguments: &[String]) -> Option<String> {
    let format = escapes::decode(format, EscapeDialect::Format).0;
    let mut out = String::new();
    let mut rest = arguments.iter();
    loop {
        let before = rest.len();
        let mut chars = format.chars().peekable();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            let mut spec = String::new();
            while let Some(c) = chars.peek()
                && !c.is_ascii_alphabetic()
                && *c != '%'
            {
                spec.extend(chars.next());
            }
            let kind = chars.next()?;
            if kind == '%' {
                out.push('%');
                continue;
            }
            let argument = rest.next().map_or("", String::as_str);
            match kind {
                's' if spec.is_empty() => out.push_str(argument),
                'b' if spec.is_empty() => {
                    let (text, ended) = escapes::decode(argument, EscapeDialect::Echo);
                    out.push_str(&text);
                    if ended {
                        return Some(out);
                    }
                }
                'd' | 'i' | 'u' if spec.is_empty() => {
                    let argument = if argument.is_empty() { "0" } else { argument };
                    out.push_str(argument);
                }
                'c' => out.extend(argument.chars().next()),
                'x' | 'o' | 'q' | 's' | 'd' => out.push(HOLE),
                _ => return None,
            }
        }
        // `printf` repeats the format while arguments remain.
        if rest.len() == 0 || rest.len() == before || out.len() > TEXT {
            return Some(out);
        }
    }
}

pub(crate) fn base64_text(text: &str) -> Option<String> {
    base64::decoded(text).map(|bytes| unknown::without_marks(&escapes::text_of(bytes)))
}

pub(crate) fn hex_text(text: &str) -> Option<String> {
    hex(text).map(|bytes| unknown::without_marks(&escapes::text_of(bytes)))
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> =
        text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    digits.chunks_exact(2).map(|pair| u8::try_from(pair[0] << 4 | pair[1]).ok()).collect()
}

#[cfg(test)]
mod tests {
    use sprag_base::base64;

    use super::*;

    fn words(line: &[&str]) -> Vec<String> {
        line.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn printing_is_worked_out() {
        assert_eq!(echo(&words(&["-n", "a", "b"])), "a b");
        assert_eq!(echo(&words(&["-e", "a\\tb"])), "a\tb\n");
        assert_eq!(echo(&words(&["-x"])), "-x\n");
        assert_eq!(printf("%s-%s\\n", &words(&["a", "b", "c"])).as_deref(), Some("a-b\nc-\n"));
        assert_eq!(printf("%b", &words(&["\\0147h"])).as_deref(), Some("gh"));
        assert_eq!(printf("100%%", &[]).as_deref(), Some("100%"));
        assert_eq!(printf("%z", &words(&["a"])), None);
        assert_eq!(base64::decoded("Z2gK").unwrap(), b"gh\n");
        assert_eq!(hex("67 68").unwrap(), b"gh");
        assert_eq!(base64::decoded("*"), None);
        assert_eq!(set("a-c").unwrap(), ['a', 'b', 'c']);
    }
}
