//! Archives learnings that are no longer useful: unused for long and dismissed when shown. Being shown does
//! not keep a learning; being used does.

use serde::{Deserialize, Serialize};

use sprag_base::settings::{SettingKey, SettingSection, Tighten};
use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use crate::learning::{Category, KeepReason, LearningStatus};
use crate::learnings::LearningEntry;
use crate::usage::{Uses, minutes};

/// The number of dismissals before age counts.
const DISMISSALS: u16 = 3;
/// A learning shown this often and never used is archived sooner.
const SHOWN: u16 = 5;
const FAST_DAYS: u32 = 30;
/// The number of days of warning before the archive.
pub const SOON_DAYS: u32 = 7;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecaySettings {
    pub passive_duration_days: u32,
    pub immunity_hit_rate: Immunity,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Immunity {
    pub pattern: f32,
    pub pitfall: f32,
    pub convention: f32,
    pub dependency: f32,
    pub process: f32,
    pub domain: f32,
    pub debugging: f32,
}

impl Default for DecaySettings {
    fn default() -> DecaySettings {
        DecaySettings { passive_duration_days: 90, immunity_hit_rate: Immunity::default() }
    }
}

impl Default for Immunity {
    fn default() -> Immunity {
        Immunity {
            pattern: 0.4,
            pitfall: 0.4,
            convention: 0.3,
            dependency: 0.2,
            process: 0.2,
            domain: 0.3,
            debugging: 0.2,
        }
    }
}

impl Immunity {
    pub fn for_category(&self, category: Category) -> f32 {
        match category {
            Category::Pattern => self.pattern,
            Category::Pitfall => self.pitfall,
            Category::Convention => self.convention,
            Category::Dependency => self.dependency,
            Category::Process => self.process,
            Category::Domain => self.domain,
            Category::Debugging => self.debugging,
        }
    }
}

pub const SECTION: SettingSection = SettingSection {
    name: "decay",
    defaults: "\
# Sprag archives unused learnings; `sprag memory restore` restores one.
[decay]
# Archive learnings that were shown but not used for this many days.
passive_duration_days = 90
",
    keys: &[SettingKey { name: "passive_duration_days", tighten: Tighten::Never }],
};

pub const MORE: &[SettingSection] = &[SettingSection {
    name: "decay.immunity_hit_rate",
    defaults: "\
# Learnings with at least this rate of use are never archived, by category.
[decay.immunity_hit_rate]
pattern = 0.4
pitfall = 0.4
convention = 0.3
dependency = 0.2
process = 0.2
domain = 0.3
debugging = 0.2
",
    keys: &[
        SettingKey { name: "pattern", tighten: Tighten::Never },
        SettingKey { name: "pitfall", tighten: Tighten::Never },
        SettingKey { name: "convention", tighten: Tighten::Never },
        SettingKey { name: "dependency", tighten: Tighten::Never },
        SettingKey { name: "process", tighten: Tighten::Never },
        SettingKey { name: "domain", tighten: Tighten::Never },
        SettingKey { name: "debugging", tighten: Tighten::Never },
    ],
}];

/// The learnings that are due, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decay {
    pub archive: Vec<DecayDue>,
    /// Due within [`SOON_DAYS`].
    pub soon: Vec<DecayDue>,
    /// Due, but requested by a user: only a user can archive them.
    pub flagged: Vec<DecayDue>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DecayDue {
    pub id: Text<64>,
    pub summary: Text<200>,
    pub why: Text<200>,
    /// Days left; 0 once it is due.
    pub days_left: u32,
}

pub fn decay<'a>(
    entries: impl IntoIterator<Item = &'a LearningEntry>,
    policy: &DecaySettings,
    now: Timestamp,
) -> Decay {
    let mut decay = Decay::default();
    for entry in entries {
        let Some(due) = due(entry, policy, now) else { continue };
        let is_requested = entry.learning.candidate.criteria_met.contains(&KeepReason::ExplicitRequest);
        match due.days_left {
            0 if is_requested => decay.flagged.push(due),
            0 => decay.archive.push(due),
            _ if !is_requested => decay.soon.push(due),
            _ => {}
        }
    }
    decay
}

/// Returns when a learning is due. `None`: it stays for now.
fn due(entry: &LearningEntry, policy: &DecaySettings, now: Timestamp) -> Option<DecayDue> {
    let uses = &entry.uses;
    let candidate = &entry.learning.candidate;
    if !matches!(uses.status, LearningStatus::Active | LearningStatus::Stale)
        || is_immune(uses, candidate.category, policy)
    {
        return None;
    }
    let idle = idle_days(entry, now);
    let slow = (uses.dismissed >= DISMISSALS).then_some(policy.passive_duration_days);
    let fast = (uses.surfaced >= SHOWN && is_unused(uses)).then_some(FAST_DAYS);
    let after = slow.into_iter().chain(fast).min()?;
    let days_left = after.saturating_sub(idle);
    if days_left > SOON_DAYS {
        return None;
    }
    let told = if is_unused(uses) {
        "never used".to_owned()
    } else {
        format!("used {} times", u32::from(uses.referred) + u32::from(uses.implied))
    };
    let why = format!(
        "{idle} days without use; shown {} times, dismissed {} times, {told}",
        uses.surfaced, uses.dismissed
    );
    Some(DecayDue {
        id: entry.learning.id.clone(),
        summary: candidate.summary.clone(),
        why: Text::new(why),
        days_left,
    })
}

fn is_immune(uses: &Uses, category: Category, policy: &DecaySettings) -> bool {
    !is_unused(uses) && hit_rate(uses) >= policy.immunity_hit_rate.for_category(category)
}

pub fn is_unused(uses: &Uses) -> bool {
    uses.referred == 0 && uses.implied == 0 && uses.rated_up == 0
}

/// Returns the probability of use when shown: the mean of a Beta(1, 3) distribution after the observations.
/// Implied use counts half.
pub fn hit_rate(uses: &Uses) -> f32 {
    let [referred, implied, up, down, dismissed] =
        [uses.referred, uses.implied, uses.rated_up, uses.rated_down, uses.dismissed].map(f32::from);
    (1.0 + referred + up + 0.5 * implied) / (4.0 + referred + up + implied + down + dismissed)
}

/// Returns the days since the learning was stored, used or verified. Being shown does not count.
pub fn idle_days(entry: &LearningEntry, now: Timestamp) -> u32 {
    let last = minutes(entry.learning.at).max(entry.uses.last_used).max(entry.uses.last_verified);
    minutes(now).saturating_sub(last) / (24 * 60)
}

#[cfg(test)]
#[path = "decay_tests.rs"]
mod tests;
