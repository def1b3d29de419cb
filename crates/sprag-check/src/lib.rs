//! Checks that Sprag runs itself before it believes that work is done: which there are, how deep to
//! go, and what came of them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use sprag_base::digest::Digest;
use sprag_base::redact;
use sprag_base::text::{Text, plain, quoted};

pub use risk::{Risk, escalate};

mod risk;

/// Characters kept of what a check printed: its last words say what is wrong.
pub const TAIL: usize = 1500;
const NAME: usize = 64;
const COMMAND: usize = 4000;
const LONGEST_SECONDS: u32 = 3600;

/// One `[[completion.check]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Check {
    pub name: Text<NAME>,
    /// For `sh -c`, in the worktree. No `Text`: half a command is another one.
    pub command: String,
    /// The least thorough profile it belongs to.
    pub profile: Profile,
    /// In seconds.
    pub timeout: u32,
    pub mandatory: bool,
}

/// From cheap to thorough: each does what those before it do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    Quick,
    #[default]
    Standard,
    Deep,
}

impl Profile {
    pub fn name(self) -> &'static str {
        match self {
            Profile::Quick => "quick",
            Profile::Standard => "standard",
            Profile::Deep => "deep",
        }
    }

    /// The next one up; there is nothing above the last.
    #[must_use]
    pub fn deeper(self) -> Profile {
        match self {
            Profile::Quick => Profile::Standard,
            Profile::Standard | Profile::Deep => Profile::Deep,
        }
    }
}

/// A check as it stands in a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
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

impl From<Check> for Written {
    fn from(check: Check) -> Written {
        let Check { name, command, profile, timeout, mandatory } = check;
        Written { name: name.to_string(), command, profile, timeout, mandatory }
    }
}

impl TryFrom<Written> for Check {
    type Error = String;

    fn try_from(written: Written) -> Result<Check, String> {
        let Written { name, command, profile, timeout, mandatory } = written;
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
        Ok(Check { name: Text::new(name), command, profile, timeout, mandatory })
    }
}

impl Check {
    /// Of what a result depends on besides the tree.
    pub fn digest(&self) -> Digest {
        Digest::of([self.name.as_str(), &self.command, self.profile.name()])
    }
}

/// What came of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Passed,
    /// Without a code it was killed.
    Failed {
        code: Option<i32>,
        tail: Text<TAIL>,
    },
    TimedOut {
        seconds: u32,
        tail: Text<TAIL>,
    },
    /// The tree was another one after it than before, so that whatever it says is about neither.
    ChangedTree {
        left: Text<64>,
        code: Option<i32>,
        tail: Text<TAIL>,
    },
    Unrunnable {
        why: Text<200>,
    },
}

impl Outcome {
    /// Whether the same tree would give it again. A killed check says as much about the machine.
    pub fn is_lasting(&self) -> bool {
        match self {
            Outcome::Passed | Outcome::Failed { code: Some(_), .. } => true,
            Outcome::Failed { code: None, .. }
            | Outcome::TimedOut { .. }
            | Outcome::ChangedTree { .. }
            | Outcome::Unrunnable { .. } => false,
        }
    }

    /// The end of what it printed.
    pub fn tail(&self) -> &str {
        match self {
            Outcome::Passed | Outcome::Unrunnable { .. } => "",
            Outcome::Failed { tail, .. }
            | Outcome::TimedOut { tail, .. }
            | Outcome::ChangedTree { tail, .. } => tail.as_str(),
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Outcome::Passed => "passed",
            Outcome::Failed { .. } => "failed",
            Outcome::TimedOut { .. } => "timed_out",
            Outcome::ChangedTree { .. } => "changed_tree",
            Outcome::Unrunnable { .. } => "unrunnable",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    pub check: Text<NAME>,
    pub mandatory: bool,
    pub outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Results {
    pub profile: Profile,
    /// The tree before the first check, where it is known.
    pub tree: Option<Text<64>>,
    pub ran: Vec<Ran>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Passed,
    Failed,
    /// There was nothing to run.
    Skipped,
}

impl Results {
    pub fn status(&self) -> Status {
        let fails = |ran: &Ran| ran.mandatory && ran.outcome != Outcome::Passed;
        match self.ran.as_slice() {
            [] => Status::Skipped,
            ran if ran.iter().any(fails) => Status::Failed,
            _ => Status::Passed,
        }
    }

    /// For those who read JSON: `{status, checks, issues, next_steps}`.
    pub fn report(&self) -> Value {
        let unmet = || self.ran.iter().filter(|ran| ran.outcome != Outcome::Passed);
        json!({
            "status": self.status(),
            "checks": self.ran.iter().map(Ran::report).collect::<Vec<_>>(),
            "issues": unmet().map(Ran::issue).collect::<Vec<_>>(),
            "next_steps": unmet().map(Ran::next_step).collect::<Vec<_>>(),
        })
    }
}

impl Ran {
    fn report(&self) -> Value {
        let mut members = Map::new();
        let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
        put("name", json!(self.check));
        put("status", json!(self.outcome.name()));
        put("mandatory", json!(self.mandatory));
        match &self.outcome {
            Outcome::Passed => {}
            Outcome::Failed { code, tail } => {
                put("code", json!(code));
                put("tail", json!(tail));
            }
            Outcome::TimedOut { seconds, tail } => {
                put("seconds", json!(seconds));
                put("tail", json!(tail));
            }
            Outcome::ChangedTree { left, code, tail } => {
                put("left", json!(left));
                put("code", json!(code));
                put("tail", json!(tail));
            }
            Outcome::Unrunnable { why } => {
                put("why", json!(why));
            }
        }
        Value::Object(members)
    }

    /// What is wrong, in a sentence.
    pub fn issue(&self) -> String {
        let ended = |code: &Option<i32>| match code {
            Some(code) => format!("exit code {code}"),
            None => "it was killed".to_owned(),
        };
        let name = quoted(self.check.as_str());
        let what = match &self.outcome {
            Outcome::Passed => format!("check `{name}` passed"),
            Outcome::Failed { code, .. } => format!("check `{name}` failed: {}", ended(code)),
            Outcome::TimedOut { seconds, .. } => format!("check `{name}` had no result after {seconds} s"),
            Outcome::ChangedTree { left, code, .. } => {
                let left = quoted(left.as_str());
                format!("the tree changed to `{left}` while check `{name}` ran: {}", ended(code))
            }
            Outcome::Unrunnable { why } => {
                format!("check `{name}` could not be run: {}", quoted(why.as_str()))
            }
        };
        if self.mandatory { what } else { format!("{what} (not mandatory)") }
    }

    fn next_step(&self) -> String {
        let name = quoted(self.check.as_str());
        match &self.outcome {
            Outcome::Passed => format!("nothing is left to do for `{name}`"),
            Outcome::Failed { .. } => format!("fix what `{name}` reports, then stop again"),
            Outcome::TimedOut { .. } => format!("make `{name}` faster, or raise its `timeout`"),
            Outcome::ChangedTree { .. } => {
                format!(
                    "look at what changed, keep or undo it, and let `{name}` run again on a tree it leaves alone"
                )
            }
            Outcome::Unrunnable { .. } => format!("make sure that `{name}` can be run here, then stop again"),
        }
    }
}

/// The end of what a program printed, without secrets and control characters.
pub fn tail(output: &[u8]) -> Text<TAIL> {
    let text = plain(&uncoloured(&String::from_utf8_lossy(output)));
    // Before it is cut: half a secret is not known for one.
    let text = redact::text(text.trim()).into_inner();
    let from = text.char_indices().rev().nth(TAIL - 1).map_or(0, |(at, _)| at);
    if from == 0 {
        return Text::from(&*text);
    }
    let kept: String = text[from..].chars().skip(1).collect();
    Text::new(format!("…{kept}"))
}

/// Without the sequences that set a terminal's colours.
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
