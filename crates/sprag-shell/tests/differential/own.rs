//! The tree of Sprag's parser as a flat list.

use crate::parse;
use crate::parse::ast::{
    AssignedValue, Assignment, CommandForm, CommandNode, Descriptor, List, ParsedText, ProcessDirection,
    Redirect, RedirectKind, RedirectTarget, Span, TestTerm, WordNode,
};

/// Returns `None` if the text is not valid shell code.
pub(crate) fn flat(text: &str) -> Option<Vec<String>> {
    let (parsed, fault) = parse::read(text, 40);
    if fault.is_some() {
        return None;
    }
    let mut out = Vec::new();
    list(&parsed, &parsed.list, &mut out);
    Some(out)
}

/// Removes line continuations, which are not part of a word.
pub(crate) fn joined(word: &str) -> String {
    word.replace("\\\n", "")
}

fn word(code: &ParsedText, span: Span) -> String {
    joined(code.word(span))
}

fn list(code: &ParsedText, list: &List, out: &mut Vec<String>) {
    for (and_or, _) in &list.items {
        let rest = and_or.rest.iter().map(|(_, pipeline)| pipeline);
        for pipeline in Some(&and_or.first).into_iter().chain(rest) {
            for node in &pipeline.commands {
                command(code, node, out);
            }
        }
    }
}

fn command(code: &ParsedText, node: &CommandNode, out: &mut Vec<String>) {
    match &node.form {
        CommandForm::Simple { assignments, words } => {
            out.push("simple".to_owned());
            for assignment in assignments {
                out.push(assigned(code, assignment));
            }
            for node in words {
                match node {
                    WordNode::Plain(span) => out.push(format!("word {}", squeezed(&word(code, *span)))),
                    WordNode::Assignment(assignment, span) => {
                        let raw = word(code, *span);
                        assert!(raw.starts_with(&word(code, assignment.name)), "{raw}");
                        out.push(format!("word {}", squeezed(&raw)));
                    }
                    WordNode::Process(direction, inner) => process(code, *direction, inner, out),
                }
            }
        }
        CommandForm::Group(inner) | CommandForm::Subshell(inner) => list(code, inner, out),
        CommandForm::If(lists) => lists.iter().for_each(|inner| list(code, inner, out)),
        CommandForm::Loop { condition, body } => {
            list(code, condition, out);
            list(code, body, out);
        }
        CommandForm::For { name, words, body } => {
            out.push(format!("for {}", word(code, *name)));
            out.extend(words.iter().flatten().map(|span| format!("word {}", word(code, *span))));
            list(code, body, out);
        }
        CommandForm::ArithmeticFor { header, body } => {
            out.push(format!("for (({}))", without_blanks(&word(code, *header))));
            list(code, body, out);
        }
        CommandForm::Case { subject, arms } => {
            out.push(format!("case {}", word(code, *subject)));
            for arm in arms {
                out.extend(arm.patterns.iter().map(|pattern| format!("pattern {}", word(code, *pattern))));
                list(code, &arm.body, out);
            }
        }
        CommandForm::Test(terms) => out.extend(terms.iter().map(|term| match *term {
            TestTerm::Word(operand) => format!("test -n {}", word(code, operand)),
            TestTerm::Unary(operator, operand) => {
                format!("test {} {}", word(code, operator), word(code, operand))
            }
            TestTerm::Binary(left, operator, right) => {
                let operator = word(code, operator);
                let operator = if operator == "=" { "==" } else { &operator };
                format!("test {} {operator} {}", word(code, left), word(code, right))
            }
        })),
        CommandForm::Arithmetic(inner) => out.push(format!("(({}))", without_blanks(&word(code, *inner)))),
        CommandForm::Function { name, body } => {
            out.push(format!("function {}", word(code, *name)));
            command(code, body, out);
        }
        CommandForm::Coproc(body) => command(code, body, out),
    }
    for redirect in &node.redirects {
        redirected(code, redirect, out);
    }
}

/// Removes blanks from arrays, whose raw text brush keeps in another form.
pub(crate) fn squeezed(word: &str) -> String {
    if word.contains("=(") { without_blanks(word) } else { word.to_owned() }
}

pub(crate) fn without_blanks(text: &str) -> String {
    text.split_whitespace().collect()
}

fn assigned(code: &ParsedText, assignment: &Assignment) -> String {
    let name = word(code, assignment.name);
    let index = assignment.index.map(|index| format!("[{}]", word(code, index))).unwrap_or_default();
    let append = if assignment.is_append { "+" } else { "" };
    let value = match &assignment.value {
        AssignedValue::Scalar(value) => word(code, *value),
        AssignedValue::Array(elements) => {
            let elements = elements.iter().map(|(key, value)| match key {
                Some(key) => format!("[{}]={}", word(code, *key), word(code, *value)),
                None => word(code, *value),
            });
            format!("({})", elements.collect::<Vec<_>>().join(" "))
        }
    };
    format!("assign {name}{index}{append}={value}")
}

fn process(code: &ParsedText, direction: ProcessDirection, inner: &List, out: &mut Vec<String>) {
    out.push(if direction == ProcessDirection::Read { "<(" } else { ">(" }.to_owned());
    list(code, inner, out);
    out.push(")".to_owned());
}

fn redirected(code: &ParsedText, redirect: &Redirect, out: &mut Vec<String>) {
    let descriptor = match redirect.descriptor {
        Descriptor::Default => String::new(),
        Descriptor::Number(number) => number.to_string(),
        Descriptor::Named(name) => format!("{{{}}}", word(code, name)),
    };
    let operator = match redirect.kind {
        RedirectKind::Read => "<",
        RedirectKind::Write => ">",
        RedirectKind::Append => ">>",
        RedirectKind::Clobber => ">|",
        RedirectKind::ReadWrite => "<>",
        RedirectKind::DuplicateInput => "<&",
        RedirectKind::DuplicateOutput => ">&",
        RedirectKind::Both => "&>",
        RedirectKind::BothAppend => "&>>",
        RedirectKind::HereString => "<<<",
        RedirectKind::Heredoc => "<<",
    };
    match &redirect.target {
        RedirectTarget::Word(target) => out.push(format!("{descriptor}{operator} {}", word(code, *target))),
        RedirectTarget::Process(direction, inner) => {
            out.push(format!("{descriptor}{operator}"));
            process(code, *direction, inner, out);
        }
        RedirectTarget::Heredoc(index) => {
            let heredoc = &code.heredocs[*index];
            let literal = if heredoc.is_literal { "'" } else { "" };
            out.push(format!("{descriptor}<<{literal} {}", without_tabs(code.word(heredoc.body))));
        }
    }
}

pub(crate) fn without_tabs(body: &str) -> String {
    body.split('\n').map(|line| line.trim_start_matches('\t')).collect::<Vec<_>>().join("\n")
}
