//! Guards around a commit: what goes into it is named, seen and fit to be there, and its message is
//! signed only by people. They see what would run, in whatever it is wrapped; they are there for
//! accidents, so what is known only at run time is let through.

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
use sprag_base::text::{Text, quoted};
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

/// Places a hold names.
const NAMED: usize = 5;

/// What the last judged stop found. Calls are judged each by itself.
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
    /// Some of it was put away since.
    Stashed {
        files: Vec<Text<200>>,
        /// The newest stash before.
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

/// When the guards count. From never to always.
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

/// Asks for what is or would be in a commit.
pub enum Question {
    /// The lines that the commits of a call would add.
    Staged(StagedQueries),
    /// Of what the session changed and of the files of open commit debts, what is in no commit.
    Uncommitted,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    pub staged: Option<Staged>,
    pub uncommitted: Option<Vec<String>>,
    /// The newest stash; it is looked at together with that.
    pub stash: Option<Text<64>>,
}

const GUARD: Tighten = Tighten::Ranked(&["allow", "deny"]);

impl Gate for CommitGate {
    type Settings = Settings;
    type Question = Question;
    type Answer = Answer;

    const ABOUT: &'static str = "what goes into a commit, who makes it, who signs it, and that there is one";
    const SECTION: SettingSection = SettingSection {
        name: "commit",
        defaults: "\
# What goes into a commit. The guards count in the sessions of stages (there are none yet), `always`, or `off`. Where
# they do, a session does not stop before what it changed is committed.
[commit]
mode = \"stages\"
# Staging everything at once: `git add -A`, `git add .`, `git add -u`, `git commit -a`. `deny` or `allow`.
add_all = \"deny\"
# Subagents that write with git: commit, push, checkout, branch, stash ... Reading is always free.
subagents = \"deny\"
# Commits that add lines with a secret, or with a whole conflict.
secrets = \"deny\"
markers = \"deny\"
# Paths that may have them, each a prefix relative to the repository (`tests/fixtures/`).
ignore = []
# Lines with which an AI signs a message (`Co-Authored-By: Claude`, `Generated with ...`): `keep` or
# `strip`, whatever the mode. People who are named stay. A message that cannot be read is held.
trailers = \"keep\"
",
        keys: &[
            SettingKey { name: "mode", tighten: Tighten::Ranked(&["off", "stages", "always"]) },
            SettingKey { name: "add_all", tighten: GUARD },
            SettingKey { name: "subagents", tighten: GUARD },
            SettingKey { name: "secrets", tighten: GUARD },
            SettingKey { name: "markers", tighten: GUARD },
            SettingKey { name: "ignore", tighten: Tighten::Never },
            // Not a matter of safety: what a user's messages say is the user's to choose.
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
            "not all of what would be committed could be looked at for secrets and conflict markers"
                .to_owned()
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
        let Some(script) = call.script(&cx.input.start()) else {
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

/// The session's own agent stops, or there is nobody any more.
fn is_end(input: &Input) -> bool {
    matches!(input.event, Event::StopRequested(_) | Event::SessionEnded { .. }) && input.actor == Actor::Main
}

/// Whether the guards count in this session. One that works on a stage will say so in what is known
/// about it; none does yet.
fn applies(policy: &Settings, _about: &SessionFacts) -> bool {
    match policy.mode {
        CommitMode::Off | CommitMode::Stages => false,
        CommitMode::Always => true,
    }
}

/// What the commits of a call would take in.
fn looks(input: &Input) -> StagedQueries {
    match &input.event {
        Event::ToolRequested { call } => {
            call.script(&input.start()).map(git_writes::looks).unwrap_or_default()
        }
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
    /// Whether a line must not be committed.
    pub fn minds(&self, found: &StagedFinding) -> bool {
        let guard = match found.fault {
            StagedFault::Secret { .. } => self.secrets,
            StagedFault::Markers => self.markers,
        };
        let is_ignored = |prefix: &String| found.path.as_str().starts_with(prefix.as_str());
        guard == CommitGuard::Deny && !self.ignore.iter().any(is_ignored)
    }
}

/// The way past, for whoever may go it.
fn unless(next: &str, key: &str) -> String {
    format!("{next}; only the user can switch this guard off: `sprag config set commit.{key} allow`")
}

fn by_subagent(name: &str) -> Reason {
    Reason::new(
        "subagent_git",
        format!("`git {}` is not a subagent's to do", quoted(name)),
        unless("leave the change in the worktree and tell the agent that started you", "subagents"),
    )
}

fn swept(sweep: &str) -> Reason {
    let then = if sweep.starts_with("git commit") { ", then `git commit` without it" } else { "" };
    Reason::new(
        "add_all",
        format!("`{}` takes in whatever lies around: name the paths you mean", quoted(sweep)),
        unless(&format!("git add PATH...{then}; `git status --short` lists them"), "add_all"),
    )
}

fn unfit(found: &[&StagedFinding]) -> Option<Reason> {
    let is_secret = |found: &&&StagedFinding| matches!(found.fault, StagedFault::Secret { .. });
    let secrets: Vec<&&StagedFinding> = found.iter().filter(is_secret).collect();
    let markers: Vec<&&StagedFinding> = found.iter().filter(|found| !is_secret(found)).collect();
    let (code, what, next, key, named) = if !secrets.is_empty() {
        let next = "take it out of the file, `git add` the file again, then commit";
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

/// The input of the tool with another command line, if the input is there as a whole.
fn with_command(call: &ToolCall, command: &str, wanted: String) -> Option<Value> {
    let mut input = call.input.clone();
    let member = input.as_object_mut()?.values_mut().find(|value| value.as_str() == Some(command))?;
    *member = Value::String(wanted);
    (call.whole == InputCompleteness::Yes).then_some(input)
}

fn taken_out(gone: &[String]) -> Text<1000> {
    Text::new(format!("{}, so leave this out: {}", UNWANTED, in_marks(&gone.join("\n"))))
}

const UNWANTED: &str = "messages are signed by people only";

fn in_marks(lines: &str) -> String {
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| format!("`{}`", quoted(line))).collect::<Vec<_>>().join(", ")
}

fn unstripped(obstacle: &Obstacle) -> Reason {
    let (why, next) = match obstacle {
        Obstacle::Inexact { line } => {
            (format!("{UNWANTED}, and this has {}", in_marks(line)), "leave it out and call again")
        }
        Obstacle::Empty => {
            (format!("{UNWANTED}, and nothing else is in this one"), "write what the change is for")
        }
        Obstacle::File { name } => (
            format!("{UNWANTED}, and what is in `{}` cannot be seen", quoted(name)),
            "give the message with `-m` or in a heredoc: `git commit -F - <<'EOF'`",
        ),
        Obstacle::Unknown => (
            format!("{UNWANTED}, and this one is known only at run time"),
            "give the message in full, with `-m` or in a heredoc: `git commit -F - <<'EOF'`",
        ),
    };
    let next = format!("{next}; only the user can switch this off: `sprag config set commit.trailers keep`");
    Reason::new("attribution", why, next)
}

#[cfg(test)]
mod tests;
