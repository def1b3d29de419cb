//! Statements: lists, pipes, branches, loops, functions. The evaluator does not evaluate conditions. After a
//! branch or loop, values that it may have changed are unknown.

use std::rc::Rc;

use super::state::Function;
use super::{Evaluator, LEVELS, StdinText, TEXTS, TURNS};
use crate::expand::unknown;
use crate::parse::ast::{
    AndOr, CommandForm, CommandNode, Connector, List, ParsedText, Pipeline, Span, Terminator, TestTerm,
};
use crate::{Carrier, DoubtKind};

impl Evaluator {
    pub(super) fn list(&mut self, code: &Rc<ParsedText>, list: &List) {
        for (and_or, terminator) in &list.items {
            match terminator {
                Terminator::Sequence => self.and_or(code, and_or),
                // A background job runs in its own subshell.
                Terminator::Background => {
                    let state = self.fork();
                    self.pipes += 1;
                    self.and_or(code, and_or);
                    self.pipes -= 1;
                    self.state = state;
                }
            }
        }
    }

    fn and_or(&mut self, code: &Rc<ParsedText>, list: &AndOr) {
        self.pipeline(code, &list.first);
        if list.rest.is_empty() {
            return;
        }
        let before = self.fork();
        // `a && b` usually prints the output of both, and such a text is worth reading. So only `||` makes
        // the output uncertain.
        for (connector, pipeline) in &list.rest {
            match connector {
                Connector::And => self.pipeline(code, pipeline),
                Connector::Or => {
                    self.branches += 1;
                    let state = self.fork();
                    self.pipeline(code, pipeline);
                    self.state.blur(&state);
                    self.branches -= 1;
                }
            }
        }
        self.state.blur(&before);
    }

    fn pipeline(&mut self, code: &Rc<ParsedText>, pipeline: &Pipeline) {
        let last = pipeline.commands.len().saturating_sub(1);
        if last == 0 {
            if let Some(command) = pipeline.commands.first() {
                self.statement(code, command);
            }
            return;
        }
        let input = self.input.clone();
        self.pipes += 1;
        for (at, command) in pipeline.commands.iter().enumerate() {
            // Each part runs in its own subshell.
            let state = self.fork();
            if at == last {
                self.statement(code, command);
            } else {
                let output = self.captured(|walk| walk.statement(code, command));
                self.input = StdinText::Text(output.text);
            }
            self.state = state;
        }
        self.pipes -= 1;
        self.input = input;
    }

    fn statement(&mut self, code: &Rc<ParsedText>, command: &CommandNode) {
        if self.level >= LEVELS || !self.step() {
            self.doubt(DoubtKind::Limit, "statements nested too deep");
            return;
        }
        self.level += 1;
        match &command.form {
            CommandForm::Simple { assignments, words } => {
                self.locate(code, command.span);
                self.simple(code, assignments, words, &command.redirects);
            }
            CommandForm::Function { name, body } => self.define(code, *name, body),
            form => self.with_redirects(code, &command.redirects, |walk| walk.compound(code, form)),
        }
        self.level -= 1;
    }

    fn define(&mut self, code: &Rc<ParsedText>, name: Span, body: &Rc<CommandNode>) {
        let name = code.word(name).to_owned();
        // The shell calls this function for every unknown command.
        let called = matches!(name.as_str(), "command_not_found_handle" | "command_not_found_handler");
        let function = Function { code: Rc::clone(code), body: Rc::clone(body) };
        self.state.functions.insert(name.clone(), function);
        if called {
            self.function(&name, vec![unknown::MANY.to_string()]);
        }
    }

    fn compound(&mut self, code: &Rc<ParsedText>, form: &CommandForm) {
        match form {
            // These handle their own spans and redirections.
            CommandForm::Simple { .. } | CommandForm::Function { .. } => {}
            CommandForm::Arithmetic(inner) => {
                self.computed(code.word(*inner));
                self.leaf(&["((".to_owned()], &[]);
            }
            CommandForm::ArithmeticFor { header, body } => {
                self.computed(code.word(*header));
                self.looped(|walk| walk.list(code, body));
            }
            CommandForm::Group(list) => self.list(code, list),
            CommandForm::Subshell(list) => self.subshell(code, list),
            CommandForm::For { name, words, body } => self.for_clause(code, *name, words.as_deref(), body),
            CommandForm::Case { subject, arms } => {
                self.single(code.word(*subject));
                for pattern in arms.iter().flat_map(|arm| &arm.patterns) {
                    self.reach(code.word(*pattern));
                }
                self.branched(code, arms.iter().map(|arm| &arm.body));
            }
            CommandForm::If(lists) => {
                let (first, rest) = lists.split_first().expect("an `if` has a condition");
                self.list(code, first);
                self.branched(code, rest.iter());
            }
            CommandForm::Loop { condition, body } => {
                let turn = |walk: &mut Evaluator| {
                    walk.list(code, condition);
                    walk.list(code, body);
                };
                if !self.over_input(turn) {
                    self.looped(turn);
                }
            }
            CommandForm::Test(terms) => {
                for term in terms {
                    self.test(code, term);
                }
                self.leaf(&["[[".to_owned()], &[]);
            }
            CommandForm::Coproc(body) => {
                let state = self.fork();
                self.statement(code, body);
                self.state = state;
            }
        }
    }

    pub(super) fn subshell(&mut self, code: &Rc<ParsedText>, list: &List) {
        let state = self.fork();
        self.list(code, list);
        self.state = state;
    }

    /// Walks alternative branches: each starts from the same state, and values that any branch changed are
    /// unknown afterwards.
    fn branched<'a>(&mut self, code: &Rc<ParsedText>, branches: impl Iterator<Item = &'a List>) {
        self.branches += 1;
        let before = self.fork();
        let mut after = before.clone();
        for branch in branches {
            self.list(code, branch);
            let mut ended = std::mem::replace(&mut self.state, before.clone());
            ended.blur(&before);
            ended.blur(&after);
            for (name, function) in after.functions {
                ended.functions.entry(name).or_insert(function);
            }
            for (name, alias) in after.aliases {
                ended.aliases.entry(name).or_insert(alias);
            }
            after = ended;
        }
        self.state = after;
        self.branches -= 1;
    }

    /// Walks `while read` once for each line of known input. Returns false if the loop may do more than that.
    fn over_input(&mut self, turn: impl Fn(&mut Evaluator)) -> bool {
        let known = |input: &StdinText| match input {
            StdinText::Text(text) if unknown::is_known(text) && text.lines().count() <= TURNS => {
                Some(text.len())
            }
            StdinText::Text(_) | StdinText::Inherited | StdinText::File(_) => None,
        };
        let Some(mut left) = known(&self.input).filter(|left| *left > 0) else { return false };
        self.branches += 1;
        let before = self.fork();
        let again = std::mem::replace(&mut self.repeats, true);
        let mut whole = true;
        while left > 0 {
            if self.is_thrifty() {
                whole = false;
                break;
            }
            turn(self);
            match known(&self.input) {
                Some(rest) if rest < left => left = rest,
                // The turn read nothing, so the loop does not consume its input.
                _ => {
                    whole = false;
                    break;
                }
            }
        }
        self.repeats = again;
        self.state.blur(&before);
        self.branches -= 1;
        whole
    }

    /// Walks a loop with any number of turns: a second turn starts from values that the first one may have
    /// changed.
    fn looped(&mut self, turn: impl Fn(&mut Evaluator)) {
        self.branches += 1;
        let is_thrifty = self.is_thrifty();
        if is_thrifty {
            // One turn, from a state in which all changed values are unknown.
            self.state.forget();
        }
        let before = self.fork();
        turn(self);
        if !is_thrifty && self.state.is_changed_from(&before) {
            self.state.blur(&before);
            let again = std::mem::replace(&mut self.repeats, true);
            let between = self.fork();
            turn(self);
            self.state.blur(&between);
            self.repeats = again;
        }
        self.branches -= 1;
    }

    fn for_clause(&mut self, code: &Rc<ParsedText>, name: Span, words: Option<&[Span]>, body: &List) {
        let values = match words {
            Some(words) => words.iter().flat_map(|word| self.fields(code.word(*word))).collect(),
            None => self.state.arguments.clone().unwrap_or_else(|| vec![unknown::MANY.to_string()]),
        };
        let name = code.word(name);
        let literal = values.len() <= TURNS && values.iter().all(|value| unknown::is_known(value));
        if !literal || values.is_empty() {
            self.state.set_hole(name);
            self.looped(|walk| {
                walk.state.set_hole(name);
                walk.list(code, body);
            });
            return;
        }
        self.branches += 1;
        let before = self.fork();
        let again = std::mem::replace(&mut self.repeats, true);
        for value in values {
            if self.is_thrifty() {
                self.looped(|walk| {
                    walk.state.set_hole(name);
                    walk.list(code, body);
                });
                break;
            }
            self.state.set(name, value);
            self.list(code, body);
        }
        self.repeats = again;
        self.state.blur(&before);
        self.branches -= 1;
    }

    fn test(&mut self, code: &ParsedText, term: &TestTerm) {
        match *term {
            TestTerm::Word(word) => self.reach(code.word(word)),
            TestTerm::Unary(operator, word) if matches!(code.word(operator), "-v" | "-R") => {
                let name = self.single(code.word(word));
                self.reference(&name);
            }
            TestTerm::Unary(_, word) => self.reach(code.word(word)),
            TestTerm::Binary(left, operator, right) => {
                let compares = matches!(code.word(operator), "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge");
                for word in [left, right] {
                    if compares {
                        self.compared(code.word(word));
                    } else {
                        self.reach(code.word(word));
                    }
                }
            }
        }
    }

    /// Walks the body of a function with its arguments. A recursive call is not walked again.
    pub(crate) fn function(&mut self, name: &str, arguments: Vec<String>) {
        let Some(function) = self.state.functions.get(name).cloned() else { return };
        if self.running.iter().any(|body| Rc::ptr_eq(body, &function.body)) {
            return;
        }
        if self.texts >= TEXTS {
            self.doubt(DoubtKind::Limit, "functions nested too deep");
            return;
        }
        if !self.may_walk(function.code.word(function.body.span)) {
            return;
        }
        self.running.push(Rc::clone(&function.body));
        self.via.push(Carrier::Function(name.to_owned()));
        let outer = self.state.arguments.replace(arguments);
        let repeats = std::mem::replace(&mut self.repeats, true);
        self.texts += 1;
        let span = self.span;
        let Function { code, body } = &function;
        self.with_redirects(code, &body.redirects, |walk| {
            if walk.level < LEVELS {
                walk.level += 1;
                walk.compound(code, &body.form);
                walk.level -= 1;
            } else {
                walk.doubt(DoubtKind::Limit, "functions nested too deep");
            }
        });
        self.span = span;
        self.texts -= 1;
        self.repeats = repeats;
        self.state.arguments = outer;
        self.via.pop();
        self.running.pop();
    }
}
