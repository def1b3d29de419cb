//! Guards for commits: their content is named, checked and free of secrets, and only people sign the message.
//! The guards read wrapped commands too. They prevent accidents, so parts that are known only at run time
//! pass.

pub mod added_lines;
mod arguments;
mod attribution;
pub mod git_writes;
mod strip_signature;
mod uncommitted;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use sprag_base::ids::SessionId;
use sprag_base::settings::{SettingKey, SettingSection, Tighten};
use sprag_base::text::{Text, quoted, quoted_list};
use sprag_policy::call::{InputCompleteness, ToolCall};
use sprag_shell::Script;

use crate::event::{Actor, Event, Input};
use crate::facts::{SharedFacts, SharedNeeds, Staged, StagedFault, StagedFinding};
use crate::gates::commit::git_writes::StagedQueries;
use crate::gates::commit::strip_signature::{Obstacle, Stripped};
use crate::gates::{Ask, Gate, GateCx};
use crate::obligation::Obligation;
use crate::reason::Reason;
use crate::session_facts::SessionFacts;
use crate::verdict::{Rewrite, Vote};

/// Maximum number of places that a hold names.
const NAMED: usize = 5;

/// The result of the last judged stop. Each call is judged separately.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitGate {
    #[default]
    Clean,
    Uncommitted {
        files: Vec<Text<200>>,
        /// The newest stash at that time.
        #[serde(default)]
        stash: Option<Text<64>>,
    },
    /// The agent stashed some of the files since.
    Stashed {
        files: Vec<Text<200>>,
        /// The newest stash before that.
        stash: Option<Text<64>>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub mode: CommitMode,
    pub add_all: CommitGuard,
    pub subagents: CommitGuard,
    pub secrets: CommitGuard,
    pub markers: CommitGuard,
    pub ignore: Vec<String>,
    pub trailers: Trailers,
}

/// When the guards apply, from never to always.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommitMode {
    Off,
    Stages,
    Always,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommitGuard {
    Allow,
    Deny,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trailers {
    Keep,
    Strip,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            mode: CommitMode::Stages,
            add_all: CommitGuard::Deny,
            subagents: CommitGuard::Deny,
            secrets: CommitGuard::Deny,
            markers: CommitGuard::Deny,
            ignore: Vec::new(),
            trailers: Trailers::Keep,
        }
    }
}

/// Asks for the content of a commit.
pub enum Question {
    /// The lines that the commits of a call would add.
    Staged(StagedQueries),
    /// Uncommitted files among the session's changes and the files of open commit debts.
    Uncommitted,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    pub staged: Option<Staged>,
    pub uncommitted: Option<Vec<String>>,
    /// The newest stash, read at the same time.
    pub stash: Option<Text<64>>,
}

const GUARD: Tighten = Tighten::Ranked(&["allow", "deny"]);

impl Gate for CommitGate {
    type Settings = Settings;
    type Question = Question;
    type Answer = Answer;

    const ABOUT: &'static str = "checks what is committed, who commits and who signs; requires commits";
    const SECTION: SettingSection = SettingSection {
        name: "commit",
        defaults: "\
# Guards for commits: `stages` (sessions of stages; no effect yet), `always`, or `off`. Where they apply, a
# session cannot stop with uncommitted changes.
[commit]
mode = \"stages\"
# Staging everything at once: `git add -A`, `git add .`, `git add -u`, `git commit -a`. `deny` or `allow`.
add_all = \"deny\"
# Sub-agents that write with git: commit, push, checkout, branch, stash ... Reading is always allowed.
subagents = \"deny\"
# Commits that add lines with a secret, or with a whole conflict.
secrets = \"deny\"
markers = \"deny\"
# Paths that may contain them, each a prefix relative to the repository (`tests/fixtures/`).
ignore = []
# Signatures of AI programs in messages (`Co-Authored-By: Claude`, `Generated with ...`): `keep` or `strip`,
# in every mode. Names of people stay. A message that cannot be read is held.
trailers = \"keep\"
",
        keys: &[
            SettingKey { name: "mode", tighten: Tighten::Ranked(&["off", "stages", "always"]) },
            SettingKey { name: "add_all", tighten: GUARD },
            SettingKey { name: "subagents", tighten: GUARD },
            SettingKey { name: "secrets", tighten: GUARD },
            SettingKey { name: "markers", tighten: GUARD },
            SettingKey { name: "ignore", tighten: Tighten::Never },
            // Not a safety setting: users choose the text of their messages.
            SettingKey { name: "trailers", tighten: Tighten::Never },
        ],
    };

    fn shared(&self, ask: &Ask<'_, Settings>) -> SharedNeeds {
        if is_end(ask.input) && self.looks(ask.settings, ask.session, &ask.input.root) {
            SharedNeeds::CHANGES | SharedNeeds::DEBTS
        } else {
            SharedNeeds::NONE
        }
    }

    fn ask(&self, ask: &Ask<'_, Settings>, _shared: &SharedFacts) -> Option<Question> {
        if is_end(ask.input) {
            let looks = self.looks(ask.settings, ask.session, &ask.input.root);
            return looks.then_some(Question::Uncommitted);
        }
        let Settings { secrets, markers, .. } = ask.settings;
        let is_off = *secrets == CommitGuard::Allow && *markers == CommitGuard::Allow;
        if is_off || !applies(ask.settings, ask.session) {
            return None;
        }
        let looks = looks(ask.input);
        (!looks.list.is_empty() || looks.is_partial).then_some(Question::Staged(looks))
    }

    fn is_slow(_question: &Question) -> bool {
        true
    }

    fn warning(answer: &Answer) -> Option<String> {
        let is_partial = answer.staged.as_ref().is_some_and(|staged| !staged.is_whole);
        is_partial.then(|| {
            "not all lines of the commit could be checked for secrets and conflict markers".to_owned()
        })
    }

    fn step(&mut self, cx: &mut GateCx<'_, CommitGate>) -> Vote {
        if is_end(cx.input) {
            return self.end(cx);
        }
        let applies = applies(cx.settings, cx.session);
        let strips = cx.settings.trailers == Trailers::Strip;
        let Event::ToolRequested { call } = &cx.input.event else {
            return Vote::Pass;
        };
        if !applies && !strips {
            return Vote::Pass;
        }
        let Some(script) = cx.input.script() else {
            return Vote::Pass;
        };
        let held = if applies { guard(cx, script) } else { None };
        match held {
            Some(reason) => Vote::Hold(reason),
            None if strips => trailers(call, script, cx.input),
            None => Vote::Pass,
        }
    }

    fn state(&self) -> Option<&'static str> {
        Some(match self {
            CommitGate::Clean => "clean",
            CommitGate::Uncommitted { .. } => "uncommitted",
            CommitGate::Stashed { .. } => "stashed",
        })
    }

    fn open(&self, _session: &SessionId) -> Option<Obligation> {
        self.owed()
    }
}

/// Reports whether the session's own agent stops, or the session ends.
fn is_end(input: &Input) -> bool {
    matches!(input.event, Event::StopRequested(_) | Event::SessionEnded { .. }) && input.actor == Actor::Main
}

/// Reports whether the guards apply in this session. The mode `stages` has no effect yet.
fn applies(policy: &Settings, _about: &SessionFacts) -> bool {
    match policy.mode {
        CommitMode::Off | CommitMode::Stages => false,
        CommitMode::Always => true,
    }
}

/// Returns the queries for the content of the commits of a call.
fn looks(input: &Input) -> StagedQueries {
    match &input.event {
        Event::ToolRequested { .. } => input.script().map(git_writes::looks).unwrap_or_default(),
        _ => StagedQueries::default(),
    }
}

fn guard(cx: &GateCx<'_, CommitGate>, script: &Script) -> Option<Reason> {
    let Settings { add_all, subagents, .. } = cx.settings;
    if *subagents == CommitGuard::Deny && cx.input.actor != Actor::Main {
        let written = script.commands.iter().find_map(git_writes::write);
        if let Some(name) = written {
            return Some(by_subagent(name));
        }
    }
    if *add_all == CommitGuard::Deny
        && let Some(sweep) = script.commands.iter().find_map(git_writes::sweep)
    {
        return Some(swept(&sweep));
    }
    let staged = cx.answer.staged.as_ref()?;
    let found: Vec<&StagedFinding> = staged.found.iter().filter(|found| cx.settings.minds(found)).collect();
    unfit(&found)
}

impl Settings {
    /// Reports whether the settings forbid a finding.
    pub fn minds(&self, found: &StagedFinding) -> bool {
        let guard = match found.fault {
            StagedFault::Secret { .. } => self.secrets,
            StagedFault::Markers => self.markers,
        };
        let is_ignored = |prefix: &String| found.path.as_str().starts_with(prefix.as_str());
        guard == CommitGuard::Deny && !self.ignore.iter().any(is_ignored)
    }
}

/// Appends the command with which the user can turn the guard off.
fn unless(next: &str, key: &str) -> String {
    format!("{next}; only the user can turn this guard off: `sprag config set commit.{key} allow`")
}

fn by_subagent(name: &str) -> Reason {
    Reason::new(
        "subagent_git",
        format!("`git {}` is not allowed for sub-agents", quoted(name)),
        unless("leave the change in the worktree and tell the agent that started you", "subagents"),
    )
}

fn swept(sweep: &str) -> Reason {
    let then = if sweep.starts_with("git commit") { ", then `git commit` without it" } else { "" };
    Reason::new(
        "add_all",
        format!("`{}` stages every change; name the paths instead", quoted(sweep)),
        unless(&format!("git add PATH...{then}; `git status --short` lists them"), "add_all"),
    )
}

fn unfit(found: &[&StagedFinding]) -> Option<Reason> {
    let is_secret = |found: &&&StagedFinding| matches!(found.fault, StagedFault::Secret { .. });
    let secrets: Vec<&&StagedFinding> = found.iter().filter(is_secret).collect();
    let markers: Vec<&&StagedFinding> = found.iter().filter(|found| !is_secret(found)).collect();
    let (code, what, next, key, named) = if !secrets.is_empty() {
        let next = "remove it from the file, `git add` the file again, then commit";
        ("staged_secret", "this commit would add a secret", next, "secrets", secrets)
    } else if !markers.is_empty() {
        let next = "resolve the conflict in the file, `git add` the file again, then commit";
        ("staged_markers", "this commit would add conflict markers", next, "markers", markers)
    } else {
        return None;
    };
    let places: Vec<String> = named
        .iter()
        .take(NAMED)
        .map(|found| {
            let kind = match &found.fault {
                StagedFault::Secret { kind } => format!(" ({kind})"),
                StagedFault::Markers => String::new(),
            };
            format!("`{}:{}`{kind}", quoted(found.path.as_str()), found.line)
        })
        .collect();
    let more = match named.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(Reason::new(code, format!("{what}: {}{more}", places.join(", ")), unless(next, key)))
}

fn trailers(call: &ToolCall, script: &Script, input: &Input) -> Vote {
    let Some(command) = &call.command else {
        return Vote::Pass;
    };
    let obstacle = match strip_signature::strip(command, script, &input.start()) {
        Stripped::Nothing => return Vote::Pass,
        Stripped::To { command: wanted, gone } => match with_command(call, command, wanted) {
            Some(input) => return Vote::Rewrite(Rewrite { input, why: taken_out(&gone) }),
            None => Obstacle::Inexact { line: gone.join("\n") },
        },
        Stripped::Not(obstacle) => obstacle,
    };
    Vote::Hold(unstripped(&obstacle))
}

/// Returns the tool input with another command line, if the input is complete.
fn with_command(call: &ToolCall, command: &str, wanted: String) -> Option<Value> {
    let mut input = call.input.clone();
    let member = input.as_object_mut()?.values_mut().find(|value| value.as_str() == Some(command))?;
    *member = Value::String(wanted);
    (call.whole == InputCompleteness::Yes).then_some(input)
}

fn taken_out(gone: &[String]) -> Text<1000> {
    Text::new(format!("{}; leave this out: {}", UNWANTED, in_marks(&gone.join("\n"))))
}

const UNWANTED: &str = "only people may sign messages";

fn in_marks(lines: &str) -> String {
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    quoted_list(lines.map(quoted))
}

fn unstripped(obstacle: &Obstacle) -> Reason {
    let (why, next) = match obstacle {
        Obstacle::Inexact { line } => {
            (format!("{UNWANTED}; this one has {}", in_marks(line)), "leave it out and call again")
        }
        Obstacle::Empty => {
            (format!("{UNWANTED}; this one has no other text"), "write the reason for the change")
        }
        Obstacle::File { name } => (
            format!("{UNWANTED}; the content of `{}` is unknown", quoted(name)),
            "give the message with `-m` or in a heredoc: `git commit -F - <<'EOF'`",
        ),
        Obstacle::Unknown => (
            format!("{UNWANTED}; this one is known only at run time"),
            "give the message in full, with `-m` or in a heredoc: `git commit -F - <<'EOF'`",
        ),
    };
    let next = format!("{next}; only the user can turn this off: `sprag config set commit.trailers keep`");
    Reason::new("attribution", why, next)
}

#[cfg(test)]
mod tests;
