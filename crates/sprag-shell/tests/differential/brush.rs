//! The tree of brush-parser as a flat list.

use brush_parser::ast::{
    AndOr, Assignment, AssignmentName, AssignmentValue, Command, CommandPrefixOrSuffixItem as Item,
    CompoundCommand as Compound, CompoundList, ExtendedTestExpr as Test, IoFileRedirectTarget as Target,
    IoRedirect, Pipeline, ProcessSubstitutionKind, RedirectList, SimpleCommand, Word,
};
use brush_parser::{Parser, ParserOptions};

use crate::own::{joined, squeezed, without_blanks, without_tabs};

/// Returns `None` if brush rejects the text.
pub(crate) fn flat(text: &str) -> Option<Vec<String>> {
    // brush panics on some broken texts.
    let parse = || Parser::new(text.as_bytes(), &ParserOptions::default()).parse_program().ok();
    let program = std::panic::catch_unwind(parse).ok().flatten()?;
    let mut tree = Flattened { chars: text.chars().collect(), out: Vec::new() };
    for commands in &program.complete_commands {
        tree.list(commands);
    }
    Some(tree.out)
}

struct Flattened {
    chars: Vec<char>,
    out: Vec<String>,
}

impl Flattened {
    fn list(&mut self, list: &CompoundList) {
        for item in &list.0 {
            self.pipeline(&item.0.first);
            for next in &item.0.additional {
                match next {
                    AndOr::And(pipeline) | AndOr::Or(pipeline) => self.pipeline(pipeline),
                }
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        for command in &pipeline.seq {
            self.command(command);
        }
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound, redirects) => {
                self.compound(compound);
                self.redirects(redirects.as_ref());
            }
            Command::Function(function) => {
                self.out.push(format!("function {}", joined(&function.fname.value)));
                self.compound(&function.body.0);
                self.redirects(function.body.1.as_ref());
            }
            Command::ExtendedTest(test, redirects) => {
                self.test(&test.expr);
                self.redirects(redirects.as_ref());
            }
        }
    }

    fn simple(&mut self, simple: &SimpleCommand) {
        self.out.push("simple".to_owned());
        let mut redirects = Vec::new();
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            match item {
                Item::IoRedirect(redirect) => redirects.push((String::new(), redirect)),
                Item::AssignmentWord(assignment, _) => self.out.push(assigned(assignment)),
                Item::Word(_) | Item::ProcessSubstitution(..) => {}
            }
        }
        // brush reads the name of a descriptor as a word.
        let mut named = None;
        if let Some(name) = &simple.word_or_name {
            named = self.descriptor(name);
            self.out.push(format!("word {}", squeezed(&joined(&name.value))));
        }
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            match item {
                Item::IoRedirect(redirect) => {
                    if named.is_some() {
                        self.out.pop();
                    }
                    redirects.push((named.take().unwrap_or_default(), redirect));
                }
                Item::Word(word) => {
                    named = self.descriptor(word);
                    self.out.push(format!("word {}", squeezed(&joined(&word.value))));
                }
                Item::AssignmentWord(_, word) => {
                    named = None;
                    self.out.push(format!("word {}", squeezed(&joined(&word.value))));
                }
                Item::ProcessSubstitution(kind, inner) => {
                    named = None;
                    self.process(kind, &inner.list);
                }
            }
        }
        for (name, redirect) in redirects {
            self.redirect(&name, redirect);
        }
    }

    /// Returns `{name}` directly before a redirection.
    fn descriptor(&self, word: &Word) -> Option<String> {
        let name = word.value.strip_prefix('{')?.strip_suffix('}')?;
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let end = word.loc.as_ref()?.end.index;
        let touches = matches!(self.chars.get(end), Some('<' | '>'));
        (is_name && touches).then(|| word.value.clone())
    }

    fn process(&mut self, kind: &ProcessSubstitutionKind, inner: &CompoundList) {
        self.out.push(match kind {
            ProcessSubstitutionKind::Read => "<(".to_owned(),
            ProcessSubstitutionKind::Write => ">(".to_owned(),
        });
        self.list(inner);
        self.out.push(")".to_owned());
    }

    fn redirects(&mut self, redirects: Option<&RedirectList>) {
        for redirect in redirects.iter().flat_map(|redirects| &redirects.0) {
            self.redirect("", redirect);
        }
    }

    fn redirect(&mut self, name: &str, redirect: &IoRedirect) {
        let numbered = |fd: &Option<i32>| fd.map_or_else(|| name.to_owned(), |fd| fd.to_string());
        match redirect {
            IoRedirect::File(fd, kind, target) => match target {
                Target::Filename(word) | Target::Duplicate(word) => {
                    self.out.push(format!("{}{kind} {}", numbered(fd), joined(&word.value)));
                }
                Target::Fd(to) => self.out.push(format!("{}{kind} {to}", numbered(fd))),
                Target::ProcessSubstitution(direction, inner) => {
                    self.out.push(format!("{}{kind}", numbered(fd)));
                    self.process(direction, &inner.list);
                }
            },
            IoRedirect::HereDocument(fd, document) => {
                let literal = if document.requires_expansion { "" } else { "'" };
                self.out.push(format!("{}<<{literal} {}", numbered(fd), without_tabs(&document.doc.value)));
            }
            IoRedirect::HereString(fd, word) => {
                self.out.push(format!("{}<<< {}", numbered(fd), joined(&word.value)));
            }
            IoRedirect::OutputAndError(word, append) => {
                let operator = if *append { "&>>" } else { "&>" };
                self.out.push(format!("{name}{operator} {}", joined(&word.value)));
            }
        }
    }

    fn compound(&mut self, compound: &Compound) {
        match compound {
            Compound::Arithmetic(inner) => {
                self.out.push(format!("(({}))", without_blanks(&joined(&inner.expr.value))));
            }
            Compound::ArithmeticForClause(inner) => {
                let parts = [&inner.initializer, &inner.condition, &inner.updater];
                let parts = parts.map(|part| part.as_ref().map_or(String::new(), |part| joined(&part.value)));
                self.out.push(format!("for (({}))", without_blanks(&parts.join(";"))));
                self.list(&inner.body.list);
            }
            Compound::BraceGroup(inner) => self.list(&inner.list),
            Compound::Subshell(inner) => self.list(&inner.list),
            Compound::ForClause(inner) => {
                self.out.push(format!("for {}", inner.variable_name));
                let words = inner.values.iter().flatten();
                self.out.extend(words.map(|word| format!("word {}", joined(&word.value))));
                self.list(&inner.body.list);
            }
            Compound::CaseClause(inner) => {
                self.out.push(format!("case {}", joined(&inner.value.value)));
                for case in &inner.cases {
                    let patterns = case.patterns.iter();
                    self.out.extend(patterns.map(|word| format!("pattern {}", joined(&word.value))));
                    case.cmd.iter().for_each(|body| self.list(body));
                }
            }
            Compound::IfClause(inner) => {
                self.list(&inner.condition);
                self.list(&inner.then);
                for other in inner.elses.iter().flatten() {
                    other.condition.iter().for_each(|condition| self.list(condition));
                    self.list(&other.body);
                }
            }
            Compound::WhileClause(inner) | Compound::UntilClause(inner) => {
                self.list(&inner.0);
                self.list(&inner.1.list);
            }
            Compound::Coprocess(inner) => self.command(&inner.body),
        }
    }

    fn test(&mut self, test: &Test) {
        match test {
            Test::And(left, right) | Test::Or(left, right) => {
                self.test(left);
                self.test(right);
            }
            Test::Not(inner) | Test::Parenthesized(inner) => self.test(inner),
            Test::UnaryTest(operator, word) => {
                self.out.push(format!("test {operator} {}", joined(&word.value)));
            }
            Test::BinaryTest(operator, left, right) => {
                let (left, right) = (joined(&left.value), joined(&right.value));
                self.out.push(format!("test {left} {operator} {right}"));
            }
        }
    }
}

fn assigned(assignment: &Assignment) -> String {
    let name = match &assignment.name {
        AssignmentName::VariableName(name) => joined(name),
        AssignmentName::ArrayElementName(name, index) => joined(&format!("{name}[{index}]")),
    };
    let append = if assignment.append { "+" } else { "" };
    let value = match &assignment.value {
        AssignmentValue::Scalar(word) => joined(&word.value),
        AssignmentValue::Array(elements) => {
            let elements = elements.iter().map(|(key, word)| match key {
                Some(key) => format!("[{}]={}", joined(&key.value), joined(&word.value)),
                None => joined(&word.value),
            });
            format!("({})", elements.collect::<Vec<_>>().join(" "))
        }
    };
    format!("assign {name}{append}={value}")
}
