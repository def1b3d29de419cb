//! Problems of a plan: the place, the rule, a sentence and the fix. All problems are reported at once.

use std::fmt;

use serde::Serialize;

use sprag_base::document::Position;
use sprag_base::text::{Text, one_line, quoted_list};

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanProblem {
    pub at: Position,
    pub code: ProblemCode,
    pub what: Text<400>,
    pub fix: Text<300>,
}

/// Whether a plan may run with the problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Error,
    Warning,
}

/// Problems that are listed; the others are counted.
const MOST: usize = 300;

/// A problem of a value before its place is known.
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

/// Defines the list of rules, each with its name, its severity and its description.
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
    NotText "not-text" Error "the file is not UTF-8",
    TooLong "too-long" Error "a file of more than 1 MB, or a text or list over its limit",
    NoFence "no-fence" Error "the fence ```` ```yaml sprag ```` is missing",
    SecondFence "second-fence" Error "there is more than one fence",
    OpenFence "open-fence" Error "the fence is never closed",
    Yaml "yaml" Error "the fence does not contain valid YAML; aliases, tags and duplicate names are refused",
    UnknownField "unknown-field" Error "an unknown field",
    MissingField "missing-field" Error "a required field is missing",
    WrongType "wrong-type" Error "a value of the wrong type, such as a list in place of a text",
    BadValue "bad-value" Error "a value that the field does not accept",
    BadId "bad-id" Error "an id does not have the form `[a-z0-9][a-z0-9-]{0,62}`",
    Twice "twice" Error "a duplicate id, dependency or task, or an id of another active plan",
    UnknownDependency "unknown-dependency" Error "a dependency on a stage that is not in the plan",
    Cycle "cycle" Error "stages that wait for each other, with the cycle",
    Traversal "traversal" Error "a path or pattern that leads out of the worktree",
    BadPattern "bad-pattern" Error "an invalid pattern",
    WeakPattern "weak-pattern" Error "a pattern that matches the empty text, so it proves nothing",
    UncheckedStage "unchecked-stage" Error "a stage without checks of its result",
    GroupMax "group-max" Error "two stages give one group different limits",
    LooserSandbox "looser-sandbox" Error "a stage has a looser sandbox than its plan",
    UnknownIntent "unknown-intent" Error "an intent that the repository does not have",
    UnreadIntents "unread-intents" Error "the intent files cannot be read, so the scope is not known",
    Contradiction "contradiction" Error "two fields that contradict each other",
    Overlap "overlap" Warning "two stages may change the same file, and neither waits for the other",
    NoScope "no-scope" Warning "a stage without `intents` and `files`: every change is in scope",
    NotCompared "not-compared" Warning "too many scopes to compare, or too many overlaps to list",
}

impl PlanProblem {
    pub fn new(at: Position, code: ProblemCode, what: impl AsRef<str>, fix: impl AsRef<str>) -> PlanProblem {
        let (what, fix) = (Text::new(one_line(what.as_ref())), Text::new(one_line(fix.as_ref())));
        PlanProblem { at, code, what, fix }
    }

    pub fn weight(&self) -> Severity {
        self.code.weight()
    }

    /// Writes the problem as a line: `file:line:col code sentence, fix`.
    pub fn to_line(&self, file: &str) -> String {
        format!("{file}:{}:{} {self}", self.at.line, self.at.column)
    }
}

impl fmt::Display for PlanProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}, {}", self.code.name(), self.what, self.fix)
    }
}

/// All problems found so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    found: Vec<PlanProblem>,
    more: usize,
    errors: usize,
    warnings: usize,
}

impl Problems {
    pub fn say(&mut self, at: Position, code: ProblemCode, what: impl AsRef<str>, fix: impl AsRef<str>) {
        // Errors are not lost behind warnings: each severity has a separate limit.
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

    /// Returns the problems in the order of the file.
    pub fn sorted(mut self) -> ProblemList {
        self.found.sort_by_key(|problem| (problem.at, problem.code));
        ProblemList { problems: self.found, more: self.more }
    }
}

/// Problems in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProblemList {
    pub problems: Vec<PlanProblem>,
    /// Number of problems that are not listed.
    pub more: usize,
}

/// Returns the known name that was probably meant, if one is near enough.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A longer text is not near any name.
    let name = name.get(..100).unwrap_or(name).to_ascii_lowercase();
    let near =
        known.into_iter().map(|known| (strsim::osa_distance(&name, &known.to_ascii_lowercase()), known));
    let (far, known) = near.min_by_key(|(far, _)| *far)?;
    let letters = name.chars().count().max(known.chars().count());
    (far * 3 <= letters).then_some(known)
}

/// Writes the hint for an unknown name.
pub fn did_you_mean(name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "no names are known".to_owned(),
        None => {
            let rest = if known.len() > 12 { ", ..." } else { "" };
            format!("known names: {}{rest}", quoted_list(known.iter().take(12)))
        }
    }
}
