//! What is wrong with a plan: where, by which rule, in a sentence, and how it is mended. All of it is told at once.

use std::fmt;

use serde::Serialize;

use sprag_base::document::Position;
use sprag_base::text::{Text, one_line};

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanProblem {
    pub at: Position,
    pub code: ProblemCode,
    pub what: Text<400>,
    pub fix: Text<300>,
}

/// Whether a plan may run in spite of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Error,
    Warning,
}

/// Problems that are kept; the others are counted.
const MOST: usize = 300;

/// A problem in the place where values are read, before anybody knows where they stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueProblem {
    pub code: ProblemCode,
    pub what: String,
    pub fix: String,
}

impl ValueProblem {
    pub fn value(what: impl Into<String>, fix: impl Into<String>) -> ValueProblem {
        ValueProblem { code: ProblemCode::BadValue, what: what.into(), fix: fix.into() }
    }
}

/// The one list of rules, each with its name, its weight and what it is about.
macro_rules! codes {
    ($($code:ident $name:literal $weight:ident $about:literal,)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum ProblemCode { $($code),+ }

        impl ProblemCode {
            pub const ALL: &[ProblemCode] = &[$(ProblemCode::$code),+];

            pub fn name(self) -> &'static str {
                match self { $(ProblemCode::$code => $name),+ }
            }

            pub fn weight(self) -> Severity {
                match self { $(ProblemCode::$code => Severity::$weight),+ }
            }

            pub fn about(self) -> &'static str {
                match self { $(ProblemCode::$code => $about),+ }
            }
        }
    };
}

codes! {
    NotText "not-text" Error "the file is no UTF-8",
    TooLong "too-long" Error "a file of more than 1 MB, a text or list longer than it may be",
    NoFence "no-fence" Error "there is no fence ```` ```yaml sprag ````",
    SecondFence "second-fence" Error "there is more than one",
    OpenFence "open-fence" Error "it is never closed",
    Yaml "yaml" Error "what is in it is no YAML; aliases, tags and names that stand twice are refused",
    UnknownField "unknown-field" Error "a field that nobody knows",
    MissingField "missing-field" Error "a field that has to be there",
    WrongType "wrong-type" Error "a list where a text belongs, and the like",
    BadValue "bad-value" Error "a value that the field does not take",
    BadId "bad-id" Error "an id is of the form `[a-z0-9][a-z0-9-]{0,62}`",
    Twice "twice" Error "an id, dependency or task that stands twice, or belongs to another active plan",
    UnknownDependency "unknown-dependency" Error "a stage that is not in the plan",
    Cycle "cycle" Error "stages that wait for each other, told as the way around",
    Traversal "traversal" Error "a path or pattern that leads out of the worktree",
    BadPattern "bad-pattern" Error "a pattern that cannot be read",
    WeakPattern "weak-pattern" Error "a pattern that fits the empty text, and so proves nothing",
    UncheckedStage "unchecked-stage" Error "a stage whose result nothing looks at",
    GroupMax "group-max" Error "two stages give one group different bounds",
    LooserSandbox "looser-sandbox" Error "a stage is confined less than its plan",
    UnknownIntent "unknown-intent" Error "an intent that the repository does not have",
    UnreadIntents "unread-intents" Error "the files of intents cannot be read, so the scope is not known",
    Contradiction "contradiction" Error "two fields that cannot both be met",
    Overlap "overlap" Warning "two stages may change the same file, and neither waits for the other",
    NoScope "no-scope" Warning "a stage without `intents` and `files`: whatever it changes is in scope",
    NotCompared "not-compared" Warning "more scopes to compare, or more that overlap, than are told",
}

impl PlanProblem {
    pub fn new(at: Position, code: ProblemCode, what: impl AsRef<str>, fix: impl AsRef<str>) -> PlanProblem {
        let (what, fix) = (Text::new(one_line(what.as_ref())), Text::new(one_line(fix.as_ref())));
        PlanProblem { at, code, what, fix }
    }

    pub fn weight(&self) -> Severity {
        self.code.weight()
    }

    /// As it is printed: `file:line:col code sentence, fix`.
    pub fn to_line(&self, file: &str) -> String {
        format!("{file}:{}:{} {self}", self.at.line, self.at.column)
    }
}

impl fmt::Display for PlanProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}, {}", self.code.name(), self.what, self.fix)
    }
}

/// All that was found so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    found: Vec<PlanProblem>,
    more: usize,
    errors: usize,
    warnings: usize,
}

impl Problems {
    pub fn say(&mut self, at: Position, code: ProblemCode, what: impl AsRef<str>, fix: impl AsRef<str>) {
        // Errors are not lost behind warnings: each has a room of its own.
        let count = match code.weight() {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        *count += 1;
        if *count > MOST {
            self.more += 1;
            return;
        }
        self.found.push(PlanProblem::new(at, code, what, fix));
    }

    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// In the order of the file.
    pub fn sorted(mut self) -> ProblemList {
        self.found.sort_by_key(|problem| (problem.at, problem.code));
        ProblemList { problems: self.found, more: self.more }
    }
}

/// What was found, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProblemList {
    pub problems: Vec<PlanProblem>,
    /// How many are not listed.
    pub more: usize,
}

/// The known name that was probably meant, if one is near enough.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // What is longer than any name is near none of them.
    let name = name.get(..100).unwrap_or(name).to_ascii_lowercase();
    let near =
        known.into_iter().map(|known| (strsim::osa_distance(&name, &known.to_ascii_lowercase()), known));
    let (far, known) = near.min_by_key(|(far, _)| *far)?;
    let letters = name.chars().count().max(known.chars().count());
    (far * 3 <= letters).then_some(known)
}

/// The end of a sentence about a name nobody knows.
pub fn did_you_mean(name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "there are none".to_owned(),
        None => {
            let shown: Vec<String> = known.iter().take(12).map(|known| format!("`{known}`")).collect();
            let rest = if known.len() > 12 { ", ..." } else { "" };
            format!("there are {}{rest}", shown.join(", "))
        }
    }
}
