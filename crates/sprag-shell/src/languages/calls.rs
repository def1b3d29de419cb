//! Calls found in code of other languages, with their literal arguments: texts, lists, one level of
//! constants. An argument that is not literal is a hole.

use super::lexer::{Language, Token};
use super::sinks::{self, Sink};
use crate::eval::output;
use crate::expand::unknown::{self, HOLE};

/// What a call comes to.
pub(crate) enum Action {
    Shell(String),
    Words(Vec<String>),
    Code(String),
    /// A file that is written.
    Write(String),
    /// The name of a call with an unknown argument.
    Unknown(String),
}

pub(super) enum Argument {
    Text(String),
    List(Vec<String>),
}

/// What the code runs, in its order.
pub(crate) fn actions(tokens: &[Token], language: Language, code: &str) -> Vec<Action> {
    let reader = Reader { constants: constants(tokens), lists: lists(tokens), tokens, language };
    let aliases = aliases(tokens, language);
    let mut actions = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Exec(text) => actions.push(Action::Shell(text.clone())),
            // `$` of zx and Bun.
            Token::Mark('$') if language == Language::JavaScript => {
                if let Some(Token::Text(text)) = tokens.get(at + 1) {
                    actions.push(Action::Shell(text.clone()));
                }
            }
            Token::Mark('|') if language == Language::Awk => actions.extend(reader.awk_pipe(at)),
            // `print > "file"`, `print >> "file"`.
            Token::Mark('>') if language == Language::Awk => {
                if let Some(Token::Text(path)) = tokens.get(at + 1) {
                    actions.push(Action::Write(path.clone()));
                }
            }
            Token::Name(name) if name == "open" && language == Language::Perl => {
                actions.extend(reader.perl_open(at))
            }
            Token::Name(name) if name == "open" && language == Language::Python => {
                actions.extend(reader.python_open(at));
            }
            Token::Name(name) => {
                let name = aliases.iter().find(|(alias, _)| alias == name).map_or(name, |(_, name)| name);
                if let Some(sink) = sinks::find(language, name, code) {
                    actions.extend(reader.call(at, name, sink));
                }
            }
            // `os["system"]("x")`, `getattr(os, "system")("x")`.
            Token::Text(name)
                if matches!(tokens.get(at + 1..at + 3), Some([Token::Mark(']' | ')'), Token::Mark('(')])) =>
            {
                if let Some(sink) = sinks::by_name(language, name) {
                    actions.extend(reader.call(at + 1, name, sink));
                }
            }
            Token::Text(_) | Token::Mark(_) => {}
        }
    }
    actions
}

/// `from os import system as s`, `const {execSync: s} = …`: the other name and the known one.
fn aliases(tokens: &[Token], language: Language) -> Vec<(String, String)> {
    let mut aliases = Vec::new();
    for window in tokens.windows(3) {
        if let [Token::Name(name), between, Token::Name(alias)] = window
            && (*between == Token::Name("as".to_owned())
                || *between == Token::Mark(':') && language == Language::JavaScript)
            && sinks::by_name(language, name).is_some()
            && aliases.len() < 64
        {
            aliases.push((alias.clone(), name.clone()));
        }
    }
    aliases
}

/// `name = ["a", "b"]`.
fn lists(tokens: &[Token]) -> Vec<(String, Vec<String>)> {
    let reader = Reader { constants: Vec::new(), lists: Vec::new(), tokens, language: Language::Python };
    let mut lists = Vec::new();
    for (at, window) in tokens.windows(3).enumerate() {
        if let [Token::Name(name), Token::Mark('='), Token::Mark('[')] = window
            && lists.len() < 64
        {
            lists.push((name.clone(), reader.list(at + 3).0));
        }
    }
    lists
}

/// `name = "text"`, once.
fn constants(tokens: &[Token]) -> Vec<(String, String)> {
    let mut constants: Vec<(String, String)> = Vec::new();
    for (at, window) in tokens.windows(3).enumerate() {
        let [Token::Name(name), Token::Mark('='), Token::Text(_)] = window else { continue };
        let reader = Reader { constants: Vec::new(), lists: Vec::new(), tokens, language: Language::Python };
        let Some(Argument::Text(value)) = reader.argument(at + 2).0 else { continue };
        match constants.iter_mut().find(|(known, _)| known == name) {
            // Set twice: it is not known which.
            Some(known) => known.1 = HOLE.to_string(),
            None => constants.push((name.clone(), value)),
        }
    }
    constants
}

pub(crate) struct Reader<'t> {
    constants: Vec<(String, String)>,
    lists: Vec<(String, Vec<String>)>,
    pub(super) tokens: &'t [Token],
    language: Language,
}

impl Reader<'_> {
    pub(super) fn is_mark(&self, at: usize, mark: char) -> bool {
        self.tokens.get(at) == Some(&Token::Mark(mark))
    }

    /// The call whose name stands at `at`.
    fn call(&self, at: usize, name: &str, sink: Sink) -> Option<Action> {
        let parens = self.is_mark(at + 1, '(');
        if !parens {
            // Perl and Ruby call without parentheses; elsewhere it is only mentioned.
            let bare = matches!(self.language, Language::Perl | Language::Ruby | Language::Lua)
                && matches!(
                    self.tokens.get(at + 1),
                    Some(Token::Text(_)) | Some(Token::Mark('[' | '$')) | Some(Token::Name(_))
                );
            if !bare || self.is_mark(at.wrapping_sub(1), '.') && self.language == Language::Perl {
                return None;
            }
        }
        // A definition is no call.
        if matches!(self.tokens.get(at.wrapping_sub(1)), Some(Token::Name(word)) if matches!(word.as_str(), "def" | "function" | "sub" | "import" | "class"))
        {
            return None;
        }
        let mut arguments = self.arguments(if parens { at + 2 } else { at + 1 });
        // `new Deno.Command("x", {args: ["a"]})`.
        if self.language == Language::JavaScript
            && sink == Sink::Command
            && parens
            && let Some(list) = self.member_list(at + 1, "args").or_else(|| self.member_list(at + 1, "cmd"))
        {
            arguments.push(Argument::List(list));
        }
        let unknown = || Some(Action::Unknown(name.to_owned()));
        match sink {
            Sink::Code => match arguments.first() {
                Some(Argument::Text(text)) if unknown::is_known(text) => Some(Action::Code(text.clone())),
                // A block is read like all other code.
                None if self.language == Language::Perl => None,
                _ => unknown(),
            },
            Sink::Write => match arguments.first() {
                // `Path("x").write_text(…)`: what it is called on.
                _ if name.starts_with("write_") => {
                    Some(Action::Write(self.receiver(at).unwrap_or_else(|| HOLE.to_string())))
                }
                Some(path) => Some(Action::Write(one(path))),
                None => None,
            },
            Sink::Copy => arguments.get(1).or(arguments.first()).map(|path| Action::Write(one(path))),
            Sink::Remove { tree } => {
                let mut words = vec!["rm".to_owned(), if tree { "-rf" } else { "-f" }.to_owned()];
                let paths = match arguments.first() {
                    Some(Argument::Text(path)) => vec![path.clone()],
                    Some(Argument::List(paths)) => paths.clone(),
                    // `Path("x").unlink()`: what it is called on.
                    None => vec![self.receiver(at).unwrap_or_else(|| HOLE.to_string())],
                };
                words.extend(paths);
                Some(Action::Words(words))
            }
            Sink::Exec | Sink::Spawn => {
                let skip = usize::from(sink == Sink::Spawn);
                let arguments = arguments.get(skip..).unwrap_or_default();
                let Some((program, rest)) = arguments.split_first() else { return unknown() };
                let mut words = match rest.first() {
                    Some(Argument::List(words)) => words.clone(),
                    _ => rest.iter().map(one).collect(),
                };
                // The first of them is only what the program calls itself.
                let program = one(program);
                match words.first_mut() {
                    Some(first) => *first = program,
                    None => words.push(program),
                }
                Some(Action::Words(words))
            }
            Sink::Command => match arguments.as_slice() {
                [] => unknown(),
                [Argument::List(words), ..] => Some(Action::Words(words.clone())),
                // `proc_open("x y", [], $pipes)`: the list is none of words.
                [Argument::Text(text), Argument::List(_), ..] if self.language == Language::Php => {
                    Some(Action::Shell(text.clone()))
                }
                [Argument::Text(program), Argument::List(words), ..] => {
                    let mut all = vec![program.clone()];
                    all.extend(words.iter().cloned());
                    Some(Action::Words(all))
                }
                [Argument::Text(text), rest @ ..] => {
                    let listed = matches!(self.language, Language::Perl | Language::Ruby) && !rest.is_empty();
                    if listed {
                        let mut all = vec![text.clone()];
                        all.extend(rest.iter().map(one));
                        return Some(Action::Words(all));
                    }
                    if !text.contains(|c: char| !unknown::is_hole(c)) {
                        return unknown();
                    }
                    Some(Action::Shell(text.clone()))
                }
            },
        }
    }

    /// The last text before the dot in front of a call.
    fn receiver(&self, at: usize) -> Option<String> {
        let before = self.tokens.get(at.checked_sub(3)?..at)?;
        match before {
            [Token::Text(text), Token::Mark(')'), Token::Mark('.')] => Some(text.clone()),
            [_, Token::Name(name), Token::Mark('.')] => {
                self.constants.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
            }
            _ => None,
        }
    }

    /// `name: [...]` within the brackets that open at `at`.
    fn member_list(&self, at: usize, name: &str) -> Option<Vec<String>> {
        let inner = self.tokens.get(at..self.skip(at))?;
        let found = inner.windows(3).position(
            |window| matches!(window, [Token::Name(key), Token::Mark(':'), Token::Mark('[')] if key == name),
        )?;
        Some(self.list(at + found + 3).0)
    }

    pub(super) fn arguments(&self, from: usize) -> Vec<Argument> {
        let mut arguments = Vec::new();
        let mut at = from;
        while arguments.len() < 64 {
            let (argument, end) = self.argument(at);
            arguments.extend(argument);
            if !self.is_mark(end, ',') {
                break;
            }
            at = end + 1;
        }
        arguments
    }

    /// One argument and where it ends; keywords and blocks are none.
    fn argument(&self, from: usize) -> (Option<Argument>, usize) {
        let mut text = String::new();
        let mut list: Option<Vec<String>> = None;
        let mut any = false;
        let mut at = from;
        let mut keyword = false;
        // `Popen(args=[…])`.
        if let Some([Token::Name(name), Token::Mark('=')]) = self.tokens.get(at..at + 2)
            && matches!(name.as_str(), "args" | "cmd" | "command" | "popenargs")
        {
            at += 2;
        }
        if let Some(Token::Name(name)) = self.tokens.get(at)
            && matches!(self.tokens.get(at + 1), None | Some(Token::Mark(',' | ')' | '\n')))
            && let Some((_, words)) = self.lists.iter().find(|(known, _)| known == name)
        {
            return (Some(Argument::List(words.clone())), at + 1);
        }
        while let Some(token) = self.tokens.get(at) {
            match token {
                Token::Mark(',' | ')' | ']' | ';' | '}' | '|') => break,
                Token::Mark('\n') => {
                    if any {
                        break;
                    }
                }
                Token::Text(part) | Token::Exec(part) => {
                    text.push_str(part);
                    any = true;
                }
                Token::Mark('[') if !any => {
                    let (words, end) = self.list(at + 1);
                    list = Some(words);
                    any = true;
                    at = end;
                    continue;
                }
                Token::Mark('{') => {
                    keyword = true;
                    at = self.skip(at);
                    continue;
                }
                Token::Mark('(') => {
                    at = self.skip(at);
                    continue;
                }
                Token::Mark('=' | ':') if any && text.contains(HOLE) => keyword = true,
                // `"%s" % x`, `"{}".format(x)`.
                Token::Mark('%') if any => {
                    text = text
                        .replace("%s", HOLE.encode_utf8(&mut [0; 4]))
                        .replace("%d", HOLE.encode_utf8(&mut [0; 4]))
                }
                Token::Name(name)
                    if any
                        && matches!(
                            name.as_str(),
                            "format" | "if" | "or" | "and" | "unless" | "split" | "encode" | "strip"
                        ) =>
                {
                    if name == "format" {
                        text = text.replace("{}", HOLE.encode_utf8(&mut [0; 4]));
                    }
                    if matches!(name.as_str(), "if" | "or" | "and" | "unless") {
                        break;
                    }
                }
                // `os.path`, `shlex.split`: only the last part counts.
                Token::Name(_) if self.is_mark(at + 1, '.') && !any => at += 1,
                Token::Name(name) => {
                    any = true;
                    let value = self.value(name, at);
                    match value {
                        Some((value, end)) => {
                            text.push_str(&value);
                            at = end;
                            continue;
                        }
                        // `os.path`: only the last part counts.
                        None if self.is_mark(at + 1, '.') => {}
                        None => text.push(HOLE),
                    }
                }
                Token::Mark(_) => {}
            }
            at += 1;
        }
        let argument = match list {
            _ if keyword || !any => None,
            Some(words) => Some(Argument::List(words)),
            None => Some(Argument::Text(text)),
        };
        (argument, at)
    }

    /// A constant, or a call that hands its literal on.
    fn value(&self, name: &str, at: usize) -> Option<(String, usize)> {
        if let Some((_, value)) = self.constants.iter().find(|(known, _)| known == name) {
            return Some((value.clone(), at + 1));
        }
        if !self.is_mark(at + 1, '(') {
            return None;
        }
        let Some(Token::Text(text)) = self.tokens.get(at + 2) else { return None };
        let end = self.skip(at + 1);
        let text = match name {
            "split" | "Path" | "expanduser" | "resolve" | "str" | "String" | "quote" | "abspath"
            | "realpath" | "bytes" => text.clone(),
            "b64decode" | "atob" | "base64_decode" | "decode64" | "decode_base64" => {
                output::base64_text(text)?
            }
            "fromhex" | "unhexlify" | "hex2bin" => output::hex_text(text)?,
            _ => return None,
        };
        Some((text, end))
    }

    /// The elements of a list that starts at `from`, and the place behind it.
    fn list(&self, from: usize) -> (Vec<String>, usize) {
        let mut words = Vec::new();
        let mut word = String::new();
        let mut any = false;
        let mut at = from;
        while let Some(token) = self.tokens.get(at) {
            match token {
                Token::Mark(']') => break,
                Token::Mark(',') => {
                    if any {
                        words.push(std::mem::take(&mut word));
                    }
                    any = false;
                }
                Token::Text(text) => {
                    word.push_str(text);
                    any = true;
                }
                Token::Name(name) => {
                    any = true;
                    match self.value(name, at) {
                        Some((value, end)) => {
                            word.push_str(&value);
                            at = end;
                            continue;
                        }
                        None if self.is_mark(at + 1, '.') => {}
                        None => word.push(HOLE),
                    }
                }
                Token::Mark('(' | '[' | '{') => {
                    at = self.skip(at);
                    continue;
                }
                Token::Mark(_) | Token::Exec(_) => {}
            }
            at += 1;
        }
        if any {
            words.push(word);
        }
        (words, (at + 1).min(self.tokens.len()))
    }

    /// The place behind the bracket at `at`.
    pub(super) fn skip(&self, at: usize) -> usize {
        let mut depth = 0_usize;
        for (offset, token) in self.tokens[at..].iter().enumerate() {
            match token {
                Token::Mark('(' | '[' | '{') => depth += 1,
                Token::Mark(')' | ']' | '}') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return at + offset + 1;
                    }
                }
                _ => {}
            }
        }
        self.tokens.len()
    }
}

pub(crate) fn one(argument: &Argument) -> String {
    match argument {
        Argument::Text(text) => text.clone(),
        Argument::List(words) => words.join(" "),
    }
}
