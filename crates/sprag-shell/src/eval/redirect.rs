//! Redirections: sources of input, targets of output, and the paths that they read and write. The evaluator
//! keeps the content of written files, because the same text may run them later.

use std::rc::Rc;

use super::{Evaluator, StdinText};
use crate::expand::Quoting;
use crate::expand::unknown::HOLE;
use crate::parse::ast::{
    Descriptor, List, ParsedText, ProcessDirection, Redirect, RedirectKind as Kind, RedirectTarget as Target,
};
use crate::{Carrier, PathUse};

/// The content of a file that nothing shows.
const UNREAD: &str = "\u{E000}";

/// The target of redirected standard output.
enum OutputSink<'a> {
    File {
        path: String,
        append: bool,
    },
    /// `> >(…)`.
    Process(&'a List),
    /// Another descriptor, a closed one, or nowhere.
    Gone,
}

impl Evaluator {
    /// Runs `inner` with the redirections of a command in effect.
    pub(super) fn with_redirects(
        &mut self,
        code: &Rc<ParsedText>,
        redirects: &[Redirect],
        inner: impl FnOnce(&mut Evaluator),
    ) {
        if redirects.is_empty() {
            inner(self);
            return;
        }
        let outer = self.input.clone();
        let mut sink = None;
        for redirect in redirects {
            if let Some(next) = self.redirect(code, redirect) {
                sink = Some(next);
            }
        }
        match sink {
            None => inner(self),
            Some(sink) => {
                let output = self.captured(inner);
                self.deliver(code, sink, output.text);
            }
        }
        self.input = outer;
    }

    /// Applies `{name}< file`: the shell allocates a descriptor and stores it in the variable.
    fn named_descriptor(&mut self, code: &Rc<ParsedText>, name: &str, redirect: &Redirect) {
        self.descriptors += 1;
        let descriptor = 9 + self.descriptors;
        let outer = self.input.clone();
        if let Some(sink) = self.unnamed_redirect(code, None, redirect) {
            self.deliver(code, sink, HOLE.to_string());
        }
        if let StdinText::Text(text) = std::mem::replace(&mut self.input, outer) {
            self.files.insert(format!("/dev/fd/{descriptor}"), text);
        }
        self.state.set(name, descriptor.to_string());
    }

    /// Applies the redirections of `exec` without a command, which stay in effect.
    pub(super) fn redirect_for_good(&mut self, code: &Rc<ParsedText>, redirects: &[Redirect]) {
        for redirect in redirects {
            if let Some(sink) = self.redirect(code, redirect) {
                self.deliver(code, sink, HOLE.to_string());
            }
        }
    }

    fn deliver(&mut self, code: &Rc<ParsedText>, sink: OutputSink<'_>, text: String) {
        match sink {
            OutputSink::File { path, append: true } => self.append_file(&path, &text),
            OutputSink::File { path, append: false } => self.write_file(&path, &text),
            OutputSink::Process(list) => self.run_with_input(code, list, text),
            OutputSink::Gone => {}
        }
    }

    /// Walks a process substitution that reads `text`.
    pub(super) fn run_with_input(&mut self, code: &Rc<ParsedText>, list: &List, text: String) {
        let input = std::mem::replace(&mut self.input, StdinText::Text(text));
        self.substitute(code, list);
        self.input = input;
    }

    pub(super) fn substitute(&mut self, code: &Rc<ParsedText>, list: &List) {
        self.via.push(Carrier::Substitution);
        self.subshell(code, list);
        self.via.pop();
    }

    pub(crate) fn write_file(&mut self, path: &str, text: &str) {
        if let Some(whole) = self.whole_path(path) {
            self.files.remove(&whole);
        }
        self.append_file(path, text);
    }

    pub(crate) fn append_file(&mut self, path: &str, text: &str) {
        if let Some(whole) = self.whole_path(path) {
            let file = self.files.entry(whole).or_default();
            if file.len() + text.len() <= super::TEXT {
                file.push_str(text);
            } else {
                *file = HOLE.to_string();
            }
        }
    }

    /// Returns the content of a file, if this text wrote it.
    pub(crate) fn file(&self, path: &str) -> Option<&str> {
        if matches!(path, "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0") {
            return match &self.input {
                StdinText::Text(text) => Some(text),
                StdinText::Inherited | StdinText::File(_) => None,
            };
        }
        let whole = self.whole_path(path)?;
        let known = self.files.get(&whole).map(String::as_str);
        known.or_else(|| self.is_fetched(&whole).then_some(UNREAD))
    }

    pub(crate) fn writes(&mut self, path: &str, by: &str) {
        let path = self.path_use(path, by);
        self.script.writes.push(path);
    }

    /// Records a path that the last added command writes.
    pub(crate) fn writes_now(&mut self, path: &str, by: &str) {
        let mut path = self.path_use(path, by);
        path.command = self.script.commands.len().checked_sub(1);
        if !self.script.writes.contains(&path) {
            self.script.writes.push(path);
        }
    }

    pub(crate) fn reads(&mut self, path: &str, by: &str) {
        let path = self.path_use(path, by);
        self.script.reads.push(path);
    }

    fn path_use(&self, path: &str, by: &str) -> PathUse {
        PathUse {
            path: super::path_word(path),
            cwd: self.place(),
            by: by.to_owned(),
            // The path belongs to the next command that is added.
            command: Some(self.script.commands.len()),
        }
    }

    fn redirect<'a>(&mut self, code: &Rc<ParsedText>, redirect: &'a Redirect) -> Option<OutputSink<'a>> {
        match redirect.descriptor {
            Descriptor::Named(name) => {
                self.named_descriptor(code, code.word(name), redirect);
                None
            }
            Descriptor::Number(number) => self.unnamed_redirect(code, Some(number), redirect),
            Descriptor::Default => self.unnamed_redirect(code, None, redirect),
        }
    }

    fn unnamed_redirect<'a>(
        &mut self,
        code: &Rc<ParsedText>,
        fd: Option<u32>,
        redirect: &'a Redirect,
    ) -> Option<OutputSink<'a>> {
        match &redirect.target {
            Target::Heredoc(index) => {
                let heredoc = &code.heredocs[*index];
                self.count(heredoc.body.len() / 64);
                let raw = code.word(heredoc.body);
                let mut text = if heredoc.has_tabs_removed {
                    raw.split_inclusive('\n').map(|line| line.trim_start_matches('\t')).collect()
                } else {
                    raw.to_owned()
                };
                if !heredoc.is_literal {
                    text = self.document(&text);
                }
                self.set_input(fd, StdinText::Text(text));
                None
            }
            Target::Process(direction, list) => {
                self.redirect_to_process(code, fd, redirect.kind, *direction, list)
            }
            Target::Word(word) => self.redirect_to_word(fd, redirect.kind, code.word(*word)),
        }
    }

    /// Sets the input of a descriptor; other descriptors than 0 are readable by their path.
    fn set_input(&mut self, fd: Option<u32>, input: StdinText) {
        match (fd.unwrap_or(0), input) {
            (0, input) => self.input = input,
            (fd, StdinText::Text(text)) => {
                self.files.insert(format!("/dev/fd/{fd}"), text);
            }
            (_, StdinText::Inherited | StdinText::File(_)) => {}
        }
    }

    fn redirect_to_process<'a>(
        &mut self,
        code: &Rc<ParsedText>,
        fd: Option<u32>,
        kind: Kind,
        direction: ProcessDirection,
        list: &'a List,
    ) -> Option<OutputSink<'a>> {
        if direction == ProcessDirection::Read {
            let output = self.captured(|walk| walk.substitute(code, list));
            self.set_input(fd, StdinText::Text(output.text));
            return None;
        }
        if !reads(kind) && fd.unwrap_or(1) == 1 {
            return Some(OutputSink::Process(list));
        }
        self.input_unknown(|walk| walk.substitute(code, list));
        None
    }

    fn redirect_to_word<'a>(&mut self, fd: Option<u32>, kind: Kind, raw: &str) -> Option<OutputSink<'a>> {
        let is_stdout = !reads(kind) && fd.unwrap_or(1) == 1;
        match kind {
            Kind::HereString | Kind::Heredoc => {
                let mut text = self.single(raw);
                text.push('\n');
                self.set_input(fd, StdinText::Text(text));
                None
            }
            Kind::Read | Kind::ReadWrite => {
                let path = self.single(raw);
                self.reads(&path, "<");
                let input = match self.file(&path) {
                    Some(text) => StdinText::Text(text.to_owned()),
                    None => StdinText::File(path.clone()),
                };
                self.set_input(fd, input);
                if kind == Kind::ReadWrite {
                    self.writes(&path, "<>");
                }
                None
            }
            Kind::Write | Kind::Append | Kind::Clobber | Kind::Both | Kind::BothAppend => {
                let path = self.single(raw);
                let append = matches!(kind, Kind::Append | Kind::BothAppend);
                self.writes(&path, if append { ">>" } else { ">" });
                is_stdout.then_some(OutputSink::File { path, append })
            }
            Kind::DuplicateInput => {
                let to = self.in_one(raw, Quoting::Bare);
                if fd.unwrap_or(0) == 0 {
                    let text = self.files.get(&format!("/dev/fd/{}", to.trim_end_matches('-')));
                    self.input = StdinText::Text(text.cloned().unwrap_or_else(|| HOLE.to_string()));
                }
                None
            }
            Kind::DuplicateOutput => {
                let to = self.in_one(raw, Quoting::Bare);
                let digits = to.strip_suffix('-').unwrap_or(&to);
                if digits.bytes().all(|byte| byte.is_ascii_digit()) {
                    // `>&1` changes nothing; another descriptor diverts the output.
                    return (is_stdout && to != "1").then_some(OutputSink::Gone);
                }
                self.writes(&to, ">");
                is_stdout.then_some(OutputSink::File { path: to, append: false })
            }
        }
    }
}

fn reads(kind: Kind) -> bool {
    matches!(kind, Kind::Read | Kind::DuplicateInput | Kind::ReadWrite)
}
