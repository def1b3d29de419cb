//! Insights from the counts: one sentence each, with the next step. An insight changes nothing. Some name a
//! setting that a person may change with `sprag memory stats --apply`.

use std::collections::BTreeMap;

use serde::Serialize;

use sprag_base::text::{Text, one_line};
use sprag_base::time::Timestamp;

use crate::learning::{Category, LearningStatus};
use crate::learnings::{LearningEntry, Learnings};
use crate::lifecycle::decay::{self, decay, hit_rate, idle_days};
use crate::stats::Stats;
use crate::usage::Uses;

/// The limit on insights of one kind.
const EACH: usize = 3;
/// The required number of candidates, learnings or judgements for a share.
const ENOUGH: u32 = 10;
const CROSS_SESSIONS: usize = 3;
const STALE_RATE: f32 = 0.5;
const STALE_DAYS: u32 = 60;
const LOW_RATE: f32 = 0.3;
const RARE_RATE: f32 = 0.7;
const RARE_SHOWN: u16 = 5;
const STAMP_SHARE: f32 = 0.9;
const STRICT_SHARE: f32 = 0.5;
const LOOSE_SHARE: f32 = 0.95;
const OVER_SHOWN: u16 = 5;
const OVER_RATE: f32 = 0.1;
/// From this many on, the setting is the cause and not one learning.
const OVER_MANY: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum InsightKind {
    DecayWarning,
    HighCrossPollination,
    StaleTop,
    LowHitCategory,
    HighValueRare,
    RubberStamping,
    GateTooStrict,
    GateTooLoose,
    SkipMiss,
    OverSurfaced,
}

sprag_base::names! {
    pub fn name(InsightKind):
    DecayWarning = "DecayWarning", HighCrossPollination = "HighCrossPollination", StaleTop = "StaleTop",
    LowHitCategory = "LowHitCategory", HighValueRare = "HighValueRare", RubberStamping = "RubberStamping",
    GateTooStrict = "GateTooStrict", GateTooLoose = "GateTooLoose", SkipMiss = "SkipMiss",
    OverSurfaced = "OverSurfaced"
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Insight {
    pub kind: InsightKind,
    /// The observation, as a lower-case fragment.
    pub what: Text<400>,
    /// The next step.
    pub next: Text<400>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<Text<64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<SuggestedSetting>,
}

/// A setting that would help. Settings of the write gate and of decay are never suggested; people decide
/// about those alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SuggestedSetting {
    pub key: &'static str,
    pub to: String,
}

/// The current values of the settings that matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CurrentSettings {
    /// `retrieval.strategy`
    pub strategy: String,
    /// `gate.auto_skip.line_threshold` and `.decider`
    pub line_threshold: u64,
    pub decider: String,
}

/// Returns all insights, ordered by kind.
pub fn insights(
    learnings: &Learnings,
    stats: &Stats,
    policy: &decay::DecaySettings,
    settings: &CurrentSettings,
    now: Timestamp,
) -> Vec<Insight> {
    let mut found = Vec::new();
    decays(learnings, policy, now, &mut found);
    of_entries(learnings, stats, now, &mut found);
    categories(learnings, &mut found);
    stamping(stats, &mut found);
    gate(learnings, stats, &mut found);
    skips(stats, settings, &mut found);
    surfacing(learnings, settings, &mut found);
    found.sort_by_key(|insight| insight.kind);
    found
}

fn decays(learnings: &Learnings, policy: &decay::DecaySettings, now: Timestamp, found: &mut Vec<Insight>) {
    let decay = decay(learnings.in_use(), policy, now);
    let mut soon: Vec<_> = decay.soon.iter().chain(&decay.archive).chain(&decay.flagged).collect();
    soon.sort_by_key(|due| due.days_left);
    let more = soon.len().saturating_sub(EACH);
    for due in soon.into_iter().take(EACH) {
        let when = match due.days_left {
            0 => "is due to be archived".to_owned(),
            1 => "will be archived in a day".to_owned(),
            days => format!("will be archived in {days} days"),
        };
        found.push(Insight {
            kind: InsightKind::DecayWarning,
            what: Text::new(format!("{} {when}: {}", named(&due.id, due.summary.as_str()), due.why)),
            next: Text::new(format!("if it is still true, run `sprag memory verify {}`", due.id)),
            ids: vec![due.id.clone()],
            change: None,
        });
    }
    if let Some(last) = found.last_mut().filter(|_| more > 0) {
        last.what = Text::new(format!("{}; and {more} more", last.what));
    }
}

fn of_entries(learnings: &Learnings, stats: &Stats, now: Timestamp, found: &mut Vec<Insight>) {
    let mut counts: BTreeMap<InsightKind, usize> = BTreeMap::new();
    for entry in learnings.in_use() {
        let Some((kind, what, next)) = of_entry(entry, stats, now) else { continue };
        let count = counts.entry(kind).or_default();
        *count += 1;
        if *count <= EACH {
            found.push(Insight {
                kind,
                what: Text::new(what),
                next: Text::new(next),
                ids: vec![entry.learning.id.clone()],
                change: None,
            });
        }
    }
}

fn of_entry(entry: &LearningEntry, stats: &Stats, now: Timestamp) -> Option<(InsightKind, String, String)> {
    let (id, uses) = (&entry.learning.id, &entry.uses);
    let name = named(id, entry.learning.candidate.summary.as_str());
    let users = stats.users(id.as_str());
    let idle = idle_days(entry, now);
    if users >= CROSS_SESSIONS {
        let next = format!("widen its scope with `sprag memory promote {id} --to team`");
        return Some((
            InsightKind::HighCrossPollination,
            format!("{name} was used in {users} other sessions"),
            next,
        ));
    }
    if hit_rate(uses) >= STALE_RATE && idle >= STALE_DAYS {
        let what = format!("{name} was often used, but not for {idle} days");
        return Some((
            InsightKind::StaleTop,
            what,
            format!("if it is still true, run `sprag memory verify {id}`"),
        ));
    }
    let rate = observed(uses).filter(|_| judged(uses) >= 2)?;
    if rate > RARE_RATE && uses.surfaced < RARE_SHOWN {
        let what = format!("{name} is useful, but was shown only {} times", uses.surfaced);
        let next = format!("add tags or a trigger with `sprag memory edit {id}`");
        return Some((InsightKind::HighValueRare, what, next));
    }
    None
}

fn categories(learnings: &Learnings, found: &mut Vec<Insight>) {
    for &category in Category::ALL {
        let of = learnings.all().filter(|entry| entry.learning.candidate.category == category);
        let (mut hits, mut trials) = (0.0, 0);
        for entry in of {
            hits += hits_of(&entry.uses);
            trials += judged(&entry.uses);
        }
        if trials >= ENOUGH && hits / (trials as f32) < LOW_RATE {
            found.push(Insight {
                kind: InsightKind::LowHitCategory,
                what: Text::new(format!(
                    "learnings of category `{}` were used {} of {trials} times",
                    category.name(),
                    hits.round()
                )),
                next: Text::new(format!(
                    "archive the weak ones; list them with `sprag memory list --category {}`",
                    category.name()
                )),
                ids: Vec::new(),
                change: None,
            });
        }
    }
}

fn stamping(stats: &Stats, found: &mut Vec<Insight>) {
    if stats.accepted < ENOUGH {
        return;
    }
    for (criterion, count) in stats.criteria() {
        let share = count as f32 / stats.accepted as f32;
        if share > STAMP_SHARE {
            found.push(Insight {
                kind: InsightKind::RubberStamping,
                what: Text::new(format!(
                    "{:.0}% of {} learnings claim `{}`",
                    share * 100.0,
                    stats.accepted,
                    criterion.name()
                )),
                next: Text::from("check criteria with `sprag config set gate.write_gate.mode strict`"),
                ids: Vec::new(),
                change: None,
            });
        }
    }
}

fn gate(learnings: &Learnings, stats: &Stats, found: &mut Vec<Insight>) {
    let all = stats.accepted + stats.rejected();
    let Some(share) = stats.acceptance().filter(|_| all >= ENOUGH) else { return };
    let missed = stats.missed();
    let missed_by: Vec<String> = stats
        .stages()
        .filter(|(_, stage)| stage.missed > 0)
        .map(|(name, stage)| format!("{} of {} at `{}`", stage.missed, stage.rejected, one_line(name)))
        .collect();
    if share < STRICT_SHARE || missed > 0 {
        let misses = match missed {
            0 => String::new(),
            _ => format!("; rejected at first: {}", missed_by.join(", ")),
        };
        found.push(Insight {
            kind: InsightKind::GateTooStrict,
            what: Text::new(format!("{} of {all} candidates were stored{misses}", stats.accepted)),
            next: Text::from(
                "if good candidates were rejected, run `sprag config set gate.write_gate.mode lenient`",
            ),
            ids: Vec::new(),
            change: None,
        });
    }
    let (hits, trials) = learnings
        .all()
        .fold((0.0, 0), |(hits, trials), entry| (hits + hits_of(&entry.uses), trials + judged(&entry.uses)));
    if share > LOOSE_SHARE && trials >= ENOUGH && hits / (trials as f32) < LOW_RATE {
        found.push(Insight {
            kind: InsightKind::GateTooLoose,
            what: Text::new(format!(
                "{} of {all} candidates were stored, but learnings were used {} of {trials} times",
                stats.accepted,
                hits.round()
            )),
            next: Text::from("sprag config set gate.write_gate.mode strict"),
            ids: Vec::new(),
            change: None,
        });
    }
}

fn skips(stats: &Stats, settings: &CurrentSettings, found: &mut Vec<Insight>) {
    let skips = stats.skips();
    if skips.missed == 0 {
        return;
    }
    let change = match (skips.missed_auto, settings.decider.as_str(), settings.line_threshold) {
        (0, _, _) => None,
        (_, "always", _) => Some(SuggestedSetting { key: "gate.auto_skip.decider", to: "agent".to_owned() }),
        (_, _, 0 | 1) => None,
        (_, _, lines) => Some(SuggestedSetting {
            key: "gate.auto_skip.line_threshold",
            to: (lines / 2).max(1).to_string(),
        }),
    };
    let next = match &change {
        Some(_) => "ask about smaller changes with `sprag memory stats --apply`",
        None => "ask for a reflection also after small changes",
    };
    found.push(Insight {
        kind: InsightKind::SkipMiss,
        what: Text::new(format!(
            "{} of {} skipped reflections were followed by a learning from the same work",
            skips.missed, skips.all
        )),
        next: Text::from(next),
        ids: Vec::new(),
        change,
    });
}

fn surfacing(learnings: &Learnings, settings: &CurrentSettings, found: &mut Vec<Insight>) {
    let is_over = |uses: &Uses| {
        uses.surfaced >= OVER_SHOWN
            && judged(uses) >= u32::from(OVER_SHOWN)
            && observed(uses).is_some_and(|rate| rate <= OVER_RATE)
    };
    let over: Vec<&LearningEntry> = learnings
        .all()
        .filter(|entry| {
            matches!(entry.status(), LearningStatus::Active | LearningStatus::Stale) && is_over(&entry.uses)
        })
        .collect();
    let Some(first) = over.first() else { return };
    let narrower = match settings.strategy.as_str() {
        "aggressive" => Some("moderate"),
        "moderate" => Some("conservative"),
        _ => None,
    };
    let change = narrower
        .filter(|_| over.len() >= OVER_MANY)
        .map(|to| SuggestedSetting { key: "retrieval.strategy", to: to.to_owned() });
    let name = named(&first.learning.id, first.learning.candidate.summary.as_str());
    let what = match over.len() {
        1 => format!("{name} was shown {} times and rarely used", first.uses.surfaced),
        count => format!("{count} learnings are shown often and rarely used, for example {name}"),
    };
    let next = match &change {
        Some(_) => "show fewer with `sprag memory stats --apply`".to_owned(),
        None => format!("add `when_not`, or archive it with `sprag memory archive {}`", first.learning.id),
    };
    found.push(Insight {
        kind: InsightKind::OverSurfaced,
        what: Text::new(what),
        next: Text::new(next),
        ids: over.iter().take(EACH).map(|entry| entry.learning.id.clone()).collect(),
        change,
    });
}

fn hits_of(uses: &Uses) -> f32 {
    f32::from(uses.referred) + f32::from(uses.rated_up) + 0.5 * f32::from(uses.implied)
}

/// Returns the number of judgements of a learning.
pub fn judged(uses: &Uses) -> u32 {
    [uses.referred, uses.rated_up, uses.implied, uses.rated_down, uses.dismissed].map(u32::from).iter().sum()
}

/// Returns the share of uses among the judgements.
pub fn observed(uses: &Uses) -> Option<f32> {
    let judged = judged(uses);
    (judged > 0).then(|| hits_of(uses) / judged as f32)
}

fn named(id: &Text<64>, summary: &str) -> String {
    let short: String = id.as_str().chars().take(13).collect();
    let summary: Text<60> = Text::new(one_line(summary));
    format!("`{short}` ({summary})")
}

#[cfg(test)]
#[path = "insight_tests.rs"]
mod tests;
