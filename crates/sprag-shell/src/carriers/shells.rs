//! Programs that run text as shell code: shells, `eval`, `source`, `trap`, `mapfile -C`, `at`, cron, and
//! makefiles on standard input.

use super::Unwrapped;
use crate::eval::state::Variable;
use crate::eval::{Evaluator, StdinText};
use crate::expand::unknown;
use crate::paths::options::{self, ProgramOptions};
use crate::{Carrier, DoubtKind};

type Assignments = [(String, String)];

/// Maximum number of shell calls in one makefile.
const SHELL_CALLS: usize = 64;

/// Maximum number of pending traps.
const TRAPS: usize = 64;

pub(crate) fn is_shell(name: &str) -> bool {
    matches!(
        name,
        "bash"
            | "sh"
            | "zsh"
            | "dash"
            | "ksh"
            | "ash"
            | "fish"
            | "rbash"
            | "mksh"
            | "pdksh"
            | "yash"
            | "csh"
            | "tcsh"
    )
}

impl Evaluator {
    pub(super) fn shell(&mut self, name: &str, words: &[String], assigns: &Assignments) -> Unwrapped {
        const OPTIONS: ProgramOptions =
            ProgramOptions { letters: "oO", long: &["--rcfile", "--init-file", "--init-command"] };
        // `+x` turns an option off; `-c` may stand anywhere in a cluster and takes no value itself.
        let mut at = 1;
        let mut given = Vec::new();
        while let Some(word) = words.get(at) {
            if let Some(letters) = word.strip_prefix('+') {
                given.retain(|given: &options::FoundOption| {
                    !given.name.strip_prefix('-').is_some_and(|name| letters.contains(name))
                });
                at += if letters.contains(['o', 'O']) { 2 } else { 1 };
                continue;
            }
            let split = options::leading(words, at, &OPTIONS);
            let stop = split.operands == at;
            at = split.operands;
            given.extend(split.given);
            if stop || words.get(at - 1).is_some_and(|word| word == "--") {
                break;
            }
        }
        let has = |names: &[&str]| given.iter().any(|given| names.contains(&given.name.as_str()));
        let operands = words.get(at..).unwrap_or_default();
        if has(&["-n", "--version", "--help", "--dump-strings", "-D"]) {
            self.leaf(words, assigns);
            return Unwrapped::Done;
        }
        for option in given
            .iter()
            .filter(|given| matches!(given.name.as_str(), "--rcfile" | "--init-file" | "--init-command"))
        {
            let Some(value) = &option.value else { continue };
            match self.file(value).map(str::to_owned) {
                Some(text) => self.shell_text(name, &text, Vec::new()),
                None if option.name == "--init-command" => self.shell_text(name, value, Vec::new()),
                None => {}
            }
        }
        if has(&["-c", "--command"]) {
            let Some((text, rest)) = operands.split_first() else {
                self.leaf(words, assigns);
                return Unwrapped::Done;
            };
            self.wrapper(words, assigns);
            let outer = rest.first().map(|first| std::mem::replace(&mut self.state.name, first.clone()));
            self.shell_text(name, text, rest.iter().skip(1).cloned().collect());
            if let Some(outer) = outer {
                self.state.name = outer;
            }
            return Unwrapped::Done;
        }
        let file = operands.first().filter(|_| !has(&["-s"]));
        match file.map(String::as_str) {
            None | Some("-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0") => {
                let arguments = if has(&["-s"]) { operands } else { operands.get(1..).unwrap_or_default() };
                self.stdin_code(name, words, assigns, arguments.to_vec());
            }
            Some(path) => self.script_file(name, path, words, assigns, operands[1..].to_vec()),
        }
        Unwrapped::Done
    }

    /// Walks a shell that reads its commands from standard input.
    pub(super) fn stdin_code(
        &mut self,
        name: &str,
        words: &[String],
        assigns: &Assignments,
        arguments: Vec<String>,
    ) {
        match self.input.clone() {
            StdinText::Inherited => {
                self.leaf(words, assigns);
            }
            StdinText::Text(text) => {
                // The output of the program in front is unknown, so the script lists the shell itself.
                if text.contains(|c: char| !unknown::is_hole(c) && !c.is_whitespace()) {
                    self.wrapper(words, assigns);
                } else {
                    let command = self.leaf(words, assigns);
                    if !unknown::is_known(&text) {
                        self.doubt_of(
                            DoubtKind::Dynamic,
                            &format!("the input of {name} is known only at run time"),
                            command,
                        );
                    }
                    return;
                }
                self.input_unknown(|walk| walk.shell_text(name, &text, arguments));
            }
            StdinText::File(path) => self.script_file(name, &path, words, assigns, arguments),
        }
    }

    fn script_file(
        &mut self,
        name: &str,
        path: &str,
        words: &[String],
        assigns: &Assignments,
        arguments: Vec<String>,
    ) {
        match self.file(path).map(str::to_owned) {
            // A script that runs itself adds nothing new.
            Some(_) if self.calls.iter().any(|call| call == path) => self.wrapper(words, assigns),
            Some(text) => {
                self.wrapper(words, assigns);
                if text.contains(|c: char| !unknown::is_hole(c) && !c.is_whitespace()) {
                    self.calls.push(path.to_owned());
                    self.shell_text(name, &text, arguments);
                    self.calls.pop();
                } else if !unknown::is_known(&text) {
                    let command = self.leaf(words, assigns);
                    self.doubt_of(
                        DoubtKind::Dynamic,
                        &format!("the input of {name} is known only at run time"),
                        command,
                    );
                }
            }
            None => {
                let command = self.leaf(words, assigns);
                if path == "/dev/null" {
                    return;
                }
                self.reads(path, name);
                let kind = if unknown::is_known(path) { DoubtKind::Opaque } else { DoubtKind::Dynamic };
                self.doubt_of(kind, &format!("script file {path}"), command);
            }
        }
        self.print_unknown();
    }

    pub(super) fn eval(&mut self, words: &[String], assigns: &Assignments) -> Unwrapped {
        self.wrapper(words, assigns);
        let from = if words.get(1).is_some_and(|word| word == "--") { 2 } else { 1 };
        let text = words.get(from..).unwrap_or_default().join(" ");
        self.code_here("eval", &text);
        Unwrapped::Done
    }

    /// Walks code that runs in the current shell. Values that the code changes are unknown afterwards.
    fn code_here(&mut self, by: &str, text: &str) {
        if !text.contains(|c: char| !unknown::is_hole(c) && !c.is_whitespace()) {
            if !unknown::is_known(text) {
                self.doubt(DoubtKind::Dynamic, &format!("code for {by} is known only at run time"));
            }
            return;
        }
        let before = self.fork();
        self.same_shell_text(text, Carrier::Shell(by.to_owned()));
        self.state.blur(&before);
    }

    pub(super) fn source(&mut self, words: &[String], assigns: &Assignments) -> Unwrapped {
        let Some(path) = words.get(1).cloned() else {
            self.leaf(words, assigns);
            return Unwrapped::Done;
        };
        let text = match path.as_str() {
            "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" => match &self.input {
                StdinText::Text(text) => Some(text.clone()),
                StdinText::Inherited | StdinText::File(_) => None,
            },
            _ => self.file(&path).map(str::to_owned),
        };
        match text {
            Some(text) => {
                self.wrapper(words, assigns);
                let outer = self.state.arguments.clone();
                if words.len() > 2 {
                    self.state.arguments = Some(words[2..].to_vec());
                }
                self.code_here("source", &text);
                self.state.arguments = outer;
            }
            None => {
                let command = self.leaf(words, assigns);
                self.reads(&path, "source");
                let kind = if unknown::is_known(&path) { DoubtKind::Opaque } else { DoubtKind::Dynamic };
                self.doubt_of(kind, &format!("sourced file {path}"), command);
                self.print_unknown();
            }
        }
        Unwrapped::Done
    }

    pub(super) fn trap(&mut self, words: &[String], assigns: &Assignments) -> Unwrapped {
        let from = if words.get(1).is_some_and(|word| word == "--") { 2 } else { 1 };
        match words.get(from) {
            Some(text) if words.len() > from + 1 && !matches!(text.as_str(), "-" | "-l" | "-p" | "") => {
                self.wrapper(words, assigns);
                // It runs at the end of the current text, with the state of that moment.
                let text = text.clone();
                if !unknown::is_known(&text) && !text.contains(|c: char| !unknown::is_hole(c)) {
                    self.doubt(DoubtKind::Dynamic, "code for trap is known only at run time");
                } else if self.traps.len() < TRAPS {
                    self.traps.push(text);
                } else {
                    self.doubt(DoubtKind::Limit, "too many traps");
                }
            }
            _ => {
                self.leaf(words, assigns);
            }
        }
        Unwrapped::Done
    }

    pub(super) fn mapfile(&mut self, words: &[String], assigns: &Assignments) -> Unwrapped {
        const OPTIONS: ProgramOptions = ProgramOptions { letters: "dnOsuCc", long: &[] };
        let split = options::leading(words, 1, &OPTIONS);
        self.leaf(words, assigns);
        let name = words.get(split.operands).map_or("MAPFILE", String::as_str).to_owned();
        let text = match split.value(&["-u"]) {
            Some(descriptor) => self.file(&format!("/dev/fd/{descriptor}")),
            None => self.file("/dev/stdin"),
        };
        match text {
            Some(text) if unknown::is_known(text) && !split.has(&["-d", "-n", "-O", "-s"]) => {
                let values = text.lines().take(256).map(str::to_owned).collect();
                let variable = Variable { values, array: true, exported: false };
                self.state.variables.insert(name, variable);
            }
            _ => self.state.set_hole(&name),
        }
        if let Some(text) = split.value(&["-C"]) {
            let text = format!("{text} {}", unknown::HOLE);
            self.code_here("mapfile", &text);
        }
        Unwrapped::Done
    }

    /// Walks the input of `at`, `batch` and `crontab`, which run it.
    pub(super) fn schedule(&mut self, name: &str, words: &[String], assigns: &Assignments) -> Unwrapped {
        const OPTIONS: ProgramOptions = ProgramOptions { letters: "fqtu", long: &[] };
        let (split, operands) = options::anywhere(words, 1, &OPTIONS);
        let asks =
            if name == "crontab" { &["-l", "-r", "-e"][..] } else { &["-l", "-d", "-r", "-c", "-V"][..] };
        let file = split
            .value(&["-f"])
            .map(str::to_owned)
            .or_else(|| (name == "crontab").then(|| operands.first().cloned()).flatten());
        let piped = matches!(self.input, StdinText::Text(_));
        if split.has(asks) || name == "crontab" && file.is_none() && !piped {
            return Unwrapped::Plain;
        }
        let text = match file.as_deref() {
            None | Some("-" | "/dev/stdin") => match &self.input {
                StdinText::Text(text) => Some(text.clone()),
                StdinText::Inherited | StdinText::File(_) => None,
            },
            Some(path) => self.file(path).map(str::to_owned),
        };
        let command = self.leaf(words, assigns);
        match text {
            None => self.doubt_of(DoubtKind::Opaque, &format!("jobs for {name}"), command),
            Some(text) if name == "crontab" => {
                for line in text.lines() {
                    self.cron_line(line);
                }
            }
            Some(text) => self.shell_text(name, &text, Vec::new()),
        }
        Unwrapped::Done
    }

    /// Walks `m h d m w command` or `@daily command`.
    fn cron_line(&mut self, line: &str) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') || super::assignment(line).is_some() {
            return;
        }
        let fields = if line.starts_with('@') { 1 } else { 5 };
        let mut rest = line;
        for _ in 0..fields {
            let Some(at) = rest.find(char::is_whitespace) else { return };
            rest = rest[at..].trim_start();
        }
        self.shell_text("crontab", rest, Vec::new());
    }

    /// Walks a makefile that is given as text. Targets of a makefile on disk are a doubt.
    pub(super) fn make(&mut self, words: &[String], assigns: &Assignments) -> Unwrapped {
        const OPTIONS: ProgramOptions = ProgramOptions {
            letters: "CfIjloW",
            long: &["--directory", "--file", "--makefile", "--eval", "--include-dir", "--jobs", "--what-if"],
        };
        let (split, _) = options::anywhere(words, 1, &OPTIONS);
        let mut text = split.value(&["--eval", "-E"]).unwrap_or_default().to_owned();
        let file = split.value(&["-f", "--file", "--makefile"]).map(str::to_owned);
        let read = match file.as_deref() {
            Some("-" | "/dev/stdin") => match &self.input {
                StdinText::Text(text) => Some(text.clone()),
                StdinText::Inherited | StdinText::File(_) => None,
            },
            Some(path) => self.file(path).map(str::to_owned),
            None => {
                let below = split.value(&["-C", "--directory"]).unwrap_or(".").to_owned();
                self.file(&format!("{below}/Makefile"))
                    .or_else(|| self.file(&format!("{below}/makefile")))
                    .map(str::to_owned)
            }
        };
        let command = self.leaf(words, assigns);
        self.print_unknown();
        let known = read.is_some();
        if read.as_deref().is_some_and(|read| !unknown::is_known(read) && read.chars().count() == 1) {
            self.doubt_of(DoubtKind::Dynamic, "the makefile is known only at run time", command);
        }
        if let Some(read) = read {
            text.push('\n');
            text.push_str(&read);
        }
        if !known && !split.has(&["--version", "-v", "--help", "-h"]) {
            self.doubt_of(DoubtKind::Opaque, "target of a makefile", command);
        }
        // `SHELL=x` runs each recipe; `$(shell x)` runs while the file is read.
        for code in words.iter().filter_map(|word| word.strip_prefix("SHELL=")) {
            self.shell_text("make", code, Vec::new());
        }
        let read = text.clone();
        // The search for the end of each call takes quadratic time, so their number is limited.
        if read.matches("$(shell ").count() > SHELL_CALLS {
            self.doubt_of(DoubtKind::Limit, "too many calls of the shell in a makefile", command);
        }
        for (at, call) in read.match_indices("$(shell ").take(SHELL_CALLS) {
            let inner = &read[at + call.len()..];
            if let Some(end) = crate::parse::scan::end_of(&read, at + 2, crate::parse::scan::Nesting::Parens)
            {
                self.shell_text("make", &inner[..end.saturating_sub(at + call.len() + 1)], Vec::new());
            }
        }
        for line in text.lines() {
            let recipe = match line.strip_prefix('\t') {
                Some(recipe) => Some(recipe),
                // `target: ; recipe`.
                None => {
                    line.split_once(':').and_then(|(_, rest)| rest.split_once(';')).map(|(_, recipe)| recipe)
                }
            };
            if let Some(recipe) = recipe {
                let recipe = recipe.trim_start_matches(['@', '-', '+', ' ']).replace("$$", "$");
                self.shell_text("make", &recipe, Vec::new());
            }
        }
        Unwrapped::Done
    }
}
