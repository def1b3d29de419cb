//! Statements: lists, pipes, branches, loops, functions. Conditions are not evaluated; what a branch
//! or a loop may have changed is unknown behind it.

use std::rc::Rc;

use brush_parser::ast::{self, CompoundCommand as Compound};

use super::state::Function;
use super::{Evaluator, LEVELS, StdinText, TEXTS, TURNS};
use crate::expand::unknown;
use crate::{Carrier, DoubtKind};

impl Evaluator {
    pub(super) fn list(&mut self, list: &ast::CompoundList) {
        for ast::CompoundListItem(and_or, separator) in &list.0 {
            match separator {
                ast::SeparatorOperator::Sequence => self.and_or(and_or),
                // In the background it runs in a shell of its own.
                ast::SeparatorOperator::Async => {
                    let state = self.fork();
                    self.pipes += 1;
                    self.and_or(and_or);
                    self.pipes -= 1;
                    self.state = state;
                }
            }
        }
    }

    fn and_or(&mut self, list: &ast::AndOrList) {
        self.pipeline(&list.first);
        if list.additional.is_empty() {
            return;
        }
        let before = self.fork();
        // `a && b` prints what both print if it runs; a text built that way is worth reading, so
        // only `||` makes it vague.
        for next in &list.additional {
            match next {
                ast::AndOr::And(pipeline) => self.pipeline(pipeline),
                ast::AndOr::Or(pipeline) => {
                    self.branches += 1;
                    let state = self.fork();
                    self.pipeline(pipeline);
                    self.state.blur(&state);
                    self.branches -= 1;
                }
            }
        }
        self.state.blur(&before);
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline) {
        let last = pipeline.seq.len().saturating_sub(1);
        if last == 0 {
            if let Some(command) = pipeline.seq.first() {
                self.statement(command);
            }
            return;
        }
        let input = self.input.clone();
        self.pipes += 1;
        for (at, command) in pipeline.seq.iter().enumerate() {
            // Each part runs in a shell of its own.
            let state = self.fork();
            if at == last {
                self.statement(command);
            } else {
                let output = self.captured(|walk| walk.statement(command));
                self.input = StdinText::Text(output.text);
            }
            self.state = state;
        }
        self.pipes -= 1;
        self.input = input;
    }

    fn statement(&mut self, command: &ast::Command) {
        if self.level >= LEVELS || !self.step() {
            self.doubt(DoubtKind::Limit, "statements nested too deep");
            return;
        }
        self.level += 1;
        match command {
            ast::Command::Simple(simple) => {
                self.locate(ast::SourceLocation::location(simple));
                self.simple(simple);
            }
            ast::Command::Compound(compound, redirects) => {
                self.redirected(redirects.as_ref(), |walk| walk.compound(compound));
            }
            ast::Command::Function(function) => {
                let span = ast::SourceLocation::location(&function.body);
                self.count(span.map_or(0, |span| span.end.index.saturating_sub(span.start.index)) / 16);
                let body = Function { body: Rc::new(function.body.clone()) };
                let name = function.fname.value.clone();
                // It is called for every name that is no command.
                let called =
                    matches!(name.as_str(), "command_not_found_handle" | "command_not_found_handler");
                self.state.functions.insert(name.clone(), body);
                if called {
                    self.function(&name, vec![unknown::MANY.to_string()]);
                }
            }
            ast::Command::ExtendedTest(test, redirects) => {
                self.redirected(redirects.as_ref(), |walk| walk.test(&test.expr));
                self.leaf(&["[[".to_owned()], &[]);
            }
        }
        self.level -= 1;
    }

    pub(super) fn compound(&mut self, compound: &ast::CompoundCommand) {
        match compound {
            Compound::Arithmetic(inner) => {
                self.computed(&inner.expr.value);
                self.leaf(&["((".to_owned()], &[]);
            }
            Compound::ArithmeticForClause(inner) => {
                for part in [&inner.initializer, &inner.condition, &inner.updater].into_iter().flatten() {
                    self.computed(&part.value);
                }
                self.looped(|walk| walk.list(&inner.body.list));
            }
            Compound::BraceGroup(inner) => self.list(&inner.list),
            Compound::Subshell(inner) => self.subshell(&inner.list),
            Compound::ForClause(inner) => self.for_clause(inner),
            Compound::CaseClause(inner) => {
                self.single(&inner.value.value);
                for case in &inner.cases {
                    for pattern in &case.patterns {
                        self.reach(&pattern.value);
                    }
                }
                self.branched(inner.cases.iter().filter_map(|case| case.cmd.as_ref()));
            }
            Compound::IfClause(inner) => {
                self.list(&inner.condition);
                let elses = inner.elses.iter().flatten();
                let elses = elses.flat_map(|other| other.condition.iter().chain(Some(&other.body)));
                self.branched(Some(&inner.then).into_iter().chain(elses));
            }
            Compound::WhileClause(inner) | Compound::UntilClause(inner) => {
                let turn = |walk: &mut Evaluator| {
                    walk.list(&inner.0);
                    walk.list(&inner.1.list);
                };
                if !self.over_input(turn) {
                    self.looped(turn);
                }
            }
            Compound::Coprocess(inner) => {
                let state = self.fork();
                self.statement(&inner.body);
                self.state = state;
            }
        }
    }

    pub(super) fn subshell(&mut self, list: &ast::CompoundList) {
        let state = self.fork();
        self.list(list);
        self.state = state;
    }

    /// Any of these may run: each starts from the same state, and what any of them changed is
    /// unknown afterwards.
    fn branched<'a>(&mut self, branches: impl Iterator<Item = &'a ast::CompoundList>) {
        self.branches += 1;
        let before = self.fork();
        let mut after = before.clone();
        for branch in branches {
            self.list(branch);
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

    /// `while read`: one turn for each line of known input. False if that is not all there is to it.
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
            turn(self);
            match known(&self.input) {
                Some(rest) if rest < left => left = rest,
                // Nothing was read: the turns are of another kind.
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

    /// Any number of turns: a second one starts from what the first one may have changed.
    fn looped(&mut self, turn: impl Fn(&mut Evaluator)) {
        self.branches += 1;
        let before = self.fork();
        turn(self);
        if self.state.is_changed_from(&before) {
            self.state.blur(&before);
            let again = std::mem::replace(&mut self.repeats, true);
            let between = self.fork();
            turn(self);
            self.state.blur(&between);
            self.repeats = again;
        }
        self.branches -= 1;
    }

    fn for_clause(&mut self, clause: &ast::ForClauseCommand) {
        let values = match &clause.values {
            Some(words) => words.iter().flat_map(|word| self.fields(&word.value)).collect(),
            None => self.state.arguments.clone().unwrap_or_else(|| vec![unknown::MANY.to_string()]),
        };
        let name = clause.variable_name.as_str();
        let literal = values.len() <= TURNS && values.iter().all(|value| unknown::is_known(value));
        if !literal || values.is_empty() {
            let list = &clause.body.list;
            self.state.set_hole(name);
            self.looped(|walk| {
                walk.state.set_hole(name);
                walk.list(list);
            });
            return;
        }
        self.branches += 1;
        let before = self.fork();
        let again = std::mem::replace(&mut self.repeats, true);
        for value in values {
            self.state.set(name, value);
            self.list(&clause.body.list);
        }
        self.repeats = again;
        self.state.blur(&before);
        self.branches -= 1;
    }

    fn test(&mut self, test: &ast::ExtendedTestExpr) {
        use ast::ExtendedTestExpr as Test;
        match test {
            Test::And(left, right) | Test::Or(left, right) => {
                self.test(left);
                self.test(right);
            }
            Test::Not(inner) | Test::Parenthesized(inner) => self.test(inner),
            Test::UnaryTest(
                ast::UnaryPredicate::ShellVariableIsSetAndAssigned
                | ast::UnaryPredicate::ShellVariableIsSetAndNameRef,
                word,
            ) => {
                let name = self.single(&word.value);
                self.reference(&name);
            }
            Test::UnaryTest(_, word) => self.reach(&word.value),
            Test::BinaryTest(
                ast::BinaryPredicate::ArithmeticEqualTo
                | ast::BinaryPredicate::ArithmeticNotEqualTo
                | ast::BinaryPredicate::ArithmeticLessThan
                | ast::BinaryPredicate::ArithmeticLessThanOrEqualTo
                | ast::BinaryPredicate::ArithmeticGreaterThan
                | ast::BinaryPredicate::ArithmeticGreaterThanOrEqualTo,
                left,
                right,
            ) => {
                self.compared(&left.value);
                self.compared(&right.value);
            }
            Test::BinaryTest(_, left, right) => {
                self.reach(&left.value);
                self.reach(&right.value);
            }
        }
    }

    /// A call of a function: its body with the arguments bound. A call within a call of the same
    /// function is only told, not followed.
    pub(crate) fn function(&mut self, name: &str, arguments: Vec<String>) {
        let Some(function) = self.state.functions.get(name).cloned() else { return };
        if self.running.iter().any(|body| Rc::ptr_eq(body, &function.body)) {
            return;
        }
        if self.texts >= TEXTS {
            self.doubt(DoubtKind::Limit, "functions nested too deep");
            return;
        }
        self.running.push(Rc::clone(&function.body));
        self.via.push(Carrier::Function(name.to_owned()));
        let outer = self.state.arguments.replace(arguments);
        let repeats = std::mem::replace(&mut self.repeats, true);
        self.texts += 1;
        let ast::FunctionBody(body, redirects) = &*function.body;
        let span = self.span;
        self.redirected(redirects.as_ref(), |walk| {
            if walk.level < LEVELS {
                walk.level += 1;
                walk.compound(body);
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
