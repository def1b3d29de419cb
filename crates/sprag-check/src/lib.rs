//! Checks that Sprag runs before it accepts that work is done: their settings, their depth and their
//! results.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use sprag_base::digest::Digest;
use sprag_base::redact;
use sprag_base::text::{Text, plain, quoted};

pub use risk::{Risk, escalate};

mod risk;

/// Characters kept of the output of a check: the end of the output names the failure.
pub const TAIL: usize = 1500;
const NAME: usize = 64;
const COMMAND: usize = 4000;
const LONGEST_SECONDS: u32 = 3600;

/// One `[[completion.check]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "CheckFields", into = "CheckFields")]
pub struct CompletionCheck {
    pub name: Text<NAME>,
    /// The command for `sh -c`, run in the worktree. It is never shortened: half a command is another
    /// command.
    pub command: String,
    /// The least thorough profile that includes this check.
    pub profile: Profile,
    /// In seconds.
    pub timeout: u32,
    pub mandatory: bool,
}

/// Depth of checking, from cheap to thorough: each profile includes the checks of those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    Quick,
    #[default]
    Standard,
    Deep,
}

sprag_base::names! { pub fn name(Profile): Quick = "quick", Standard = "standard", Deep = "deep" }

impl Profile {
    /// Returns the next more thorough profile; `Deep` stays `Deep`.
    #[must_use]
    pub fn deeper(self) -> Profile {
        match self {
            Profile::Quick => Profile::Standard,
            Profile::Standard | Profile::Deep => Profile::Deep,
        }
    }
}

/// Fields of a check in a configuration file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckFields {
    name: String,
    command: String,
    #[serde(default)]
    profile: Profile,
    #[serde(default = "usual_timeout")]
    timeout: u32,
    #[serde(default = "usually_mandatory")]
    mandatory: bool,
}

fn usual_timeout() -> u32 {
    300
}

fn usually_mandatory() -> bool {
    true
}

impl From<CompletionCheck> for CheckFields {
    fn from(check: CompletionCheck) -> CheckFields {
        let CompletionCheck { name, command, profile, timeout, mandatory } = check;
        CheckFields { name: name.to_string(), command, profile, timeout, mandatory }
    }
}

impl TryFrom<CheckFields> for CompletionCheck {
    type Error = String;

    fn try_from(written: CheckFields) -> Result<CompletionCheck, String> {
        let CheckFields { name, command, profile, timeout, mandatory } = written;
        let shown = quoted(Text::<NAME>::from(name.as_str()).as_str());
        if name.trim().is_empty() || quoted(&name) != name || name.chars().count() > NAME {
            return Err(format!(
                "`name` is `{shown}`: give one line of 1 to {NAME} characters without backticks"
            ));
        }
        if command.trim().is_empty() || command.contains('\0') || command.chars().count() > COMMAND {
            return Err(format!("`command` of check `{shown}` is not a text of 1 to {COMMAND} characters"));
        }
        if !(1..=LONGEST_SECONDS).contains(&timeout) {
            return Err(format!(
                "`timeout` of check `{shown}` is `{timeout}`: give 1 to {LONGEST_SECONDS} seconds"
            ));
        }
        Ok(CompletionCheck { name: Text::new(name), command, profile, timeout, mandatory })
    }
}

impl CompletionCheck {
    /// Returns the digest of everything that a result depends on besides the tree.
    pub fn digest(&self) -> Digest {
        Digest::hash_parts([self.name.as_str(), &self.command, self.profile.name()])
    }
}

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    Passed,
    /// Without a code the check was killed.
    Failed {
        code: Option<i32>,
        tail: Text<TAIL>,
    },
    TimedOut {
        seconds: u32,
        tail: Text<TAIL>,
    },
    /// The tree changed while the check ran, so its result is about neither tree.
    ChangedTree {
        left: Text<64>,
        code: Option<i32>,
        tail: Text<TAIL>,
    },
    Unrunnable {
        why: Text<200>,
    },
}

impl CheckOutcome {
    /// Reports whether the same tree would give the same result again. A killed check may only show that
    /// the machine was busy.
    pub fn is_lasting(&self) -> bool {
        match self {
            CheckOutcome::Passed | CheckOutcome::Failed { code: Some(_), .. } => true,
            CheckOutcome::Failed { code: None, .. }
            | CheckOutcome::TimedOut { .. }
            | CheckOutcome::ChangedTree { .. }
            | CheckOutcome::Unrunnable { .. } => false,
        }
    }

    /// Returns the end of the output.
    pub fn tail(&self) -> &str {
        match self {
            CheckOutcome::Passed | CheckOutcome::Unrunnable { .. } => "",
            CheckOutcome::Failed { tail, .. }
            | CheckOutcome::TimedOut { tail, .. }
            | CheckOutcome::ChangedTree { tail, .. } => tail.as_str(),
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            CheckOutcome::Passed => "passed",
            CheckOutcome::Failed { .. } => "failed",
            CheckOutcome::TimedOut { .. } => "timed_out",
            CheckOutcome::ChangedTree { .. } => "changed_tree",
            CheckOutcome::Unrunnable { .. } => "unrunnable",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRan {
    pub check: Text<NAME>,
    pub mandatory: bool,
    pub outcome: CheckOutcome,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Results {
    pub profile: Profile,
    /// The tree before the first check, if it is known.
    pub tree: Option<Text<64>>,
    pub ran: Vec<CheckRan>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    Passed,
    Failed,
    /// No check was run.
    Skipped,
}

impl Results {
    pub fn status(&self) -> CheckStatus {
        let fails = |ran: &CheckRan| ran.mandatory && ran.outcome != CheckOutcome::Passed;
        match self.ran.as_slice() {
            [] => CheckStatus::Skipped,
            ran if ran.iter().any(fails) => CheckStatus::Failed,
            _ => CheckStatus::Passed,
        }
    }

    /// Returns the results as JSON: `{status, checks, issues, next_steps}`.
    pub fn report(&self) -> Value {
        let unmet = || self.ran.iter().filter(|ran| ran.outcome != CheckOutcome::Passed);
        json!({
            "status": self.status(),
            "checks": self.ran.iter().map(CheckRan::report).collect::<Vec<_>>(),
            "issues": unmet().map(CheckRan::issue).collect::<Vec<_>>(),
            "next_steps": unmet().map(CheckRan::next_step).collect::<Vec<_>>(),
        })
    }
}

impl CheckRan {
    fn report(&self) -> Value {
        let mut members = Map::new();
        let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
        put("name", json!(self.check));
        put("status", json!(self.outcome.name()));
        put("mandatory", json!(self.mandatory));
        match &self.outcome {
            CheckOutcome::Passed => {}
            CheckOutcome::Failed { code, tail } => {
                put("code", json!(code));
                put("tail", json!(tail));
            }
            CheckOutcome::TimedOut { seconds, tail } => {
                put("seconds", json!(seconds));
                put("tail", json!(tail));
            }
            CheckOutcome::ChangedTree { left, code, tail } => {
                put("left", json!(left));
                put("code", json!(code));
                put("tail", json!(tail));
            }
            CheckOutcome::Unrunnable { why } => {
                put("why", json!(why));
            }
        }
        Value::Object(members)
    }

    /// Describes the result in a sentence.
    pub fn issue(&self) -> String {
        let ended = |code: &Option<i32>| match code {
            Some(code) => format!("exit code {code}"),
            None => "killed".to_owned(),
        };
        let name = quoted(self.check.as_str());
        let what = match &self.outcome {
            CheckOutcome::Passed => format!("check `{name}` passed"),
            CheckOutcome::Failed { code, .. } => format!("check `{name}` failed: {}", ended(code)),
            CheckOutcome::TimedOut { seconds, .. } => {
                format!("check `{name}` had no result after {seconds} s")
            }
            CheckOutcome::ChangedTree { left, code, .. } => {
                let left = quoted(left.as_str());
                format!("the tree changed to `{left}` while check `{name}` ran: {}", ended(code))
            }
            CheckOutcome::Unrunnable { why } => {
                format!("cannot run check `{name}`: {}", quoted(why.as_str()))
            }
        };
        if self.mandatory { what } else { format!("{what} (not mandatory)") }
    }

    fn next_step(&self) -> String {
        let name = quoted(self.check.as_str());
        match &self.outcome {
            CheckOutcome::Passed => format!("nothing to do for `{name}`"),
            CheckOutcome::Failed { .. } => format!("fix the failures that `{name}` reports, then stop again"),
            CheckOutcome::TimedOut { .. } => format!("make `{name}` faster, or raise its `timeout`"),
            CheckOutcome::ChangedTree { .. } => {
                format!("inspect the changes that `{name}` made, keep or undo them, then stop again")
            }
            CheckOutcome::Unrunnable { .. } => {
                format!("make sure that `{name}` can run here, then stop again")
            }
        }
    }
}

/// Returns the end of an output, without secrets and control characters.
pub fn tail(output: &[u8]) -> Text<TAIL> {
    let text = plain(&uncoloured(&String::from_utf8_lossy(output)));
    // Secrets are removed before the cut: half a secret is not recognised.
    let text = redact::text(text.trim()).into_inner();
    let from = text.char_indices().rev().nth(TAIL - 1).map_or(0, |(at, _)| at);
    if from == 0 {
        return Text::from(&*text);
    }
    let kept: String = text[from..].chars().skip(1).collect();
    Text::new(format!("…{kept}"))
}

/// Removes the sequences that set the colours of a terminal.
fn uncoloured(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| matches!(c, '0'..='9' | ';' | ':' | '?'));
        let end = rest.chars().next().filter(char::is_ascii_alphabetic).map_or(0, char::len_utf8);
        out.push_str(&rest[end..]);
    }
    out
}

#[cfg(test)]
mod tests;
