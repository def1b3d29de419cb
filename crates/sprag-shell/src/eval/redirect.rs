//! Redirections: where input comes from, where output goes, and the paths that are read and
//! written by them. What a text writes to a file is remembered, because it may run it later.

use brush_parser::ast::{self, IoFileRedirectKind as Kind, IoFileRedirectTarget as Target};

use super::{Evaluator, StdinText};
use crate::expand::Quoting;
use crate::expand::unknown::HOLE;
use crate::{Carrier, PathUse};

/// Where standard output goes instead.
enum OutputSink<'a> {
    File {
        path: String,
        append: bool,
    },
    /// `> >(…)`.
    Process(&'a ast::CompoundList),
    /// Another descriptor, closed, or nowhere.
    Gone,
}

impl Evaluator {
    /// Runs `inner` with the redirections of a compound command in effect.
    pub(super) fn redirected(
        &mut self,
        redirects: Option<&ast::RedirectList>,
        inner: impl FnOnce(&mut Evaluator),
    ) {
        match redirects {
            None => inner(self),
            Some(list) => {
                let list: Vec<&ast::IoRedirect> = list.0.iter().collect();
                self.with_redirects(&list, inner);
            }
        }
    }

    pub(super) fn with_redirects(
        &mut self,
        redirects: &[&ast::IoRedirect],
        inner: impl FnOnce(&mut Evaluator),
    ) {
        if redirects.is_empty() {
            inner(self);
            return;
        }
        let outer = self.input.clone();
        let mut sink = None;
        for redirect in redirects {
            if let Some(next) = self.redirect(redirect) {
                sink = Some(next);
            }
        }
        match sink {
            None => inner(self),
            Some(sink) => {
                let output = self.captured(inner);
                self.deliver(sink, output.text);
            }
        }
        self.input = outer;
    }

    /// `{name}< file`: the shell picks a descriptor and sets the name to it.
    pub(super) fn named_descriptor(&mut self, name: &str, redirect: &ast::IoRedirect) {
        self.descriptors += 1;
        let descriptor = 9 + self.descriptors;
        let outer = self.input.clone();
        if let Some(sink) = self.redirect(redirect) {
            self.deliver(sink, HOLE.to_string());
        }
        if let StdinText::Text(text) = std::mem::replace(&mut self.input, outer) {
            self.files.insert(format!("/dev/fd/{descriptor}"), text);
        }
        self.state.set(name, descriptor.to_string());
    }

    /// `exec` without a command: its redirections stay.
    pub(super) fn redirect_for_good(&mut self, redirects: &[&ast::IoRedirect]) {
        for redirect in redirects {
            if let Some(sink) = self.redirect(redirect) {
                self.deliver(sink, HOLE.to_string());
            }
        }
    }

    fn deliver(&mut self, sink: OutputSink<'_>, text: String) {
        match sink {
            OutputSink::File { path, append } => self.write_file(&path, &text, append),
            OutputSink::Process(list) => {
                let input = std::mem::replace(&mut self.input, StdinText::Text(text));
                self.via.push(Carrier::Substitution);
                self.subshell(list);
                self.via.pop();
                self.input = input;
            }
            OutputSink::Gone => {}
        }
    }

    pub(crate) fn write_file(&mut self, path: &str, text: &str, append: bool) {
        if let Some(whole) = self.whole_path(path) {
            let file = self.files.entry(whole).or_default();
            if !append {
                file.clear();
            }
            if file.len() + text.len() <= super::TEXT {
                file.push_str(text);
            } else {
                *file = HOLE.to_string();
            }
        }
    }

    /// What is in a file, if this text wrote it.
    pub(crate) fn file(&self, path: &str) -> Option<&str> {
        if matches!(path, "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0") {
            return match &self.input {
                StdinText::Text(text) => Some(text),
                StdinText::Inherited | StdinText::File(_) => None,
            };
        }
        self.files.get(&self.whole_path(path)?).map(String::as_str)
    }

    pub(crate) fn writes(&mut self, path: &str, by: &str) {
        let path = self.path_use(path, by);
        self.script.writes.push(path);
    }

    /// A path written by the command that was added last.
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
            // The command it belongs to is the next one to be added.
            command: Some(self.script.commands.len()),
        }
    }

    fn redirect<'a>(&mut self, redirect: &'a ast::IoRedirect) -> Option<OutputSink<'a>> {
        match redirect {
            ast::IoRedirect::HereDocument(fd, document) => {
                self.count(document.doc.value.len() / 64);
                let mut text = if document.remove_tabs {
                    document
                        .doc
                        .value
                        .split_inclusive('\n')
                        .map(|line| line.trim_start_matches('\t'))
                        .collect()
                } else {
                    document.doc.value.clone()
                };
                if document.requires_expansion {
                    text = self.document(&text);
                }
                self.set_input(*fd, StdinText::Text(text));
                None
            }
            ast::IoRedirect::HereString(fd, word) => {
                let mut text = self.single(&word.value);
                text.push('\n');
                self.set_input(*fd, StdinText::Text(text));
                None
            }
            ast::IoRedirect::OutputAndError(word, append) => {
                let path = self.single(&word.value);
                self.writes(&path, if *append { ">>" } else { ">" });
                Some(OutputSink::File { path, append: *append })
            }
            ast::IoRedirect::File(fd, kind, target) => self.file_redirect(*fd, kind, target),
        }
    }

    /// What another descriptor is opened on can be read by its path.
    fn set_input(&mut self, fd: Option<ast::IoFd>, input: StdinText) {
        match (fd.unwrap_or(0), input) {
            (0, input) => self.input = input,
            (fd, StdinText::Text(text)) => {
                self.files.insert(format!("/dev/fd/{fd}"), text);
            }
            (_, StdinText::Inherited | StdinText::File(_)) => {}
        }
    }

    fn file_redirect<'a>(
        &mut self,
        fd: Option<ast::IoFd>,
        kind: &Kind,
        target: &'a Target,
    ) -> Option<OutputSink<'a>> {
        let reads = matches!(kind, Kind::Read | Kind::DuplicateInput | Kind::ReadAndWrite);
        let is_stdout = !reads && fd.unwrap_or(1) == 1;
        match target {
            Target::Filename(word) => {
                let path = self.single(&word.value);
                if reads {
                    self.reads(&path, "<");
                    let input = match self.file(&path) {
                        Some(text) => StdinText::Text(text.to_owned()),
                        None => StdinText::File(path.clone()),
                    };
                    self.set_input(fd, input);
                    if matches!(kind, Kind::ReadAndWrite) {
                        self.writes(&path, "<>");
                    }
                    return None;
                }
                let append = matches!(kind, Kind::Append);
                self.writes(&path, if append { ">>" } else { ">" });
                is_stdout.then_some(OutputSink::File { path, append })
            }
            Target::ProcessSubstitution(ast::ProcessSubstitutionKind::Read, inner) => {
                let output = self.captured(|walk| {
                    walk.via.push(Carrier::Substitution);
                    walk.subshell(&inner.list);
                    walk.via.pop();
                });
                self.set_input(fd, StdinText::Text(output.text));
                None
            }
            Target::ProcessSubstitution(ast::ProcessSubstitutionKind::Write, inner) => {
                if is_stdout {
                    return Some(OutputSink::Process(&inner.list));
                }
                self.input_unknown(|walk| {
                    walk.via.push(Carrier::Substitution);
                    walk.subshell(&inner.list);
                    walk.via.pop();
                });
                None
            }
            Target::Fd(_) => is_stdout.then_some(OutputSink::Gone),
            Target::Duplicate(word) => {
                let to = self.in_one(&word.value, Quoting::Bare);
                let descriptor =
                    to == "-" || to.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit());
                if reads {
                    if fd.unwrap_or(0) == 0 {
                        let text = self.files.get(&format!("/dev/fd/{}", to.trim_end_matches('-')));
                        self.input = StdinText::Text(text.cloned().unwrap_or_else(|| HOLE.to_string()));
                    }
                    return None;
                }
                if descriptor {
                    // `>&1` changes nothing; another descriptor takes the output away.
                    return (is_stdout && to != "1").then_some(OutputSink::Gone);
                }
                self.writes(&to, ">");
                is_stdout.then_some(OutputSink::File { path: to, append: false })
            }
        }
    }
}
