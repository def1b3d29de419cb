//! Summaries of small records by age: hot for a week, warm for a month, then cold. Warm records are
//! summarised by day, cold ones by week and month; important records are kept whole. Summaries are added to
//! the log; no record is removed. Learnings are not affected.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use sprag_base::ids::SessionId;
use sprag_base::record::{Projection, Record};
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::text::{Text, one_line};
use sprag_base::time::Timestamp;

pub use crate::lifecycle::importance::importance;
use crate::records::{JournalStep, MemoryRecord};

/// The number of days before records are summarised.
pub const HOT_DAYS: i64 = 7;
/// The number of days before days are summarised by week.
pub const WARM_DAYS: i64 = 30;
/// Records from this importance on are kept whole.
const KEPT: f32 = 0.6;
/// The limit on whole records in one summary.
const WHOLE: usize = 20;
/// The limit on tools in one summary.
const TOOLS: usize = 40;
const SESSIONS: usize = 200;
const DAY: i64 = 86_400_000;

/// A summary of records of one span of time. Parts of one span add up in any order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TierSummary {
    pub span: SummarySpan,
    /// The first day of the span.
    pub of: Text<10>,
    pub records: u64,
    /// Counts by kind.
    pub kinds: BTreeMap<Text<64>, u64>,
    /// Calls and failures by tool.
    pub tools: BTreeMap<Text<64>, (u64, u64)>,
    pub sessions: Vec<SessionId>,
    pub kept: Vec<KeptRecord>,
    /// The end in the log, if the summary was read from there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<LogCursor>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SummarySpan {
    #[default]
    Day,
    Week,
    Month,
}

/// A record that a summary keeps whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptRecord {
    pub id: Text<64>,
    pub at: Timestamp,
    pub kind: Text<64>,
    pub text: Text<500>,
    pub importance: f32,
}

/// The position up to which a file of the log has been read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogCursor {
    pub month: Text<7>,
    /// The offset in bytes.
    pub to: u64,
    /// The last record before the offset. It differs after the log was rewritten.
    pub last: Text<64>,
}

/// Reports whether summaries include this kind.
pub fn is_tiered(kind: &str) -> bool {
    let prefixes = ["tool.", "permission.", "stop.", "subagent.", "session."];
    let kinds = ["prompted", "observed", "noticed", "compacting", "warned", "task.completing", "episode"];
    kinds.contains(&kind) || prefixes.iter().any(|prefix| kind.starts_with(prefix))
}

impl TierSummary {
    pub fn of_day(at: Timestamp) -> TierSummary {
        TierSummary { of: day(at), ..TierSummary::default() }
    }

    pub fn add(&mut self, record: &Record) {
        if !is_tiered(&record.kind) {
            return;
        }
        self.records += 1;
        *self.kinds.entry(Text::from(record.kind.as_str())).or_default() += 1;
        if let Some(session) = record.session.as_ref().filter(|it| !self.sessions.contains(it)) {
            self.sessions.push(session.clone());
        }
        if record.kind == "tool.finished" {
            let step = JournalStep::read(record);
            let tool = step.tool.unwrap_or_else(|| Text::from("?"));
            let (calls, failures) = self.tools.entry(tool).or_default();
            *calls += 1;
            *failures += u64::from(step.outcome.as_str() == "failed");
        }
        let importance = importance(record);
        if importance >= KEPT {
            self.kept.push(KeptRecord {
                id: Text::from(record.id.as_str()),
                at: record.at,
                kind: Text::from(record.kind.as_str()),
                text: Text::new(one_line(&describe_record(record))),
                importance,
            });
        }
        self.bound();
    }

    /// Adds another part of the same span, or of a shorter span within it.
    pub fn merge(&mut self, other: &TierSummary) {
        self.records += other.records;
        for (kind, count) in &other.kinds {
            *self.kinds.entry(kind.clone()).or_default() += count;
        }
        for (tool, (calls, failures)) in &other.tools {
            let here = self.tools.entry(tool.clone()).or_default();
            (here.0, here.1) = (here.0 + calls, here.1 + failures);
        }
        for session in other.sessions.iter() {
            if !self.sessions.contains(session) {
                self.sessions.push(session.clone());
            }
        }
        for whole in &other.kept {
            if !self.kept.iter().any(|kept| kept.id == whole.id) {
                self.kept.push(whole.clone());
            }
        }
        self.bound();
    }

    /// Keeps the most important records, independent of their order, and drops duplicates.
    fn bound(&mut self) {
        self.sessions.sort();
        self.sessions.truncate(SESSIONS);
        self.kept.sort_by(|a, b| {
            b.importance.total_cmp(&a.importance).then_with(|| (b.at, &b.id).cmp(&(a.at, &a.id)))
        });
        let mut seen: Vec<Text<500>> = Vec::new();
        self.kept.retain(|whole| {
            let is_new = !seen.contains(&whole.text);
            seen.push(whole.text.clone());
            is_new
        });
        self.kept.truncate(WHOLE);
        while self.tools.len() > TOOLS {
            let fewest = self.tools.iter().min_by_key(|(tool, (calls, _))| (*calls, tool.to_string()));
            let Some(fewest) = fewest.map(|(tool, _)| tool.clone()) else { break };
            self.tools.remove(&fewest);
        }
    }
}

fn describe_record(record: &Record) -> String {
    if let Some(MemoryRecord::Episode(episode)) = MemoryRecord::read(record) {
        return format!("{}: {} -> {}", episode.command, episode.error, episode.fix);
    }
    let step = JournalStep::read(record);
    match record.kind.as_str() {
        "observed" => step.note,
        "prompted" => step.text,
        "tool.finished" => format!("{} {}: {}", step.tool.unwrap_or_default(), step.input, step.error),
        _ => record.kind.clone(),
    }
}

/// All summaries, and the positions in the log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summaries {
    days: BTreeMap<Text<10>, TierSummary>,
    weeks: BTreeMap<Text<10>, TierSummary>,
    months: BTreeMap<Text<10>, TierSummary>,
    cursors: BTreeMap<Text<7>, LogCursor>,
}

impl Summaries {
    pub fn cursor(&self, month: &str) -> Option<&LogCursor> {
        self.cursors.get(&Text::from(month))
    }

    /// Returns weeks and months that are over and have no summary yet. Late records appear only in their day.
    pub fn due(&self, now: Timestamp) -> Vec<TierSummary> {
        let mut due: BTreeMap<(SummarySpan, Text<10>), TierSummary> = BTreeMap::new();
        for (of, summary) in &self.days {
            let Some(first) = Timestamp::parse(&format!("{of}T00:00:00Z")) else { continue };
            let spans = [
                (SummarySpan::Week, monday(first), 7, &self.weeks),
                (SummarySpan::Month, first_of(first), 31, &self.months),
            ];
            for (span, start, days, told) in spans {
                let is_over = now.seconds_since(start) >= (days + WARM_DAYS) * 86_400;
                let of = day(start);
                if is_over && !told.contains_key(&of) {
                    let longer = due.entry((span, of.clone())).or_insert_with(|| TierSummary {
                        span,
                        of,
                        ..TierSummary::default()
                    });
                    longer.merge(summary);
                }
            }
        }
        due.into_values().collect()
    }
}

impl Projection for Summaries {
    const NAME: &'static str = "summaries";
    const VERSION: u32 = 1;
    const KINDS: &'static [&'static str] = &["summary"];

    fn apply(&mut self, record: &Record) {
        let Some(MemoryRecord::Summary(summary)) = MemoryRecord::read(record) else { return };
        if let Some(cursor) = &summary.cursor {
            // Two summaries with the same start cover the same records: the first counts.
            let before = self.cursors.get(&cursor.month).map_or(0, |known| known.to);
            if cursor.to <= before {
                return;
            }
            self.cursors.insert(cursor.month.clone(), cursor.clone());
        }
        let known = match summary.span {
            SummarySpan::Day => &mut self.days,
            SummarySpan::Week => &mut self.weeks,
            SummarySpan::Month => &mut self.months,
        };
        match known.get_mut(&summary.of) {
            Some(known) if summary.span == SummarySpan::Day => known.merge(&summary),
            Some(_) => {}
            None => {
                known.insert(summary.of.clone(), TierSummary { cursor: None, ..summary });
            }
        }
    }
}

pub fn day(at: Timestamp) -> Text<10> {
    Text::new(at.to_string().chars().take(10).collect::<String>())
}

fn monday(at: Timestamp) -> Timestamp {
    let days = at.millis().div_euclid(DAY);
    Timestamp::from_millis((days - (days + 3).rem_euclid(7)) * DAY)
}

fn first_of(at: Timestamp) -> Timestamp {
    Timestamp::parse(&format!("{}-01T00:00:00Z", at.month())).unwrap_or(at)
}

#[cfg(test)]
#[path = "tiers_tests.rs"]
mod tests;
