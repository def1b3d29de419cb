//! Code of other languages: finds literal texts that reach a call that starts a program or deletes files. A
//! call with an unknown argument is a doubt; code without such calls runs nothing.

mod calls;
mod lexer;
mod named;
mod opens;
mod reach;
mod sed;
mod sinks;

use super::eval::{Evaluator, StdinText};
use super::expand::unknown;
use super::languages::calls::CallAction;
use super::languages::lexer::Language;
use super::paths::options::{self, ProgramOptions};
use super::{Carrier, DoubtKind};

fn language(name: &str) -> Option<Language> {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    Some(match plain {
        "python" | "pypy" | "ipython" | "pythonw" => Language::Python,
        "node" | "nodejs" | "deno" | "bun" | "tsx" | "ts-node" | "qjs" => Language::JavaScript,
        "perl" => Language::Perl,
        "ruby" | "jruby" | "irb" => Language::Ruby,
        "php" => Language::Php,
        "awk" | "gawk" | "mawk" | "nawk" => Language::Awk,
        "lua" | "luajit" | "texlua" => Language::Lua,
        // Close enough: the same quotes, comments and backticks.
        "julia" | "elixir" | "iex" | "crystal" => Language::Ruby,
        "rscript" | "R" | "littler" => Language::R,
        _ => return None,
    })
}

/// The source of an interpreter's code.
enum CodeSource {
    Text(String),
    File(String),
    None,
}

impl Evaluator {
    /// Walks an interpreter; returns false for other programs.
    pub(super) fn interpreted(&mut self, name: &str, words: &[String], assigns: &[(String, String)]) -> bool {
        let Some(language) = language(name) else { return false };
        let code = self.code_of(language, name, words);
        let command = self.leaf(words, assigns);
        self.paths(name, words, command);
        match code {
            CodeSource::Text(text)
                if !text.contains(|c: char| !unknown::is_hole(c) && !c.is_whitespace()) =>
            {
                if !unknown::is_known(&text) {
                    self.doubt_of(
                        DoubtKind::Dynamic,
                        &format!("code for {name} is known only at run time"),
                        command,
                    );
                }
            }
            CodeSource::Text(text) => self.interpreter_code(name, &text),
            CodeSource::File(path) => match self.file(&path).map(str::to_owned) {
                Some(text)
                    if !unknown::is_known(&text)
                        && !text.contains(|c: char| !unknown::is_hole(c) && !c.is_whitespace()) =>
                {
                    self.doubt_of(
                        DoubtKind::Dynamic,
                        &format!("the input of {name} is known only at run time"),
                        command,
                    );
                }
                Some(text) => self.interpreter_code(name, &text),
                None => {
                    self.reads(&path, name);
                    let kind = if unknown::is_known(&path) { DoubtKind::Opaque } else { DoubtKind::Dynamic };
                    self.doubt_of(kind, &format!("script file {path}"), command);
                }
            },
            CodeSource::None => {}
        }
        true
    }

    fn code_of(&self, language: Language, name: &str, words: &[String]) -> CodeSource {
        let table = match language {
            Language::Python => ProgramOptions { letters: "cmWX", long: &["--check-hash-based-pycs"] },
            Language::JavaScript => ProgramOptions {
                letters: "epr",
                long: &["--eval", "--print", "--require", "--import", "--loader"],
            },
            Language::Perl => ProgramOptions { letters: "eEIMm", long: &[] },
            Language::Ruby => ProgramOptions { letters: "eIrCE", long: &[] },
            Language::Php => ProgramOptions { letters: "rdBREFfczS", long: &["--run", "--define", "--file"] },
            Language::Awk => ProgramOptions {
                letters: "Ffvi",
                long: &["--field-separator", "--assign", "--file", "--source", "--include"],
            },
            Language::Lua => ProgramOptions { letters: "el", long: &[] },
            Language::R => ProgramOptions { letters: "efg", long: &["--file", "--args"] },
        };
        let code_options: &[&str] = match language {
            Language::Python => &["-c"],
            Language::JavaScript => &["-e", "-p", "--eval", "--print"],
            Language::Perl => &["-e", "-E"],
            Language::Ruby | Language::Lua | Language::R => &["-e"],
            Language::Php => &["-r", "--run", "-B", "-R", "-E"],
            Language::Awk => &["-e", "--source"],
        };
        let mut split = options::leading(words, 1, &table);
        // In Python the code ends the options; its arguments follow.
        let mut operands = words.get(split.operands..).unwrap_or_default();
        if name == "deno" || name == "bun" {
            match operands.first().map(String::as_str) {
                Some("eval") => {
                    let after = options::leading(words, split.operands + 1, &table);
                    operands = words.get(after.operands..).unwrap_or_default();
                    return operands.first().map_or(CodeSource::None, |text| CodeSource::Text(text.clone()));
                }
                Some("run") => {
                    split = options::leading(words, split.operands + 1, &table);
                    operands = words.get(split.operands..).unwrap_or_default();
                    return match (operands.first().map(String::as_str), &self.input) {
                        (Some("-"), StdinText::Text(text)) => CodeSource::Text(text.clone()),
                        (Some(path), _) => CodeSource::File(path.to_owned()),
                        (None, _) => CodeSource::None,
                    };
                }
                Some(file) if !file.contains('.') => return CodeSource::None,
                _ => {}
            }
        }
        let texts: Vec<&str> = split
            .given
            .iter()
            .filter(|given| code_options.contains(&given.name.as_str()))
            .filter_map(|given| given.value.as_deref())
            .collect();
        if !texts.is_empty() {
            return CodeSource::Text(texts.join("\n"));
        }
        // The statements of `timeit` are operands and values of `-s`.
        if language == Language::Python && split.value(&["-m"]) == Some("timeit") {
            return CodeSource::Text(operands.join("\n"));
        }
        if language == Language::Python && split.has(&["-m"])
            || split.has(&["-V", "--version", "-v", "--help", "-h"]) && operands.is_empty()
        {
            return CodeSource::None;
        }
        if language == Language::Awk {
            return match split.value(&["-f", "--file"]) {
                Some("-" | "/dev/stdin") => match &self.input {
                    StdinText::Text(text) => CodeSource::Text(text.clone()),
                    StdinText::File(path) => CodeSource::File(path.clone()),
                    StdinText::Inherited => CodeSource::None,
                },
                Some(path) => CodeSource::File(path.to_owned()),
                None => operands.first().map_or(CodeSource::None, |text| {
                    // Values of `-v` are constants of the code.
                    let set = split
                        .given
                        .iter()
                        .filter(|given| matches!(given.name.as_str(), "-v" | "--assign"))
                        .filter_map(|given| given.value.as_deref()?.split_once('='));
                    let set: String = set
                        .map(|(name, value)| {
                            format!("{name} = \"{}\"\n", value.replace('\\', "\\\\").replace('"', "\\\""))
                        })
                        .collect();
                    CodeSource::Text(format!("{set}{text}"))
                }),
            };
        }
        match operands.first().map(String::as_str) {
            None | Some("-" | "/dev/stdin") => match &self.input {
                StdinText::Text(text) => CodeSource::Text(text.clone()),
                StdinText::File(path) => CodeSource::File(path.clone()),
                StdinText::Inherited => CodeSource::None,
            },
            Some(path) => CodeSource::File(path.to_owned()),
        }
    }

    /// Walks the commands that the code runs.
    pub(super) fn interpreter_code(&mut self, name: &str, code: &str) {
        let Some(language) = language(name) else { return };
        let mut pending = vec![code.to_owned()];
        let mut texts = 0;
        self.via.push(Carrier::Interpreter(name.to_owned()));
        while let Some(code) = pending.pop() {
            texts += 1;
            if texts > 8 || !self.step() {
                self.doubt(DoubtKind::Limit, "code nested too deep");
                break;
            }
            let (tokens, whole) = lexer::tokens(&code, language);
            if !whole {
                self.doubt(DoubtKind::Limit, "code of too many words");
            }
            self.named_in_code(name, &tokens);
            self.reached_by_code(name, &tokens, language, &code);
            for action in calls::actions(&tokens, language, &code) {
                match action {
                    CallAction::Shell(text) => {
                        self.input_unknown(|walk| walk.shell_text(name, &text, Vec::new()))
                    }
                    CallAction::Words(words) => self.input_unknown(|walk| walk.run(words, Vec::new())),
                    CallAction::Code(text) => pending.push(text),
                    CallAction::Write(path) => self.writes_now(&path, name),
                    CallAction::Unknown(call) => {
                        // `system($0)` runs the lines of the input.
                        if language == Language::Awk
                            && let Some(text) = self.input_text()
                        {
                            self.input_unknown(|walk| walk.shell_text(name, &text, Vec::new()));
                        }
                        self.doubt(
                            DoubtKind::Dynamic,
                            &format!("the command of {call} in {name} is known only at run time"),
                        );
                    }
                }
            }
        }
        self.via.pop();
    }
}
