//! One simple command: expands its words, removes its carriers one by one, and adds the rest to the script.

use std::borrow::Cow;
use std::rc::Rc;

use super::state::Variable;
use super::{Evaluator, StdinText, TEXT, builtins};
use crate::carriers::Unwrapped;
use crate::expand::unknown::{self, HOLE};
use crate::parse::ast::{AssignedValue, Assignment, List, ParsedText, ProcessDirection, Redirect, WordNode};
use crate::{Carrier, DoubtKind};

/// Maximum number of carriers around one command.
const LAYERS: usize = 32;
/// Maximum depth of nested calls, each of which takes stack.
const LEVELS: usize = 60;

impl Evaluator {
    pub(super) fn simple(
        &mut self,
        code: &Rc<ParsedText>,
        assignments: &[Assignment],
        nodes: &[WordNode],
        redirects: &[Redirect],
    ) {
        let mut words = Vec::with_capacity(nodes.len());
        let mut sinks = Vec::new();
        let mut declares = false;
        let mut declared = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            match node {
                WordNode::Plain(name) if at == 0 => {
                    words = self.named_program(code.word(*name));
                    declares = words.first().is_some_and(|word| builtins::declares(word));
                }
                WordNode::Plain(word) => words.extend(self.fields(code.word(*word))),
                WordNode::Assignment(assignment, _) if declares => {
                    // All words are expanded before any variable is set.
                    let (name, variable) = self.assigned(code, assignment);
                    words.push(format!("{name}={}", variable.values.first().map_or("", String::as_str)));
                    declared.push((name, variable));
                }
                WordNode::Assignment(_, word) => words.extend(self.fields(code.word(*word))),
                WordNode::Process(direction, list) => {
                    words.push(self.process(code, *direction, list, &mut sinks));
                }
            }
        }
        self.state.variables.extend(declared);
        let mut assigns = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            assigns.push(self.assigned(code, assignment));
        }
        if words.is_empty() {
            for (name, variable) in assigns {
                let exported = self.state.variables.get(&name).is_some_and(|variable| variable.exported);
                self.state.variables.insert(name, Variable { exported, ..variable });
            }
            // `$(< file)` prints the file; other redirections only open theirs.
            self.with_redirects(code, redirects, |walk| {
                if let StdinText::Text(text) = &walk.input {
                    let text = text.clone();
                    walk.print(&text);
                } else if matches!(walk.input, StdinText::File(_)) {
                    walk.print_unknown();
                }
            });
            return;
        }
        let outer: Vec<(String, Option<Variable>)> =
            assigns.iter().map(|(name, _)| (name.clone(), self.state.variables.get(name).cloned())).collect();
        let mut shown = Vec::new();
        for (name, variable) in assigns {
            shown.push((name.clone(), variable.values.first().cloned().unwrap_or_default()));
            self.state.variables.insert(name, Variable { exported: true, ..variable });
        }
        if words.len() == 1 && words[0] == "exec" {
            self.redirect_for_good(code, redirects);
            self.run(words, shown);
        } else {
            self.with_redirects(code, redirects, |walk| walk.run(words, shown));
        }
        for (name, variable) in outer {
            match variable {
                Some(variable) => self.state.variables.insert(name, variable),
                None => self.state.variables.remove(&name),
            };
        }
        for (path, list) in sinks {
            let text = self.files.get(&path).cloned().unwrap_or_else(|| HOLE.to_string());
            self.run_with_input(code, list, text);
        }
    }

    /// Expands the first word, which names the program.
    fn named_program(&mut self, raw: &str) -> Vec<String> {
        let (mut fields, globs) = self.fields_and_globs(raw);
        if globs
            && let Some(first) = fields.first_mut()
            && !matches!(first.as_str(), "[" | "[[")
        {
            *first = unglobbed(first);
        }
        // A computed program name also counts as a wrapper, because it was not visible in the text.
        if raw.contains("$(") || raw.contains('`') {
            self.wrapper(&[raw.to_owned()], &[]);
        }
        fields
    }

    /// Returns the path for `<(…)` or `>(…)` as a word.
    fn process<'a>(
        &mut self,
        code: &Rc<ParsedText>,
        direction: ProcessDirection,
        list: &'a List,
        sinks: &mut Vec<(String, &'a List)>,
    ) -> String {
        match direction {
            ProcessDirection::Read => {
                let input = self.input.clone();
                let output = self.captured(|walk| walk.substitute(code, list));
                self.input = input;
                self.pipe_path(output.text)
            }
            ProcessDirection::Write => {
                let path = self.pipe_path(HOLE.to_string());
                // Data written there goes to another program.
                self.writes(&path, ">(");
                sinks.push((path.clone(), list));
                path
            }
        }
    }

    fn assigned(&mut self, code: &ParsedText, assignment: &Assignment) -> (String, Variable) {
        let name = code.word(assignment.name).to_owned();
        let index = assignment.index.map(|index| code.word(index));
        if let Some(index) = index {
            self.computed(index);
        }
        let old = self.state.variables.get(&name).cloned();
        let mut variable = match &assignment.value {
            AssignedValue::Scalar(word) => {
                let value = self.single(code.word(*word));
                Variable { values: vec![value], array: false, exported: false }
            }
            AssignedValue::Array(elements) => {
                let mut values = Vec::new();
                for (key, word) in elements {
                    if let Some(key) = key {
                        self.reach(code.word(*key));
                    }
                    values.extend(self.fields(code.word(*word)));
                }
                Variable { values, array: true, exported: false }
            }
        };
        let set = variable.values.first().filter(|_| !variable.array).cloned();
        if let Some(index) = index {
            let value = variable.values.pop().unwrap_or_default();
            let mut values = old.map(|old| old.values).unwrap_or_default();
            match index.parse::<usize>() {
                Ok(at) if at < values.len() => values[at] = value,
                Ok(at) if at == values.len() => values.push(value),
                _ => values = vec![unknown::MANY.to_string()],
            }
            variable = Variable { values, array: true, exported: false };
        } else if assignment.is_append {
            match old {
                Some(mut old) if variable.array || old.array => {
                    old.values.append(&mut variable.values);
                    variable = Variable { array: true, ..old };
                }
                Some(old) => {
                    let before = old.values.first().map_or("", String::as_str);
                    let value = format!("{before}{}", variable.values.concat());
                    variable = Variable { values: vec![value], ..old };
                }
                None if !variable.array => variable.values.insert(0, HOLE.to_string()),
                None => {}
            }
            if !variable.array {
                variable.values = vec![variable.values.concat()];
            }
        }
        if let AssignedValue::Array(elements) = &assignment.value
            && matches!(name.as_str(), "BASH_ALIASES" | "BASH_CMDS")
        {
            for (key, word) in elements {
                if let Some(key) = key {
                    let value = self.single(code.word(*word));
                    self.shell_variable(&name, Some(code.word(*key)), &value);
                }
            }
        }
        if let Some(value) = set.filter(|_| !variable.values.is_empty()) {
            self.shell_variable(&name, index, &value);
        }
        // A value that doubles with each line must be limited.
        if variable.values.iter().map(String::len).sum::<usize>() > TEXT {
            self.doubt(DoubtKind::Limit, &format!("{name} of more than 64 KiB"));
            variable.values = vec![HOLE.to_string()];
        }
        (name, variable)
    }

    /// Runs a command with expanded words.
    pub(crate) fn run(&mut self, words: Vec<String>, assigns: Vec<(String, String)>) {
        if self.level >= LEVELS {
            self.doubt(DoubtKind::Limit, "carriers nested too deep");
            return;
        }
        self.level += 1;
        let via = self.via.len();
        let mut entered = None;
        self.peel(words, assigns, &mut entered);
        if let Some(cwd) = entered {
            self.state.cwd = cwd;
        }
        self.via.truncate(via);
        self.level -= 1;
    }

    fn peel(
        &mut self,
        mut words: Vec<String>,
        mut assigns: Vec<(String, String)>,
        entered: &mut Option<Option<String>>,
    ) {
        for layer in 0..LAYERS {
            if !self.step() {
                return;
            }
            // After a carrier, a glob can name the program too: `sudo /bin/r?`.
            if let Some(first) = words.first_mut()
                && first.contains(['*', '?', '['])
                && !matches!(first.as_str(), "[" | "[[")
            {
                *first = unglobbed(first);
            }
            let Some(first) = words.first() else { return };
            let name = program_name(first);
            if !unknown::is_known(first) && (name == *first || !unknown::is_known(&name)) {
                let command = self.leaf(&words, &assigns);
                let about = words.join(" ");
                self.doubt_of(DoubtKind::Dynamic, &about, command);
                self.print_unknown();
                return;
            }
            if first.contains(unknown::is_odd) {
                let command = self.leaf(&words, &assigns);
                let about = words.join(" ");
                self.doubt_of(DoubtKind::OddChar, &about, command);
                return;
            }
            if layer == 0 && self.named(&words, &assigns) {
                return;
            }
            match self.unwrapped(&name, &words, &assigns) {
                Unwrapped::Done => {
                    self.configured(&name, &assigns);
                    return;
                }
                Unwrapped::Plain => {
                    self.configured(&name, &assigns);
                    self.program(&name, words, &assigns);
                    return;
                }
                Unwrapped::Inner { words: inner, assigns: more, enter } => {
                    self.wrapper(&words, &assigns);
                    let is_runner = RUNNERS.contains(&name.as_str());
                    self.via.push(Carrier::Program(name));
                    assigns.extend(more);
                    if let Some(to) = enter {
                        entered.get_or_insert_with(|| self.state.cwd.clone());
                        let previous = self.state.previous.clone();
                        self.state.change_dir(&to);
                        self.state.previous = previous;
                    }
                    words = inner;
                    if is_runner
                        && let Some(first) = words.first_mut()
                        && let Some(program) = package_program(first)
                    {
                        *first = program.to_owned();
                    }
                }
            }
        }
        self.doubt(DoubtKind::Limit, "too many carriers around one command");
    }

    /// Walks the call of a function or alias of that name; returns true if there is one. The name may also be
    /// a program, so the command itself is added too.
    fn named(&mut self, words: &[String], assigns: &[(String, String)]) -> bool {
        let name = words[0].as_str();
        if self.state.functions.contains_key(name) {
            // A recursive call is a fork bomb only if it does not wait for the inner call.
            let own = Carrier::Function(name.to_owned());
            let waits = self.pipes == 0 && self.via.contains(&own);
            let via = self.via.clone();
            if waits {
                self.via.retain(|carrier| *carrier != own);
            }
            self.leaf(words, assigns);
            self.via = via;
            self.function(name, words[1..].to_vec());
            return true;
        }
        let Some(text) = self.state.aliases.get(name).cloned() else { return false };
        if self.calls.iter().any(|call| call == name) {
            return false;
        }
        self.leaf(words, assigns);
        self.calls.push(name.to_owned());
        let outer = self.state.arguments.replace(words[1..].to_vec());
        let text = format!("{text} \"$@\"");
        self.same_shell_text(&text, Carrier::Alias(name.to_owned()));
        self.state.arguments = outer;
        self.calls.pop();
        true
    }

    /// Adds a command without further unwrapping.
    pub(crate) fn leaf(&mut self, words: &[String], assigns: &[(String, String)]) -> Option<usize> {
        self.count_words(words);
        let command = self.as_command(words, assigns);
        self.command(command)
    }

    /// Runs a program that is not a carrier.
    fn program(&mut self, name: &str, words: Vec<String>, assigns: &[(String, String)]) {
        let cwd = self.state.cwd.clone();
        if self.builtin(name, &words) {
            // `cd` counts at the directory before the change.
            let moved = std::mem::replace(&mut self.state.cwd, cwd);
            let command = self.leaf(&words, assigns);
            self.named_secrets(name, &words, command);
            self.state.cwd = moved;
            self.output(name, &words);
            return;
        }
        let mut given = words;
        if name == "git" {
            one_case(&mut given);
        }
        // Variables set by `env` count like variables of the shell.
        let set = assigns.iter().filter(|(variable, _)| name == "git" && variable.starts_with("GIT_CONFIG_"));
        let set: Vec<&(String, String)> = set.collect();
        let outer: Vec<Option<Variable>> =
            set.iter().map(|(variable, _)| self.state.variables.get(variable).cloned()).collect();
        for (variable, value) in &set {
            self.state.set(variable, value.clone());
        }
        let assigns = &*with_git_dir(name, &given, assigns);
        let words = match self.subcommand(name, &given) {
            Some(short) => {
                let moved = std::mem::replace(&mut self.state.cwd, cwd.clone());
                self.wrapper(&given, assigns);
                self.state.cwd = moved;
                short
            }
            None => given,
        };
        for ((variable, _), outer) in set.into_iter().zip(outer) {
            match outer {
                Some(outer) => self.state.variables.insert(variable.clone(), outer),
                None => self.state.variables.remove(variable),
            };
        }
        // `uv run -` and `uv run x.py` run Python.
        let python = name == "-" || name.ends_with(".py");
        if python && matches!(self.via.last(), Some(Carrier::Program(by)) if by == "uv") {
            let mut code = vec!["python".to_owned()];
            code.extend(words.iter().cloned());
            self.interpreted("python", &code, assigns);
            self.state.cwd = cwd;
            return;
        }
        // A library of a temporary directory or a home runs inside the program.
        let is_foreign = |(variable, value): &(String, String)| {
            matches!(variable.as_str(), "LD_PRELOAD" | "LD_AUDIT" | "DYLD_INSERT_LIBRARIES")
                && ["/tmp/", "/var/tmp/", "/dev/shm/", "~"].iter().any(|place| value.starts_with(place))
        };
        if assigns.iter().any(is_foreign) {
            self.doubt(DoubtKind::Dynamic, &format!("a library from elsewhere runs inside {name}"));
        }
        if self.interpreted(name, &words, assigns) {
            self.print_unknown();
            self.state.cwd = cwd;
            return;
        }
        let command = self.leaf(&words, assigns);
        self.paths(name, &words, command);
        self.embedded(name, &words, command);
        if let Some(index) = command {
            self.opaque(name, &words, index);
        }
        self.output(name, &words);
        self.state.cwd = cwd;
    }
}

/// Programs that run a package by its name.
const RUNNERS: &[&str] = &["npx", "bunx", "pnpx", "npm", "pnpm", "yarn", "bun", "uvx", "uv", "pipx"];

/// Returns the program of a package that is named differently.
fn package_program(package: &str) -> Option<&'static str> {
    let end = package.get(1..)?.find('@').map_or(package.len(), |at| at + 1);
    Some(match &package[..end] {
        "@anthropic-ai/claude-code" => "claude",
        "@openai/codex" => "codex",
        "@google/gemini-cli" => "gemini",
        "@github/copilot" => "copilot",
        "@sourcegraph/amp" => "amp",
        "@qwen-code/qwen-code" => "qwen",
        "@charmland/crush" => "crush",
        "@augmentcode/auggie" => "auggie",
        "@kilocode/cli" => "kilocode",
        "@continuedev/cli" => "cn",
        "@iflow-ai/iflow-cli" => "iflow",
        "@vibe-kit/grok-cli" => "grok",
        "opencode-ai" => "opencode",
        "aider-chat" => "aider",
        "open-interpreter" => "interpreter",
        "openhands-ai" => "openhands",
        "kimi-cli" => "kimi",
        _ => return None,
    })
}

/// Returns the variables of a command; `git --git-dir=X` works elsewhere, like `GIT_DIR=X git`.
fn with_git_dir<'a>(
    name: &str,
    words: &[String],
    assigns: &'a [(String, String)],
) -> Cow<'a, [(String, String)]> {
    let names_it = |word: &String| word.starts_with("--git-dir") || word.starts_with("--work-tree");
    if name != "git" || !words.iter().any(names_it) {
        return Cow::Borrowed(assigns);
    }
    let elsewhere = ("GIT_DIR".to_owned(), HOLE.to_string());
    Cow::Owned(assigns.iter().cloned().chain([elsewhere]).collect())
}

/// Replaces `*`, `?` and `[…]` by holes, because the shell expands them at run time.
fn unglobbed(word: &str) -> String {
    let mut known = String::with_capacity(word.len());
    let mut rest = word.chars();
    let behind_last = word.rfind(']').map_or(0, |at| word.len() - at);
    while let Some(c) = rest.next() {
        let class = c == '[' && behind_last > 0 && rest.as_str().len() >= behind_last;
        if class {
            // `[]x]` and `[!]x]` start with a bracket that does not end them.
            let from = rest.as_str().trim_start_matches(['!', '^']);
            let from = from.strip_prefix(']').filter(|from| from.contains(']')).unwrap_or(from);
            rest = from.split_once(']').map_or("", |(_, after)| after).chars();
        }
        known.push(if class || matches!(c, '*' | '?') { HOLE } else { c });
    }
    known
}

/// Returns the name of a program in lower case, because some file systems treat `GIT` and `git` as the same
/// name.
fn program_name(path: &str) -> String {
    let base = unknown::base_name(path);
    if !base.bytes().any(|byte| byte.is_ascii_uppercase() || byte == b'.') || base == "R" {
        return base.to_owned();
    }
    let lower = base.to_ascii_lowercase();
    lower.strip_suffix(".exe").map(str::to_owned).unwrap_or(lower)
}

/// Normalizes the case of git keys: git treats `core.hooksPath` and `CORE.HOOKSPATH` as the same key, but
/// rules match one spelling.
fn one_case(words: &mut [String]) {
    const KEYS: &[&str] = &["core.hooksPath", "core.excludesFile", "include.path"];
    let config = words.iter().take(8).any(|word| word == "config");
    for at in 1..words.len() {
        let setting = words[at - 1] == "-c" || words[at - 1] == "--config-env";
        let (before, key) = match words[at].strip_prefix("--config-env=") {
            Some(key) => ("--config-env=", key),
            None if config || setting => ("", words[at].as_str()),
            None => continue,
        };
        for known in KEYS {
            if let Some(start) = key.get(..known.len())
                && start.eq_ignore_ascii_case(known)
                && matches!(key.as_bytes().get(known.len()), None | Some(b'='))
            {
                words[at] = format!("{before}{known}{}", &key[known.len()..]);
                break;
            }
        }
    }
}
