//! Calls in code of other languages, with their literal arguments: texts, lists, one level of constants. Any
//! other argument is a hole.

use super::lexer::{CodeToken, Language};
use super::sinks::{self, CallSink};
use crate::eval::output;
use crate::expand::unknown::{self, HOLE};

/// The action of a call.
pub(crate) enum CallAction {
    Shell(String),
    Words(Vec<String>),
    Code(String),
    /// Writes a file.
    Write(String),
    /// A call with this name and an unknown argument.
    Unknown(String),
}

pub(super) enum Argument {
    Text(String),
    List(Vec<String>),
}

/// Returns the actions of the code in order.
pub(crate) fn actions(tokens: &[CodeToken], language: Language, code: &str) -> Vec<CallAction> {
    let reader = CallReader::new(tokens, language);
    let aliases = aliases(tokens, language);
    let mut actions = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            CodeToken::Exec(text) => actions.push(CallAction::Shell(text.clone())),
            // `$` of zx and Bun.
            CodeToken::Mark('$') if language == Language::JavaScript => {
                if let Some(CodeToken::Text(text)) = tokens.get(at + 1) {
                    actions.push(CallAction::Shell(text.clone()));
                }
            }
            CodeToken::Mark('|') if language == Language::Awk => actions.extend(reader.awk_pipe(at)),
            // `print > "file"`, `print >> "file"`.
            CodeToken::Mark('>') if language == Language::Awk => {
                if !reader.is_mark(at.wrapping_sub(1), '>') {
                    actions.extend(reader.awk_redirect(at));
                }
            }
            CodeToken::Name(name) if name == "open" && language == Language::Perl => {
                actions.extend(reader.perl_open(at))
            }
            CodeToken::Name(name) if name == "open" && language == Language::Python => {
                actions.extend(reader.python_open(at));
            }
            CodeToken::Name(name) => {
                let name = aliases.iter().find(|(alias, _)| alias == name).map_or(name, |(_, name)| name);
                if let Some(sink) = sinks::find(language, name, code) {
                    actions.extend(reader.call(at, name, sink));
                }
            }
            // `os["system"]("x")`, `getattr(os, "system")("x")`.
            CodeToken::Text(name)
                if matches!(
                    tokens.get(at + 1..at + 3),
                    Some([CodeToken::Mark(']' | ')'), CodeToken::Mark('(')])
                ) =>
            {
                if let Some(sink) = sinks::by_name(language, name) {
                    actions.extend(reader.call(at + 1, name, sink));
                }
            }
            CodeToken::Text(_) | CodeToken::Mark(_) => {}
        }
    }
    actions
}

/// Returns aliases with the known name: `from os import system as s`, `const {execSync: s} = …`.
fn aliases(tokens: &[CodeToken], language: Language) -> Vec<(String, String)> {
    let mut aliases = Vec::new();
    for window in tokens.windows(3) {
        if let [CodeToken::Name(name), between, CodeToken::Name(alias)] = window
            && (*between == CodeToken::Name("as".to_owned())
                || *between == CodeToken::Mark(':') && language == Language::JavaScript)
            && sinks::by_name(language, name).is_some()
            && aliases.len() < 64
        {
            aliases.push((alias.clone(), name.clone()));
        }
    }
    aliases
}

/// Returns the lists assigned as `name = ["a", "b"]`.
fn lists(tokens: &[CodeToken]) -> Vec<(String, Vec<String>)> {
    let reader = CallReader { constants: Vec::new(), lists: Vec::new(), tokens, language: Language::Python };
    let mut lists = Vec::new();
    for (at, window) in tokens.windows(3).enumerate() {
        if let [CodeToken::Name(name), CodeToken::Mark('='), CodeToken::Mark('[')] = window
            && lists.len() < 64
        {
            lists.push((name.clone(), reader.list(at + 3).0));
        }
    }
    lists
}

/// Returns the texts assigned as `name = "text"`; a name that is set twice becomes a hole.
fn constants(tokens: &[CodeToken]) -> Vec<(String, String)> {
    let mut constants: Vec<(String, String)> = Vec::new();
    for (at, window) in tokens.windows(3).enumerate() {
        let [CodeToken::Name(name), CodeToken::Mark('='), CodeToken::Text(_)] = window else { continue };
        let reader =
            CallReader { constants: Vec::new(), lists: Vec::new(), tokens, language: Language::Python };
        let Some(Argument::Text(value)) = reader.argument(at + 2).0 else { continue };
        match constants.iter_mut().find(|(known, _)| known == name) {
            // Set twice, so the value is unknown.
            Some(known) => known.1 = HOLE.to_string(),
            None => constants.push((name.clone(), value)),
        }
    }
    constants
}

pub(crate) struct CallReader<'t> {
    constants: Vec<(String, String)>,
    lists: Vec<(String, Vec<String>)>,
    pub(super) tokens: &'t [CodeToken],
    language: Language,
}

impl<'t> CallReader<'t> {
    pub(super) fn new(tokens: &'t [CodeToken], language: Language) -> CallReader<'t> {
        CallReader { constants: constants(tokens), lists: lists(tokens), tokens, language }
    }

    pub(super) fn language(&self) -> Language {
        self.language
    }
}

impl CallReader<'_> {
    pub(super) fn is_mark(&self, at: usize, mark: char) -> bool {
        self.tokens.get(at) == Some(&CodeToken::Mark(mark))
    }

    /// Returns the action of the call whose name stands at `at`.
    fn call(&self, at: usize, name: &str, sink: CallSink) -> Option<CallAction> {
        let parens = self.is_mark(at + 1, '(');
        if !parens {
            // Perl and Ruby call without parentheses; in other languages this is only a mention.
            let bare = matches!(self.language, Language::Perl | Language::Ruby | Language::Lua)
                && matches!(
                    self.tokens.get(at + 1),
                    Some(CodeToken::Text(_)) | Some(CodeToken::Mark('[' | '$')) | Some(CodeToken::Name(_))
                );
            if !bare || self.is_mark(at.wrapping_sub(1), '.') && self.language == Language::Perl {
                return None;
            }
        }
        // A definition is not a call.
        if matches!(self.tokens.get(at.wrapping_sub(1)), Some(CodeToken::Name(word)) if matches!(word.as_str(), "def" | "function" | "sub" | "import" | "class"))
        {
            return None;
        }
        let mut arguments = self.arguments(if parens { at + 2 } else { at + 1 });
        // `new Deno.Command("x", {args: ["a"]})`.
        if self.language == Language::JavaScript
            && sink == CallSink::Command
            && parens
            && let Some(list) = self.member_list(at + 1, "args").or_else(|| self.member_list(at + 1, "cmd"))
        {
            arguments.push(Argument::List(list));
        }
        let unknown = || Some(CallAction::Unknown(name.to_owned()));
        match sink {
            CallSink::Code => match arguments.first() {
                Some(Argument::Text(text)) if unknown::is_known(text) => Some(CallAction::Code(text.clone())),
                // A block is read like all other code.
                None if self.language == Language::Perl => None,
                _ => unknown(),
            },
            CallSink::Write => match arguments.first() {
                // `Path("x").write_text(…)` writes its receiver.
                _ if name.starts_with("write_") => {
                    Some(CallAction::Write(self.receiver(at).unwrap_or_else(|| HOLE.to_string())))
                }
                Some(path) => Some(CallAction::Write(one(path))),
                None => None,
            },
            CallSink::Copy => arguments.get(1).or(arguments.first()).map(|path| CallAction::Write(one(path))),
            CallSink::Remove { tree } => {
                let mut words = vec!["rm".to_owned(), if tree { "-rf" } else { "-f" }.to_owned()];
                let paths = match arguments.first() {
                    Some(Argument::Text(path)) => vec![path.clone()],
                    Some(Argument::List(paths)) => paths.clone(),
                    // `Path("x").unlink()` deletes its receiver.
                    None => vec![self.receiver(at).unwrap_or_else(|| HOLE.to_string())],
                };
                words.extend(paths);
                Some(CallAction::Words(words))
            }
            CallSink::Exec | CallSink::Spawn => {
                let skip = usize::from(sink == CallSink::Spawn);
                let arguments = arguments.get(skip..).unwrap_or_default();
                let Some((program, rest)) = arguments.split_first() else { return unknown() };
                let mut words = match rest.first() {
                    Some(Argument::List(words)) => words.clone(),
                    _ => rest.iter().map(one).collect(),
                };
                // The first word is only the name under which the program runs.
                let program = one(program);
                match words.first_mut() {
                    Some(first) => *first = program,
                    None => words.push(program),
                }
                Some(CallAction::Words(words))
            }
            CallSink::Command => match arguments.as_slice() {
                [] => unknown(),
                [Argument::List(words), ..] => Some(CallAction::Words(words.clone())),
                // `proc_open("x y", [], $pipes)`: the list does not contain words.
                [Argument::Text(text), Argument::List(_), ..] if self.language == Language::Php => {
                    Some(CallAction::Shell(text.clone()))
                }
                [Argument::Text(program), Argument::List(words), ..] => {
                    let mut all = vec![program.clone()];
                    all.extend(words.iter().cloned());
                    Some(CallAction::Words(all))
                }
                [Argument::Text(text), rest @ ..] => {
                    let listed = matches!(self.language, Language::Perl | Language::Ruby) && !rest.is_empty();
                    if listed {
                        let mut all = vec![text.clone()];
                        all.extend(rest.iter().map(one));
                        return Some(CallAction::Words(all));
                    }
                    if !text.contains(|c: char| !unknown::is_hole(c)) {
                        return unknown();
                    }
                    Some(CallAction::Shell(text.clone()))
                }
            },
        }
    }

    /// Returns the last text before the dot in front of a call.
    pub(super) fn receiver(&self, at: usize) -> Option<String> {
        let before = self.tokens.get(at.checked_sub(3)?..at)?;
        match before {
            [CodeToken::Text(text), CodeToken::Mark(')'), CodeToken::Mark('.')] => Some(text.clone()),
            [_, CodeToken::Name(name), CodeToken::Mark('.')] => {
                self.constants.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
            }
            _ => None,
        }
    }

    /// Returns the list in `name: [...]` within the brackets that open at `at`.
    fn member_list(&self, at: usize, name: &str) -> Option<Vec<String>> {
        let inner = self.tokens.get(at..self.skip(at))?;
        let found = inner.windows(3).position(
            |window| matches!(window, [CodeToken::Name(key), CodeToken::Mark(':'), CodeToken::Mark('[')] if key == name),
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

    /// Returns one argument and its end; keyword arguments and blocks give `None`.
    fn argument(&self, from: usize) -> (Option<Argument>, usize) {
        let mut text = String::new();
        let mut list: Option<Vec<String>> = None;
        let mut any = false;
        let mut at = from;
        let mut keyword = false;
        // `Popen(args=[…])`.
        if let Some([CodeToken::Name(name), CodeToken::Mark('=')]) = self.tokens.get(at..at + 2)
            && matches!(name.as_str(), "args" | "cmd" | "command" | "popenargs")
        {
            at += 2;
        }
        if let Some(CodeToken::Name(name)) = self.tokens.get(at)
            && matches!(self.tokens.get(at + 1), None | Some(CodeToken::Mark(',' | ')' | '\n')))
            && let Some((_, words)) = self.lists.iter().find(|(known, _)| known == name)
        {
            return (Some(Argument::List(words.clone())), at + 1);
        }
        while let Some(token) = self.tokens.get(at) {
            match token {
                CodeToken::Mark(',' | ')' | ']' | ';' | '}' | '|') => break,
                CodeToken::Mark('\n') => {
                    if any {
                        break;
                    }
                }
                CodeToken::Text(part) | CodeToken::Exec(part) => {
                    text.push_str(part);
                    any = true;
                }
                CodeToken::Mark('[') if !any => {
                    let (words, end) = self.list(at + 1);
                    list = Some(words);
                    any = true;
                    at = end;
                    continue;
                }
                CodeToken::Mark('{') => {
                    keyword = true;
                    at = self.skip(at);
                    continue;
                }
                CodeToken::Mark('(') => {
                    at = self.skip(at);
                    continue;
                }
                CodeToken::Mark('=' | ':') if any && text.contains(HOLE) => keyword = true,
                // `"%s" % x`, `"{}".format(x)`.
                CodeToken::Mark('%') if any => {
                    text = text
                        .replace("%s", HOLE.encode_utf8(&mut [0; 4]))
                        .replace("%d", HOLE.encode_utf8(&mut [0; 4]))
                }
                CodeToken::Name(name)
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
                CodeToken::Name(_) if self.is_mark(at + 1, '.') && !any => at += 1,
                CodeToken::Name(name) => {
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
                CodeToken::Mark(_) => {}
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

    /// Returns the value of a constant, or of a call that returns its literal argument.
    fn value(&self, name: &str, at: usize) -> Option<(String, usize)> {
        if let Some((_, value)) = self.constants.iter().find(|(known, _)| known == name) {
            return Some((value.clone(), at + 1));
        }
        if !self.is_mark(at + 1, '(') {
            return None;
        }
        // `path.join(__dirname, "dist")`.
        if matches!(name, "join" | "resolve")
            && let Some(
                [CodeToken::Name(here), CodeToken::Mark(','), CodeToken::Text(text), CodeToken::Mark(')')],
            ) = self.tokens.get(at + 2..at + 6)
            && here == "__dirname"
        {
            return Some((format!("./{text}"), at + 6));
        }
        let Some(CodeToken::Text(text)) = self.tokens.get(at + 2) else { return None };
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

    /// Returns the elements of the list that starts at `from`, and the position after it.
    fn list(&self, from: usize) -> (Vec<String>, usize) {
        let mut words = Vec::new();
        let mut word = String::new();
        let mut any = false;
        let mut at = from;
        while let Some(token) = self.tokens.get(at) {
            match token {
                CodeToken::Mark(']') => break,
                CodeToken::Mark(',') => {
                    if any {
                        words.push(std::mem::take(&mut word));
                    }
                    any = false;
                }
                CodeToken::Text(text) => {
                    word.push_str(text);
                    any = true;
                }
                CodeToken::Name(name) => {
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
                CodeToken::Mark('(' | '[' | '{') => {
                    at = self.skip(at);
                    continue;
                }
                CodeToken::Mark(_) | CodeToken::Exec(_) => {}
            }
            at += 1;
        }
        if any {
            words.push(word);
        }
        (words, (at + 1).min(self.tokens.len()))
    }

    /// Returns the position after the bracket at `at`.
    pub(super) fn skip(&self, at: usize) -> usize {
        let mut depth = 0_usize;
        for (offset, token) in self.tokens[at..].iter().enumerate() {
            match token {
                CodeToken::Mark('(' | '[' | '{') => depth += 1,
                CodeToken::Mark(')' | ']' | '}') => {
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
