//! Runs the configured checks when an agent claims that its work is done. Sprag trusts the results, not the
//! message. A turn without a claim is not judged. After a failure every stop is judged until the checks pass.
//! Only the session's own agent is checked.

mod done_claim;
mod results;
mod settings;

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::ids::SessionId;
use sprag_base::settings::SettingSection;
use sprag_base::text::{Text, quoted, shell_word};
use sprag_check::{Profile, Results, Risk, escalate};
use sprag_policy::call::{ToolCall, ToolEffect, ToolOutcome};
use sprag_shell::Script;

use crate::event::{Actor, Event, Input};
use crate::facts::{SessionChanges, SharedFacts, SharedNeeds, Size};
use crate::gates::{Ask, Gate, GateCx, GateNotice, is_zero};
use crate::obligation::{Duty, Obligation};
use crate::reason::Reason;
use crate::report::Report;
use crate::session_facts::SessionFacts;
use crate::verdict::Vote;
pub use settings::{BuiltIn, OnToolFailure, Settings};

/// How often failed commands of the agent lead to checks in one session.
const ALARMS: u32 = 3;
/// Time limit in seconds for all checks of one stop: a client waits 600 s for its stop hook.
const BUDGET_SECONDS: u32 = 480;
const ALARM_SECONDS: u32 = 60;
/// Maximum number of outputs that a hold shows.
const SHOWN: usize = 2;

/// The state of the checks, and failures since.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompletionGate {
    standing: CheckState,
    /// A command failed, and no check ran since.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    alarmed: bool,
    /// The agent claimed that it was done, at a stop that Sprag ignored.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    claimed: bool,
    /// How often a failed command led to checks.
    #[serde(skip_serializing_if = "is_zero")]
    alarms: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CheckState {
    #[default]
    Idle,
    Verified {
        tree: Option<Text<64>>,
        profile: Profile,
    },
    Failing(Failing),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Failing {
    /// Hash of the checked tree, if known.
    tree: Option<Text<64>>,
    profile: Profile,
    occasion: CheckOccasion,
    unmet: Vec<Unmet>,
    /// Failures in a row, each on another tree.
    times: u32,
}

/// Why Sprag runs checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CheckOccasion {
    /// The agent claims that the work is done.
    Claim,
    /// A command of the agent failed.
    ToolFailure,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Unmet {
    name: Text<64>,
    outcome: Text<16>,
    issue: Text<200>,
    /// The end of its output.
    tail: Text<300>,
}

/// The result of the checks.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Answer {
    #[default]
    NotAsked,
    /// The checks could not run.
    NotRun,
    Ran(Results),
}

/// The checks that the host must run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckRun {
    pub profile: Profile,
    pub budget_seconds: u32,
}

impl Gate for CompletionGate {
    type Settings = Settings;
    type Question = CheckRun;
    type Answer = Answer;

    const ABOUT: &'static str = "runs the checks when an agent claims that its work is done";
    const SECTION: SettingSection = settings::SECTION;

    fn shared(&self, ask: &Ask<'_, Settings>) -> SharedNeeds {
        match self.occasion(ask.session, ask.input, ask.settings) {
            None => SharedNeeds::NONE,
            Some(_) if ask.settings.check.is_empty() => {
                SharedNeeds::TREE | SharedNeeds::CHANGES | SharedNeeds::DEBTS
            }
            Some(_) => SharedNeeds::CHANGES | SharedNeeds::DEBTS,
        }
    }

    fn ask(&self, ask: &Ask<'_, Settings>, shared: &SharedFacts) -> Option<CheckRun> {
        if ask.settings.check.is_empty() {
            return None;
        }
        self.plan(ask, shared.changes.as_ref())
    }

    fn is_slow(_question: &CheckRun) -> bool {
        true
    }

    fn warning(answer: &Answer) -> Option<String> {
        (*answer == Answer::NotRun).then(|| "the checks could not run; the work is not verified".to_owned())
    }

    fn step(&mut self, cx: &mut GateCx<'_, CompletionGate>) -> Vote {
        if !cx.settings.is_configured() {
            // Only a person can remove checks, and their results go with them.
            *self = CompletionGate::default();
            return Vote::Pass;
        }
        match &cx.input.event {
            Event::ToolFinished { call, outcome: ToolOutcome::Failed { .. } } => self.tool_failed(call, cx),
            Event::StopRequested(_) | Event::Reported(Report::Verified) => {
                match self.occasion(cx.session, cx.input, cx.settings) {
                    Some(occasion) => self.judge(occasion, cx),
                    None => Vote::Pass,
                }
            }
            Event::SessionEnded { .. } if self.claimed => {
                let failing = self.open(&cx.input.session);
                Vote::Owe(failing.unwrap_or_else(|| unchecked(cx.settings, &cx.input.session)))
            }
            Event::SessionEnded { .. } => self.owe(&cx.input.session),
            _ => Vote::Pass,
        }
    }

    fn notice(&mut self, notice: GateNotice<'_, Settings>) {
        if let GateNotice::PassedOver(ask) = notice
            && let Event::StopRequested(stop) = &ask.input.event
        {
            self.claimed |=
                ask.settings.is_configured() && done_claim::claims(stop.last_message.as_str(), ask.settings);
        }
    }

    fn state(&self) -> Option<&'static str> {
        Some(match self.standing {
            CheckState::Idle => "idle",
            CheckState::Verified { .. } => "verified",
            CheckState::Failing(_) => "failing",
        })
    }

    fn open(&self, session: &SessionId) -> Option<Obligation> {
        match &self.standing {
            CheckState::Failing(failing) => Some(failing.obligation(session)),
            CheckState::Idle | CheckState::Verified { .. } => None,
        }
    }
}

impl CompletionGate {
    /// Returns the checks to run for this event, or `None` if it requires none.
    pub(crate) fn plan(&self, ask: &Ask<'_, Settings>, changes: Option<&SessionChanges>) -> Option<CheckRun> {
        Some(match self.occasion(ask.session, ask.input, ask.settings)? {
            CheckOccasion::ToolFailure => CheckRun { profile: Profile::Quick, budget_seconds: ALARM_SECONDS },
            CheckOccasion::Claim => {
                let (failures, least) = match &self.standing {
                    CheckState::Failing(failing) => (failing.times, failing.profile),
                    CheckState::Idle | CheckState::Verified { .. } => (0, Profile::Quick),
                };
                let risk = risk(changes, failures);
                CheckRun {
                    profile: escalate(ask.settings.profile, &risk).max(least),
                    budget_seconds: BUDGET_SECONDS,
                }
            }
        })
    }

    fn occasion(&self, about: &SessionFacts, input: &Input, policy: &Settings) -> Option<CheckOccasion> {
        if !policy.is_configured() || input.actor != Actor::Main {
            return None;
        }
        let stop = match &input.event {
            // Results in another worktree say nothing about this session.
            Event::Reported(Report::Verified) => {
                return (input.root == about.root).then_some(CheckOccasion::Claim);
            }
            Event::StopRequested(stop) => stop,
            _ => return None,
        };
        // An agent that asks the user a question is not done.
        let asks = stop.asks() || about.asking.is_some();
        if !asks && done_claim::claims(stop.last_message.as_str(), policy) {
            return Some(CheckOccasion::Claim);
        }
        if !asks && self.claimed {
            return Some(CheckOccasion::Claim);
        }
        match &self.standing {
            // Another last message does not end a failure.
            CheckState::Failing(failing) => Some(failing.occasion),
            CheckState::Idle | CheckState::Verified { .. } => {
                (self.alarmed && !asks).then_some(CheckOccasion::ToolFailure)
            }
        }
    }

    /// Notes a failed command. Commands that only read are ignored: they also fail when they find nothing.
    fn tool_failed(&mut self, call: &ToolCall, cx: &GateCx<'_, CompletionGate>) -> Vote {
        let is_failing = matches!(self.standing, CheckState::Failing(_));
        if cx.settings.minds_tool_failures()
            && cx.input.actor == Actor::Main
            && call.effect == ToolEffect::Exec
            && !is_failing
            && self.alarms < ALARMS
            && !cx.input.script().is_some_and(Script::only_looks)
        {
            self.alarmed = true;
        }
        Vote::Pass
    }

    fn owe(&self, session: &SessionId) -> Vote {
        self.open(session).map_or(Vote::Pass, Vote::Owe)
    }
}

/// Returns the obligation for a claim that was made while work still ran and was never checked.
fn unchecked(policy: &Settings, session: &SessionId) -> Obligation {
    let names: Vec<Text<200>> = policy
        .check
        .iter()
        .filter(|check| check.mandatory)
        .map(|check| Text::from(check.name.as_str()))
        .collect();
    Obligation {
        duty: Duty::Verify,
        digest: Digest::hash_parts(["unchecked"].into_iter().chain(names.iter().map(Text::as_str))),
        reason: Reason::new(
            "not_verified",
            "the agent claimed to be done while work still ran, and the checks never ran",
            format!("sprag verify --session {}", shell_word(session.as_str())),
        ),
        items: names,
    }
}

fn risk(changes: Option<&SessionChanges>, failures: u32) -> Risk {
    let Some(changes) = changes else {
        return Risk { failures, ..Risk::default() };
    };
    let lines = match changes.size {
        Size::Lines(lines) => u32::try_from(lines).unwrap_or(u32::MAX),
        Size::Unknown => 0,
    };
    Risk::assess(changes.paths.iter().map(String::as_str), lines, failures)
}

impl Failing {
    /// Returns the obligation. Its digest covers the failures and the tree: the same failure on another tree
    /// is a new try.
    fn obligation(&self, session: &SessionId) -> Obligation {
        let tree = self.tree.as_ref().map_or("", Text::as_str);
        let named = self.unmet.iter().flat_map(|unmet| [unmet.name.as_str(), unmet.outcome.as_str()]);
        let issues: Vec<&str> = self.unmet.iter().map(|unmet| unmet.issue.as_str()).collect();
        let mut why = format!("the work is not done: {}", issues.join("; "));
        for unmet in self.unmet.iter().filter(|unmet| !unmet.tail.is_empty()).take(SHOWN) {
            why.push_str(&format!(
                "\nend of the output of `{}`:\n{}",
                quoted(unmet.name.as_str()),
                unmet.tail
            ));
        }
        let session = shell_word(session.as_str());
        Obligation {
            duty: Duty::Verify,
            digest: Digest::hash_parts(["verify", tree].into_iter().chain(named)),
            reason: Reason::new(
                "verification_failed",
                why,
                format!("fix it, then stop again; `sprag verify --session {session}` runs the checks now"),
            ),
            items: self.unmet.iter().map(|unmet| Text::from(unmet.name.as_str())).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
