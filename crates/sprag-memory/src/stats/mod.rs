//! Statistics of the memory: counts by week, results of the write gate, and sessions with and without
//! learnings. A fold of the log; [`crate::stats::insight`] interprets it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use sprag_base::ids::SessionId;
use sprag_base::record::{Projection, REPORTER, Record};
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use crate::learning::{KeepReason, Learning};
use crate::recall::implicit_use::StemSet;
use crate::records::{Decider, MemoryRecord, Rejection, SkippedReflection};
use crate::usage::{self, UsageChange};
pub use sessions::{SessionComparison, SessionMeans, SessionTotals};

pub mod insight;
mod sessions;
#[cfg(test)]
mod tests;

/// The limit on weeks.
const WEEKS: usize = 104;
/// The limits on sessions, skips, users of a learning and rejections.
const SESSIONS: usize = 2000;
const SKIPS: usize = 500;
const USERS: usize = 16;
const REJECTIONS: usize = 500;
const DAY: i64 = 86_400_000;
/// Two summaries with at least this similarity say the same.
const ALIKE: f32 = 0.49;
/// A learning within this many days shows that a skip was wrong.
const SKIP_DAYS: i64 = 14;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    weeks: BTreeMap<i64, Week>,
    sessions: BTreeMap<SessionId, SessionTotals>,
    /// Counts of stored learnings by the criteria they claim.
    criteria: BTreeMap<KeepReason, u32>,
    pub accepted: u32,
    stages: BTreeMap<Text<32>, StepStats>,
    rejections: Vec<Rejection>,
    skips: Vec<Skip>,
    /// Sessions that used a learning, without its own session.
    users: BTreeMap<String, Vec<SessionId>>,
    /// The session of each learning.
    owners: BTreeMap<String, SessionId>,
}

/// The counts of one week.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Week {
    pub sessions: u32,
    pub kept: u32,
    pub rejected: u32,
    pub skipped: u32,
    pub shown: u32,
    pub used: u32,
    pub dismissed: u32,
    pub archived: u32,
}

/// The counts of a step of the write gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepStats {
    pub rejected: u32,
    /// Rejected candidates that were stored later.
    pub missed: u32,
}

/// A reflection that was skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Skip {
    at: Timestamp,
    session: SessionId,
    ticket: Text<128>,
    is_auto: bool,
    is_missed: bool,
}

/// Counts of skipped reflections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Skips {
    pub all: u32,
    pub auto: u32,
    /// Skips followed by a learning from the same work.
    pub missed: u32,
    pub missed_auto: u32,
}

impl Stats {
    /// Returns the last `count` weeks, oldest first, with empty weeks.
    pub fn weeks(&self, count: i64, now: Timestamp) -> Vec<Week> {
        let last = week_of(now);
        (last - count + 1..=last).map(|week| self.weeks.get(&week).copied().unwrap_or_default()).collect()
    }

    pub fn criteria(&self) -> impl Iterator<Item = (KeepReason, u32)> {
        self.criteria.iter().map(|(criterion, count)| (*criterion, *count))
    }

    pub fn stages(&self) -> impl Iterator<Item = (&str, StepStats)> {
        self.stages.iter().map(|(stage, counts)| (stage.as_str(), *counts))
    }

    pub fn rejected(&self) -> u32 {
        self.stages.values().map(|stage| stage.rejected).sum()
    }

    pub fn missed(&self) -> u32 {
        self.stages.values().map(|stage| stage.missed).sum()
    }

    /// Returns the share of candidates that were stored.
    pub fn acceptance(&self) -> Option<f32> {
        let all = self.accepted + self.rejected();
        (all > 0).then(|| self.accepted as f32 / all as f32)
    }

    pub fn skips(&self) -> Skips {
        let count = |fits: &dyn Fn(&&Skip) -> bool| self.skips.iter().filter(fits).count() as u32;
        Skips {
            all: count(&|_| true),
            auto: count(&|skip| skip.is_auto),
            missed: count(&|skip| skip.is_missed),
            missed_auto: count(&|skip| skip.is_missed && skip.is_auto),
        }
    }

    /// Returns the number of other sessions that used a learning.
    pub fn users(&self, id: &str) -> usize {
        self.users.get(id).map_or(0, Vec::len)
    }

    pub fn compared(&self) -> SessionComparison {
        SessionComparison::from_totals(self.sessions.values())
    }

    fn week(&mut self, at: Timestamp) -> &mut Week {
        let week = week_of(at);
        if !self.weeks.contains_key(&week) && self.weeks.len() >= WEEKS {
            self.weeks.pop_first();
        }
        self.weeks.entry(week).or_default()
    }

    fn kept(&mut self, learning: &Learning, at: Timestamp) {
        self.accepted = self.accepted.saturating_add(1);
        self.week(at).kept += 1;
        self.owners.insert(learning.id.to_string(), learning.session.clone());
        let candidate = &learning.candidate;
        candidate
            .criteria_met
            .iter()
            .for_each(|criterion| *self.criteria.entry(*criterion).or_default() += 1);
        let summary = StemSet::from_texts([candidate.summary.as_str()]);
        let is_same = |rejection: &Rejection| {
            rejection.stage.as_str() != "duplicate"
                && summary.overlap(&StemSet::from_texts([rejection.summary.as_str()])) >= ALIKE
        };
        if let Some(found) = self.rejections.iter().position(is_same) {
            let rejection = self.rejections.remove(found);
            // Faults of the schema are meant to be fixed, so they do not count as missed.
            if rejection.stage.as_str() != "schema" {
                self.stages.entry(rejection.stage).or_default().missed += 1;
            }
        }
        let ticket = learning.ticket.clone().unwrap_or_default();
        let is_soon = |skip: &Skip| (0..SKIP_DAYS * 86_400).contains(&at.seconds_since(skip.at));
        let is_same_work =
            |skip: &Skip| skip.session == learning.session || (!ticket.is_empty() && skip.ticket == ticket);
        let missed = self.skips.iter_mut().filter(|skip| is_soon(skip) && is_same_work(skip));
        missed.for_each(|skip| skip.is_missed = true);
    }

    fn rejected_one(&mut self, rejection: Rejection, at: Timestamp) {
        self.week(at).rejected += 1;
        self.stages.entry(rejection.stage.clone()).or_default().rejected += 1;
        push(&mut self.rejections, rejection, REJECTIONS);
    }

    fn skipped(&mut self, skipped: SkippedReflection, record: &Record) {
        self.week(record.at).skipped += 1;
        let Some(session) = record.session.clone() else { return };
        let ticket = skipped.ticket.map(|ticket| ticket.id).unwrap_or_default();
        let is_auto = skipped.decider == Decider::Auto;
        push(&mut self.skips, Skip { at: record.at, session, ticket, is_auto, is_missed: false }, SKIPS);
    }

    fn happened(&mut self, id: &str, change: UsageChange, record: &Record) {
        let week = self.week(record.at);
        match change {
            UsageChange::Surfaced => week.shown += 1,
            UsageChange::Dismissed => week.dismissed += 1,
            UsageChange::Archived => week.archived += 1,
            UsageChange::Referred | UsageChange::Implied | UsageChange::Rated { is_useful: true } => {
                week.used += 1;
                let Some(session) = &record.session else { return };
                let users = self.users.entry(id.to_owned()).or_default();
                if self.owners.get(id) != Some(session) && !users.contains(session) && users.len() < USERS {
                    users.push(session.clone());
                }
            }
            _ => {}
        }
    }

    /// Returns the totals of a record's session. A report of a command starts no session.
    fn run(&mut self, record: &Record) -> Option<&mut SessionTotals> {
        let session = record.session.as_ref()?;
        if !self.sessions.contains_key(session) {
            if record.actor.as_ref().is_none_or(|actor| actor.client.as_str() == REPORTER) {
                return None;
            }
            if self.sessions.len() >= SESSIONS {
                let oldest = self.sessions.iter().min_by_key(|(_, run)| run.started);
                let oldest = oldest.map(|(session, _)| session.clone())?;
                self.sessions.remove(&oldest);
            }
            self.week(record.at).sessions += 1;
            self.sessions.insert(session.clone(), SessionTotals::new(record.at));
        }
        self.sessions.get_mut(session)
    }
}

impl Projection for Stats {
    const NAME: &'static str = "stats";
    const VERSION: u32 = 1;
    const KINDS: &'static [&'static str] =
        &["learning.", "reflection.", "session.", "tool.finished", "prompted", "verified", "debt.opened"];

    fn apply(&mut self, record: &Record) {
        if let Some(run) = self.run(record) {
            run.add_record(record);
        }
        match MemoryRecord::read(record) {
            Some(MemoryRecord::Accepted(learning)) => self.kept(&learning, record.at),
            Some(MemoryRecord::Rejected(rejection)) => self.rejected_one(rejection, record.at),
            Some(MemoryRecord::Skipped(skipped)) => self.skipped(skipped, record),
            Some(told) => {
                for (id, change) in usage::changes(&told) {
                    self.happened(&id, change, record);
                }
            }
            None => {}
        }
    }
}

/// Returns the number of weeks since 1970, from Monday to Sunday.
fn week_of(at: Timestamp) -> i64 {
    (at.millis().div_euclid(DAY) + 3).div_euclid(7)
}

fn push<T>(list: &mut Vec<T>, item: T, most: usize) {
    if list.len() >= most {
        list.remove(0);
    }
    list.push(item);
}

/// Renders values as bars of eight heights. Zero is a dot, to distinguish it from small values.
pub fn sparkline(values: &[u32]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().max().unwrap_or(0).max(1) as usize;
    let bar = |value: &u32| match *value {
        0 => '.',
        value => BARS[(value as usize * BARS.len()).div_ceil(most) - 1],
    };
    values.iter().map(bar).collect()
}

/// Compares the last four weeks with the four before, in percent. `None`: the weeks before are empty.
pub fn trend(values: &[u32]) -> Option<i32> {
    let sum = |weeks: &[u32]| weeks.iter().map(|&count| i64::from(count)).sum::<i64>();
    let at = values.len().checked_sub(8)?;
    let (before, now) = (sum(&values[at..at + 4]), sum(&values[at + 4..]));
    (before > 0).then(|| i32::try_from((now - before) * 100 / before).unwrap_or(i32::MAX))
}
