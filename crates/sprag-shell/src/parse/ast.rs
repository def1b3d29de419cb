//! The syntax tree of a shell text. Words stay raw ranges of the text; the expansion splits them.

use std::rc::Rc;

/// A byte range of the parsed text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Span {
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Span { start: place(start), end: place(end) }
    }

    pub(crate) fn of(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    pub(crate) fn len(self) -> usize {
        (self.end - self.start) as usize
    }
}

/// A text with its tree. Functions share it, because they outlive the text that defines them.
#[derive(Debug)]
pub(crate) struct ParsedText {
    pub(crate) text: Box<str>,
    pub(crate) list: List,
    pub(crate) heredocs: Vec<Heredoc>,
}

impl ParsedText {
    pub(crate) fn word(&self, word: Span) -> &str {
        word.of(&self.text)
    }
}

/// Commands in sequence.
#[derive(Debug, Default)]
pub(crate) struct List {
    pub(crate) items: Vec<(AndOr, Terminator)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Terminator {
    Sequence,
    Background,
}

#[derive(Debug)]
pub(crate) struct AndOr {
    pub(crate) first: Pipeline,
    pub(crate) rest: Vec<(Connector, Pipeline)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connector {
    And,
    Or,
}

/// Commands joined by `|`. A leading `!` or `time` makes no difference to the model.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) commands: Vec<CommandNode>,
}

#[derive(Debug)]
pub(crate) struct CommandNode {
    pub(crate) form: CommandForm,
    pub(crate) redirects: Vec<Redirect>,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) enum CommandForm {
    Simple {
        assignments: Vec<Assignment>,
        words: Vec<WordNode>,
    },
    Group(List),
    Subshell(List),
    /// Conditions and bodies in the order of the text.
    If(Vec<List>),
    Loop {
        condition: List,
        body: List,
    },
    /// `for` and `select`; without words they use the arguments.
    For {
        name: Span,
        words: Option<Vec<Span>>,
        body: List,
    },
    ArithmeticFor {
        header: Span,
        body: List,
    },
    Case {
        subject: Span,
        arms: Vec<CaseArm>,
    },
    Test(Vec<TestTerm>),
    Arithmetic(Span),
    Function {
        name: Span,
        body: Rc<CommandNode>,
    },
    Coproc(Box<CommandNode>),
}

#[derive(Debug)]
pub(crate) enum WordNode {
    Plain(Span),
    /// A word after the program name that has the form of an assignment.
    Assignment(Box<Assignment>, Span),
    Process(ProcessDirection, List),
}

/// `<( )` or `>( )`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessDirection {
    Read,
    Write,
}

#[derive(Debug)]
pub(crate) struct Assignment {
    pub(crate) name: Span,
    pub(crate) index: Option<Span>,
    pub(crate) is_append: bool,
    pub(crate) value: AssignedValue,
}

#[derive(Debug)]
pub(crate) enum AssignedValue {
    Scalar(Span),
    /// Words, with their keys if there are any.
    Array(Vec<(Option<Span>, Span)>),
}

#[derive(Debug)]
pub(crate) struct CaseArm {
    pub(crate) patterns: Vec<Span>,
    pub(crate) body: List,
}

/// One condition of `[[ ]]`.
#[derive(Debug)]
pub(crate) enum TestTerm {
    Word(Span),
    Unary(Span, Span),
    Binary(Span, Span, Span),
}

#[derive(Debug)]
pub(crate) struct Redirect {
    pub(crate) descriptor: Descriptor,
    pub(crate) kind: RedirectKind,
    pub(crate) target: RedirectTarget,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Descriptor {
    Default,
    Number(u32),
    /// `{name}`.
    Named(Span),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RedirectKind {
    Read,
    Write,
    Append,
    Clobber,
    ReadWrite,
    DuplicateInput,
    DuplicateOutput,
    /// `&>`.
    Both,
    /// `&>>`.
    BothAppend,
    HereString,
    Heredoc,
}

#[derive(Debug)]
pub(crate) enum RedirectTarget {
    Word(Span),
    Process(ProcessDirection, List),
    /// Index into the heredocs of the text.
    Heredoc(usize),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heredoc {
    pub(crate) body: Span,
    pub(crate) has_tabs_removed: bool,
    /// Whether a quoted delimiter prevents expansion of the body.
    pub(crate) is_literal: bool,
}
