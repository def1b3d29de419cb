//! Shows learnings of earlier sessions where they may help: at the start, with each prompt, and at the first
//! call that names a file. Sprag shows each learning once and only if it is likely to help. Until the session
//! ends, it follows whether a shown learning was cited, used or ignored.

pub(crate) mod messages;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use sprag_base::settings::SettingSection;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_memory::destination::Destination;
use sprag_memory::recall::implicit_use::{StemSet, Terms, Trail, cited};
use sprag_memory::recall::{
    LearningChange, Notice, RecallOccasion, RecallQuestion, Recalled, RecalledLearning, SESSION_TOKENS,
};
use sprag_memory::records::{LearningIds as AboutLearnings, MemoryRecord, ShownRecord, Surfaced};
use sprag_policy::call::ToolCall;

use crate::event::{Actor, Event, Input, PromptAuthor, SessionPurpose, StartSource, StopRequest};
use crate::facts::SharedFacts;
use crate::gates::{Ask, Gate, GateCx};
use crate::report::Report;
use crate::verdict::Vote;
use messages::RecallLine;
pub use settings::{Settings, Strategy};

/// Maximum number of shown learnings that a session remembers. The token budget allows no more.
const REMEMBERED: usize = 100;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecallGate {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    shown: Vec<ShownLearning>,
    /// Tokens spent so far.
    #[serde(skip_serializing_if = "super::is_zero")]
    tokens: u32,
    /// The memory has learnings, and no call has named a file yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    awaits_tool: bool,
    /// The agent skipped the reflection, so an unused learning proves nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    has_skipped: bool,
    /// Learnings that the agent reported as useful. A second report does not count again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    referred: Vec<Text<64>>,
}

/// A learning that this session has seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShownLearning {
    pub id: Text<64>,
    /// Time when the session last saw its text.
    pub at: Timestamp,
    /// The learning left the context and may be shown again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_forgotten: bool,
    #[serde(default, skip_serializing_if = "ShownFate::is_open")]
    fate: ShownFate,
    /// Sprag reported to the session that the learning is no longer in use.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_told: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_personal: bool,
    terms: Terms,
    #[serde(default)]
    trail: Trail,
}

impl ShownLearning {
    fn home(&self) -> Destination {
        if self.is_personal { Destination::Personal } else { Destination::Project }
    }
}

/// Asks the memory for learnings.
pub struct Question {
    pub occasion: RecallOccasion,
    pub query: RecallQuestion,
    /// Learnings that the session has seen.
    pub shown: Vec<ShownBefore>,
}

/// A learning that need not be found again, but may have changed.
pub struct ShownBefore {
    pub id: Text<64>,
    /// Time when the session last saw its text.
    pub at: Timestamp,
    /// Sprag reported to the session that the learning is no longer in use.
    pub is_told: bool,
}

/// The use of a shown learning by the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ShownFate {
    #[default]
    Open,
    Implied,
    Referred,
    Dismissed,
}

impl ShownFate {
    fn is_open(&self) -> bool {
        *self == ShownFate::Open
    }
}

impl Gate for RecallGate {
    type Settings = Settings;
    type Question = Question;
    type Answer = Option<Recalled>;

    const ABOUT: &'static str = "shows learnings of earlier sessions where they may help";
    const SECTION: SettingSection = settings::SECTION;

    fn ask(&self, ask: &Ask<'_, Settings>, _shared: &SharedFacts) -> Option<Question> {
        let occasion = self.occasion(ask)?;
        let shown =
            self.shown().map(|seen| ShownBefore { id: seen.id.clone(), at: seen.at, is_told: seen.is_told });
        Some(Question { occasion, query: query(ask.input), shown: shown.collect() })
    }

    fn step(&mut self, cx: &mut GateCx<'_, RecallGate>) -> Vote {
        let occasion = self.occasion(&Ask { session: cx.session, input: cx.input, settings: cx.settings });
        match &cx.input.event {
            Event::SessionStarted { source } => self.started(*source),
            Event::Prompted { text, author: PromptAuthor::User } => self.prompted(text),
            Event::ToolRequested { call } => self.requested(call),
            Event::StopRequested(stop) if cx.input.actor == Actor::Main => self.stopped(stop, cx),
            Event::SessionEnded { .. } => self.ended(cx),
            Event::Reported(report) => self.reported(report, cx),
            _ => {}
        }
        match occasion {
            Some(occasion) => self.show(occasion, cx),
            None => Vote::Pass,
        }
    }

    fn heard(&mut self, cx: &mut GateCx<'_, RecallGate>) {
        if let Event::StopRequested(stop) = &cx.input.event
            && cx.input.actor == Actor::Main
        {
            self.stopped(stop, cx);
        }
    }
}

impl RecallGate {
    /// Returns the learnings in context. The host skips them and reports their changes.
    fn shown(&self) -> impl Iterator<Item = &ShownLearning> {
        self.shown.iter().filter(|seen| !seen.is_forgotten)
    }

    fn occasion(&self, ask: &Ask<'_, Settings>) -> Option<RecallOccasion> {
        let is_own = ask.input.errand == SessionPurpose::Own && ask.input.actor == Actor::Main;
        if !is_own || ask.settings.strategy == Strategy::Off || self.tokens >= SESSION_TOKENS {
            return None;
        }
        match &ask.input.event {
            Event::SessionStarted { .. } => Some(RecallOccasion::Start),
            Event::Prompted { author: PromptAuthor::User, .. } => Some(RecallOccasion::Prompt),
            Event::ToolRequested { call } if self.awaits_tool && !call.paths.is_empty() => {
                Some(RecallOccasion::Tool)
            }
            _ => None,
        }
    }

    fn started(&mut self, source: StartSource) {
        // Shown learnings left the context together with everything else.
        if matches!(source, StartSource::Compact | StartSource::Clear) {
            self.shown.iter_mut().for_each(|seen| seen.is_forgotten = true);
        }
    }

    fn prompted(&mut self, text: &str) {
        if self.shown.is_empty() {
            return;
        }
        let words = StemSet::from_texts([text]);
        self.shown.iter_mut().for_each(|seen| seen.trail = Trail::begin(&seen.terms, &words));
    }

    fn requested(&mut self, call: &ToolCall) {
        self.awaits_tool &= call.paths.is_empty();
        if self.shown.is_empty() {
            return;
        }
        // Commands and written texts.
        let members = call.input.as_object().into_iter().flat_map(|members| members.values());
        self.note(&StemSet::from_texts(members.filter_map(Value::as_str)));
    }

    fn note(&mut self, words: &StemSet) {
        self.shown.iter_mut().for_each(|seen| seen.trail.note(&seen.terms, words));
    }

    fn stopped(&mut self, stop: &StopRequest, cx: &mut GateCx<'_, RecallGate>) {
        if self.shown.is_empty() {
            return;
        }
        let message = stop.last_message.as_str();
        self.note(&StemSet::from_texts([message]));
        self.cited_in(message, "cited in the answer", cx);
        let mut implied = Vec::new();
        for seen in
            self.shown.iter_mut().filter(|seen| matches!(seen.fate, ShownFate::Open | ShownFate::Dismissed))
        {
            if seen.trail.is_implied(&seen.terms) {
                seen.fate = ShownFate::Implied;
                implied.push((seen.home(), seen.id.clone()));
            }
        }
        tell_each(MemoryRecord::Implied, implied, "its words occur in the work", cx);
    }

    fn cited_in(&mut self, text: &str, how: &str, cx: &mut GateCx<'_, RecallGate>) {
        let ids: Vec<Text<64>> = self.shown.iter().map(|seen| seen.id.clone()).collect();
        let ids: Vec<&str> = ids.iter().map(Text::as_str).collect();
        let mut referred = Vec::new();
        for id in cited(text, &ids) {
            if let Some(seen) =
                self.shown.iter_mut().find(|seen| seen.id.as_str() == id && seen.fate != ShownFate::Referred)
            {
                seen.fate = ShownFate::Referred;
                referred.push((seen.home(), seen.id.clone()));
            }
        }
        tell_each(MemoryRecord::Referred, referred, how, cx);
    }

    /// Dismisses the unused learnings of a session. Each is dismissed once, because a session may end and be
    /// resumed several times with the learnings in context.
    fn ended(&mut self, cx: &mut GateCx<'_, RecallGate>) {
        if self.has_skipped {
            return;
        }
        let mut in_vain = Vec::new();
        for seen in self.shown.iter_mut().filter(|seen| seen.fate == ShownFate::Open) {
            seen.fate = ShownFate::Dismissed;
            in_vain.push((seen.home(), seen.id.clone()));
        }
        tell_each(MemoryRecord::Dismissed, in_vain, "shown but not used", cx);
    }

    fn reported(&mut self, report: &Report, cx: &mut GateCx<'_, RecallGate>) {
        match report {
            Report::Referred { ids, how } => {
                let is_new = |id: &&Text<64>| !self.has_referred(id.as_str());
                let new: BTreeSet<Text<64>> = ids.iter().filter(is_new).cloned().collect();
                if !new.is_empty() {
                    let ids = new.iter().cloned().collect();
                    cx.log(MemoryRecord::Referred(AboutLearnings { ids, how: how.clone() }));
                }
                self.referred.extend(new);
                let extra = self.referred.len().saturating_sub(REMEMBERED);
                self.referred.drain(..extra);
                let is_named =
                    |seen: &ShownLearning| ids.iter().any(|id| names(id.as_str(), seen.id.as_str()));
                self.shown
                    .iter_mut()
                    .filter(|seen| is_named(seen))
                    .for_each(|seen| seen.fate = ShownFate::Referred);
            }
            Report::Skipped { .. } => self.has_skipped = true,
            Report::Reflected { submission, .. } => {
                self.has_skipped = false;
                self.cited_in(submission.text(), "cited in a reflection", cx);
            }
            _ => {}
        }
    }

    fn show(&mut self, occasion: RecallOccasion, cx: &mut GateCx<'_, RecallGate>) -> Vote {
        let Some(recalled) = &cx.answer else {
            return Vote::Pass;
        };
        if occasion != RecallOccasion::Tool {
            self.awaits_tool = recalled.is_any;
        }
        let now = cx.input.at;
        let notices: Vec<&Notice> =
            recalled.notices.iter().filter(|notice| self.tell_of(notice, now)).collect();
        let left = SESSION_TOKENS.saturating_sub(self.tokens).min(occasion.tokens());
        let fresh = recalled.found.iter().filter(|found| !self.has_seen(found));
        let lines = messages::lines(fresh, left);
        if lines.is_empty() && notices.is_empty() {
            return Vote::Pass;
        }
        let note = messages::note(&lines, &notices, &cx.input.session_flag());
        let asked = query(cx.input).text;
        for line in &lines {
            self.tokens = self.tokens.saturating_add(line.tokens);
            self.remember(line.found, &asked, now);
        }
        for place in [Destination::Project, Destination::Personal] {
            let here: Vec<&RecallLine<'_>> = lines
                .iter()
                .filter(|line| line.found.is_personal == (place == Destination::Personal))
                .collect();
            surfaced(place, occasion, &here, cx);
        }
        Vote::Note(note)
    }

    /// Reports whether a notice is new to the session, and marks it as shown.
    fn tell_of(&mut self, notice: &Notice, now: Timestamp) -> bool {
        let seen = self.shown.iter_mut().find(|seen| seen.id == notice.id && !seen.is_forgotten);
        let Some(seen) = seen else { return false };
        match &notice.what {
            // The learning may be corrected again by a user whose clock is ahead.
            LearningChange::Corrected { at, .. } if *at > seen.at => {
                (seen.at, seen.is_told) = ((*at).max(now), false);
                true
            }
            LearningChange::Corrected { .. } => false,
            LearningChange::Superseded { .. } | LearningChange::Archived => {
                !std::mem::replace(&mut seen.is_told, true)
            }
        }
    }

    fn has_referred(&self, id: &str) -> bool {
        self.referred.iter().any(|known| known.as_str() == id)
            || self.shown.iter().any(|seen| seen.id.as_str() == id && seen.fate == ShownFate::Referred)
    }

    fn has_seen(&self, found: &RecalledLearning) -> bool {
        self.shown().any(|seen| seen.id == found.id)
    }

    fn remember(&mut self, found: &RecalledLearning, asked: &str, now: Timestamp) {
        let fate = if self.has_referred(found.id.as_str()) {
            Some(ShownFate::Referred)
        } else {
            self.shown.iter().find(|seen| seen.id == found.id).map(|seen| seen.fate)
        };
        self.shown.retain(|seen| seen.id != found.id);
        if self.shown.len() >= REMEMBERED {
            self.shown.remove(0);
        }
        self.shown.push(ShownLearning {
            id: found.id.clone(),
            at: now,
            is_forgotten: false,
            fate: fate.unwrap_or_default(),
            is_told: false,
            is_personal: found.is_personal,
            trail: Trail::begin(&found.terms, &StemSet::from_texts([asked])),
            terms: found.terms.clone(),
        });
    }
}

/// Reports whether a prefix is long enough to name an id.
fn names(prefix: &str, id: &str) -> bool {
    prefix.len() >= sprag_memory::recall::implicit_use::PREFIX && id.starts_with(prefix)
}

/// Records the shown learnings at the place where they are stored.
fn surfaced(
    place: Destination,
    occasion: RecallOccasion,
    lines: &[&RecallLine<'_>],
    cx: &mut GateCx<'_, RecallGate>,
) {
    let shown: Vec<ShownRecord> = lines
        .iter()
        .map(|line| ShownRecord {
            id: line.found.id.clone(),
            score: line.found.score,
            why: Some(line.found.why.clone()),
            tokens: Some(line.tokens),
        })
        .collect();
    let changed = lines.iter().filter(|line| line.found.has_changed).map(|line| line.found.id.clone());
    let changed: Vec<Text<64>> = changed.collect();
    if !shown.is_empty() {
        let told = Surfaced { occasion: Text::from(occasion.name()), shown };
        cx.keep(place, MemoryRecord::Surfaced(told));
    }
    tell(place, MemoryRecord::WentStale, changed, "its evidence changed", cx);
}

fn tell(
    place: Destination,
    record: fn(AboutLearnings) -> MemoryRecord,
    ids: Vec<Text<64>>,
    how: &str,
    cx: &mut GateCx<'_, RecallGate>,
) {
    if !ids.is_empty() {
        cx.keep(place, record(AboutLearnings { ids, how: Text::from(how) }));
    }
}

/// Records the same fact about learnings in both places.
fn tell_each(
    record: fn(AboutLearnings) -> MemoryRecord,
    seen: Vec<(Destination, Text<64>)>,
    how: &str,
    cx: &mut GateCx<'_, RecallGate>,
) {
    for place in [Destination::Project, Destination::Personal] {
        let ids = seen.iter().filter(|(home, _)| *home == place).map(|(_, id)| id.clone()).collect();
        tell(place, record, ids, how, cx);
    }
}

/// Returns the question to the memory for this event.
fn query(input: &Input) -> RecallQuestion {
    match &input.event {
        Event::Prompted { text, .. } => RecallQuestion::from_prompt(text, &input.root),
        Event::ToolRequested { call } => RecallQuestion::from_paths(&call.paths, &input.root),
        _ => RecallQuestion::default(),
    }
}
