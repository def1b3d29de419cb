//! Requires that a change serves an intent and stays in its scope. In a repository without intents the gate
//! does nothing.

mod check;
mod git_writes;
mod links;
mod messages;
mod patches;
mod settings;
mod strays;
mod targets;

use serde::{Deserialize, Serialize};

use sprag_base::settings::SettingSection;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_intent::records::FinishedIntent;
use sprag_intent::{
    DeclaredClass, Holder, Intent, IntentFiles, IntentRecord, IntentSet, IntentSharing, IntentStatus,
    ScopeFacts, SelectedIntent,
};
use sprag_policy::call::ToolCall;

use crate::approval::{ApprovalAnswer, RefusedCall, RefusedCalls, digest_of};
use crate::event::{Event, Input, Presence, SessionPurpose};
use crate::facts::{SharedFacts, SharedNeeds};
use crate::gates::{Ask, Gate, GateCx};
use crate::reason::Reason;
use crate::report::Report;
use crate::verdict::Vote;
pub use check::relative;
pub use settings::{Required, Settings, StrayMode};
pub use strays::{MOST_WINDOWS, StrayWindow, UnreadCall, moves_trees};
pub use targets::{TargetKind, WriteTarget, wanted};

/// Maximum number of served intents that a session remembers.
const SERVED: usize = 16;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScopeGate {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) chosen: Option<SelectedIntent>,
    /// Time of the selection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Timestamp>,
    /// Intents that the session served before. Their scopes still cover the changes made then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    served: Vec<Text<64>>,
    #[serde(skip_serializing_if = "RefusedCalls::is_empty")]
    refused: RefusedCalls,
    /// Time windows of calls that could not be read beforehand.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    windows: Vec<UnreadCall>,
    /// Files that these calls changed and no intent owns, as the last stop found them. The agent may restore
    /// them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    strays: Vec<Text<200>>,
}

/// Asks for the intents of the repository, and for the paths that the call would change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// The intent whose other holders count.
    pub holders_of: Option<Text<64>>,
    /// Time windows of calls whose changes must be found.
    pub strays_in: Option<Vec<StrayWindow>>,
}

impl Gate for ScopeGate {
    type Settings = Settings;
    type Question = Question;
    type Answer = Option<ScopeFacts>;

    const ABOUT: &'static str = "requires that a change serves an intent and stays in its scope";
    const SECTION: SettingSection = settings::SECTION;

    fn shared(&self, ask: &Ask<'_, Settings>) -> SharedNeeds {
        let is_end = matches!(ask.input.event, Event::StopRequested(_) | Event::SessionEnded { .. });
        if is_end && is_on(ask) && self.looks_for_strays() {
            SharedNeeds::CHANGES | SharedNeeds::DEBTS
        } else {
            SharedNeeds::NONE
        }
    }

    fn ask(&self, ask: &Ask<'_, Settings>, _shared: &SharedFacts) -> Option<Question> {
        if !is_on(ask) {
            return None;
        }
        match &ask.input.event {
            Event::SessionStarted { .. } | Event::Reported(Report::IntentDone { .. }) => {
                Some(Question::default())
            }
            Event::Reported(Report::IntentSelected { id, .. }) => {
                Some(Question { holders_of: Some(id.clone()), ..Question::default() })
            }
            Event::ToolRequested { call } if targets::is_mutating(call, ask.input, ask.settings) => {
                let holders_of = self.chosen.as_ref().map(|chosen| chosen.id.clone());
                Some(Question { holders_of, ..Question::default() })
            }
            Event::StopRequested(_) | Event::SessionEnded { .. } if self.looks_for_strays() => {
                Some(Question { strays_in: Some(self.spans(ask.input.at)), ..Question::default() })
            }
            _ => None,
        }
    }

    fn forget_single_use(&mut self) {
        self.refused.forget_single_use();
    }

    fn step(&mut self, cx: &mut GateCx<'_, ScopeGate>) -> Vote {
        if !cx.settings.is_on() || cx.input.errand != SessionPurpose::Own {
            return Vote::Pass;
        }
        let input = cx.input;
        match &input.event {
            Event::SessionStarted { .. } => self.introduce(cx),
            Event::SubagentStarted => match &self.chosen {
                Some(chosen) => Vote::Note(messages::inherited(chosen)),
                None => Vote::Pass,
            },
            Event::ToolRequested { call } => self.requested(call, cx),
            Event::ToolFinished { call, outcome } => {
                self.close_window(call, outcome, input.at);
                Vote::Pass
            }
            Event::StopRequested(_) | Event::SessionEnded { .. } => self.judge_strays(cx),
            Event::Reported(report) => self.heard_of(report, cx),
            _ => Vote::Pass,
        }
    }
}

impl ScopeGate {
    /// Returns the calls that a person may allow now.
    pub fn open(self) -> impl Iterator<Item = RefusedCall> {
        self.refused.open()
    }

    fn introduce(&self, cx: &GateCx<'_, ScopeGate>) -> Vote {
        let Some(intents) = &cx.answer else { return Vote::Pass };
        match &intents.read {
            IntentFiles::Bad(bad) => Vote::Note(messages::bad_at_start(bad)),
            IntentFiles::Good(set) => {
                Vote::Note(messages::protocol(set, &intents.standings, self.chosen.as_ref(), cx.input))
            }
        }
    }

    fn requested(&mut self, call: &ToolCall, cx: &mut GateCx<'_, ScopeGate>) -> Vote {
        let Some(wanted) = wanted(call, cx.input, cx.settings) else { return Vote::Pass };
        let Some(intents) = &cx.answer else { return Vote::Pass };
        let vote = self.judge(call, &wanted, intents, cx.input);
        // A call also passes if the user answers the question with yes.
        if !matches!(vote, Vote::Hold(_)) {
            self.open_window(call, cx.input);
        }
        vote
    }

    /// Returns the first objection to a call.
    fn judge(
        &mut self,
        call: &ToolCall,
        wanted: &[WriteTarget],
        intents: &ScopeFacts,
        input: &Input,
    ) -> Vote {
        let set = match &intents.read {
            IntentFiles::Good(set) => set,
            IntentFiles::Bad(bad) => return in_doubt(messages::bad_intents(bad), input),
        };
        let paths = check::named(intents);
        let Some(chosen) = &self.chosen else {
            return Vote::Hold(messages::intent_required(&paths, set, intents, input));
        };
        let intent = match find(chosen.id.as_str(), set, intents) {
            Ok(intent) => intent,
            Err(MissingIntent::Unknown) => {
                return Vote::Hold(messages::not_found(chosen.id.as_str(), set, input));
            }
            Err(MissingIntent::Closed(intent)) => return Vote::Hold(messages::closed(intent)),
        };
        if intent.fingerprint != chosen.fingerprint {
            return Vote::Hold(messages::changed(intent, input));
        }
        if let Some(holder) = self.holder(intent, &intents.holders) {
            return Vote::Hold(messages::busy(intent, holder));
        }
        if let Some(fault) = check::first(intent, intents, &self.strays) {
            return Vote::Hold(messages::outside(&fault, intent, set, intents, input));
        }
        let unknown = wanted.iter().find_map(|wanted| match wanted {
            WriteTarget::Unknown { what } => Some(what),
            WriteTarget::At { .. } | WriteTarget::Patch { .. } => None,
        });
        let unknown = unknown.or(intents.unknown.first());
        if let Some(what) = unknown {
            return in_doubt(messages::unknown(what, intent), input);
        }
        if intents.ignored.names(intent.id.as_str()) {
            return self.ask_for(call, intent, input);
        }
        Vote::Pass
    }

    /// Asks a person about a change for an intent that `.intentignore` names.
    fn ask_for(&mut self, call: &ToolCall, intent: &Intent, input: &Input) -> Vote {
        match self.refused.use_approval(digest_of(input, call), input.at) {
            ApprovalAnswer::Yes => Vote::Pass,
            ApprovalAnswer::No => Vote::Hold(messages::rejected(intent)),
            ApprovalAnswer::None if input.presence == Presence::Attended => {
                Vote::Ask(messages::approval(intent, None))
            }
            ApprovalAnswer::None => {
                let code = self.refused.refuse(call, "scope", intent.id.as_str(), input);
                Vote::Hold(messages::approval(intent, Some(&code)))
            }
        }
    }

    /// Returns another session that selected an exclusive intent first.
    fn holder<'a>(&self, intent: &Intent, holders: &'a [Holder]) -> Option<&'a Holder> {
        let is_first = |holder: &&Holder| match (holder.since, self.since) {
            (Some(theirs), Some(ours)) => theirs <= ours,
            (Some(_), None) => true,
            (None, _) => false,
        };
        let mut holders = holders.iter().filter(|holder| holder.intent == intent.id);
        if intent.sharing == IntentSharing::Exclusive { holders.find(is_first) } else { None }
    }

    fn heard_of(&mut self, report: &Report, cx: &mut GateCx<'_, ScopeGate>) -> Vote {
        match report {
            Report::Approved { code } => {
                self.refused.approve(code.as_str(), cx.input.at);
                Vote::Pass
            }
            Report::Rejected { code } => {
                self.refused.reject(code.as_str());
                Vote::Pass
            }
            Report::IntentSelected { id, class } => self.select(id, *class, cx),
            Report::IntentDone { id, fingerprint } => done(id, fingerprint, cx),
            _ => Vote::Pass,
        }
    }

    fn select(&mut self, id: &Text<64>, class: DeclaredClass, cx: &mut GateCx<'_, ScopeGate>) -> Vote {
        let (intents, intent) = match in_question(id, cx.answer, cx.input) {
            Ok(found) => found,
            Err(NotOpen::Done(intent)) => return Vote::Hold(messages::closed(intent)),
            Err(NotOpen::Not(reason)) => return Vote::Hold(reason),
        };
        let is_held = |holder: &&Holder| holder.intent == intent.id;
        if intent.sharing == IntentSharing::Exclusive
            && let Some(holder) = intents.holders.iter().find(is_held)
        {
            return Vote::Hold(messages::busy(intent, holder));
        }
        let chosen = SelectedIntent { id: intent.id.clone(), fingerprint: intent.fingerprint.clone(), class };
        let is_other = self.chosen.as_ref().is_none_or(|before| before.id != chosen.id);
        if is_other {
            self.since = Some(cx.input.at);
        }
        self.served.retain(|served| *served != chosen.id);
        if self.served.len() >= SERVED {
            self.served.remove(0);
        }
        self.served.push(chosen.id.clone());
        cx.log(IntentRecord::Selected(chosen.clone()));
        self.chosen = Some(chosen);
        Vote::Pass
    }
}

fn is_on(ask: &Ask<'_, Settings>) -> bool {
    ask.settings.is_on() && ask.input.errand == SessionPurpose::Own
}

/// Asks the user if one is present, and otherwise refuses. A question without a user would show the agent the
/// refusal of another gate.
fn in_doubt(reason: Reason, input: &Input) -> Vote {
    match input.presence {
        Presence::Attended => Vote::Ask(reason),
        Presence::Headless => Vote::Hold(reason),
    }
}

enum MissingIntent<'a> {
    Unknown,
    Closed(&'a Intent),
}

fn find<'a>(id: &str, set: &'a IntentSet, intents: &ScopeFacts) -> Result<&'a Intent, MissingIntent<'a>> {
    let intent = set.find(id).ok_or(MissingIntent::Unknown)?;
    match intents.standings.status(intent) {
        IntentStatus::Done => Err(MissingIntent::Closed(intent)),
        IntentStatus::NotStarted | IntentStatus::InProgress => Ok(intent),
    }
}

enum NotOpen<'a> {
    Done(&'a Intent),
    Not(Reason),
}

/// Returns the intent of a report, if it exists and is open.
fn in_question<'a>(
    id: &Text<64>,
    known: &'a Option<ScopeFacts>,
    input: &Input,
) -> Result<(&'a ScopeFacts, &'a Intent), NotOpen<'a>> {
    let intents = known.as_ref().ok_or_else(|| NotOpen::Not(messages::none_here()))?;
    let set = match &intents.read {
        IntentFiles::Good(set) => set,
        IntentFiles::Bad(bad) => return Err(NotOpen::Not(messages::bad_intents(bad))),
    };
    match find(id.as_str(), set, intents) {
        Ok(intent) => Ok((intents, intent)),
        Err(MissingIntent::Closed(intent)) => Err(NotOpen::Done(intent)),
        Err(MissingIntent::Unknown) => Err(NotOpen::Not(messages::not_found(id.as_str(), set, input))),
    }
}

/// Records that an intent is done. The sender ran the checks; the gate verifies the fingerprint and the
/// criteria.
fn done(id: &Text<64>, fingerprint: &Text<64>, cx: &mut GateCx<'_, ScopeGate>) -> Vote {
    let (intents, intent) = match in_question(id, cx.answer, cx.input) {
        Ok(found) => found,
        Err(NotOpen::Done(_)) => return Vote::Pass,
        Err(NotOpen::Not(reason)) => return Vote::Hold(reason),
    };
    if intent.fingerprint != *fingerprint {
        return Vote::Hold(messages::changed(intent, cx.input));
    }
    let unmet = intents.standings.unmet(intent);
    if !unmet.is_empty() {
        return Vote::Hold(messages::unmet(intent, &unmet));
    }
    let finished = FinishedIntent { id: id.clone(), fingerprint: fingerprint.clone() };
    cx.log(IntentRecord::Done(finished));
    Vote::Pass
}

#[cfg(test)]
mod tests;
