//! The recall floor for each role and scope, adjusted by the use of shown learnings. Each version names its
//! basis and can be reverted. Steps are small and need enough data.

use serde::{Deserialize, Serialize};

use sprag_base::record::{Projection, Record};
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;

pub use crate::recall::feedback::Feedback;
use crate::records::MemoryRecord;

/// The required number of judgements before the floor moves.
const ENOUGH: u32 = 50;
/// The largest step, as a share of the floor.
const STEP: f32 = 0.1;
/// The bounds of the floor: learnings are never all shown and never all hidden.
const LOWEST: f32 = 0.15;
const HIGHEST: f32 = 0.85;
/// The normal range of the hit rate.
const LEAST: f32 = 0.25;
const MOST: f32 = 0.6;
/// The limit on versions of one role and scope.
const VERSIONS: usize = 50;

/// The role and scope that a version applies to.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FloorAudience {
    /// The role of the agent: `main`, or the type of a sub-agent.
    pub role: Text<64>,
    /// The scope of the learnings.
    pub scope: Text<16>,
}

/// One version, as recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FloorVersion {
    pub whom: FloorAudience,
    pub version: u32,
    /// The previous version; `None` for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// The factor for the configured floor.
    pub floor: f32,
    pub basis: FloorBasis,
    pub why: Text<200>,
}

/// The data behind a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FloorBasis {
    pub judged: u32,
    /// The number of hits. Implied use counts half.
    pub hits: f32,
}

impl FloorBasis {
    pub fn rate(&self) -> f32 {
        if self.judged == 0 { 0.0 } else { self.hits / self.judged as f32 }
    }
}

/// All versions, the last of each audience in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FloorVersions {
    kept: Vec<(Timestamp, FloorVersion)>,
}

impl FloorVersions {
    pub fn current(&self, whom: &FloorAudience) -> Option<&FloorVersion> {
        self.kept.iter().rev().map(|(_, version)| version).find(|version| version.whom == *whom)
    }

    /// Returns the factor for the configured floor.
    pub fn floor(&self, whom: &FloorAudience) -> f32 {
        self.current(whom).map_or(1.0, |version| version.floor)
    }

    pub fn all(&self) -> impl Iterator<Item = &(Timestamp, FloorVersion)> {
        self.kept.iter()
    }

    /// Returns a version that reverts the current one to the floor of its parent.
    pub fn reverted(&self, whom: &FloorAudience) -> Option<FloorVersion> {
        let current =
            self.current(whom).filter(|version| version.floor != 1.0 || version.parent.is_some())?;
        let known = |number: u32| {
            self.kept.iter().map(|(_, version)| version).find(|it| it.whom == *whom && it.version == number)
        };
        let before = current.parent.and_then(known);
        Some(FloorVersion {
            whom: whom.clone(),
            version: current.version + 1,
            // A reverted version must not become a parent.
            parent: before.and_then(|version| version.parent),
            floor: before.map_or(1.0, |version| version.floor),
            basis: FloorBasis::default(),
            why: Text::new(format!("version {} was reverted", current.version)),
        })
    }

    /// Returns the next version, if the judgements since the last one require it. `usual` is the configured
    /// floor.
    pub fn next(&self, whom: &FloorAudience, basis: FloorBasis, usual: f32) -> Option<FloorVersion> {
        if basis.judged < ENOUGH || !(usual > 0.0 && usual.is_finite()) {
            return None;
        }
        let current = self.current(whom);
        let before = self.floor(whom);
        let wanted = match basis.rate() {
            rate if rate < LEAST => before * (1.0 + STEP),
            rate if rate > MOST => before * (1.0 - STEP),
            _ => return None,
        };
        let floor = (wanted * usual).clamp(LOWEST, HIGHEST) / usual;
        // A floor at its bound stays there.
        if (floor - before).abs() < 0.001 {
            return None;
        }
        let told = if floor > before { "fewer are shown" } else { "more are shown" };
        Some(FloorVersion {
            whom: whom.clone(),
            version: current.map_or(1, |version| version.version + 1),
            parent: current.map(|version| version.version),
            floor,
            basis,
            why: Text::new(format!(
                "{:.0}% of {} were used; {told} from now on",
                basis.rate() * 100.0,
                basis.judged
            )),
        })
    }
}

impl Projection for FloorVersions {
    const NAME: &'static str = "policy";
    const VERSION: u32 = 1;
    const KINDS: &'static [&'static str] = &["policy"];

    fn apply(&mut self, record: &Record) {
        let Some(MemoryRecord::Floor(version)) = MemoryRecord::read(record) else { return };
        // Two processes may write the same version; the first counts.
        let is_next = self.current(&version.whom).map_or(0, |current| current.version) < version.version;
        let is_sane = version.floor.is_finite() && (0.1..=10.0).contains(&version.floor);
        if is_next && is_sane {
            let of = |kept: &(Timestamp, FloorVersion)| kept.1.whom == version.whom;
            if self.kept.iter().filter(|kept| of(kept)).count() >= VERSIONS
                && let Some(oldest) = self.kept.iter().position(of)
            {
                self.kept.remove(oldest);
            }
            self.kept.push((record.at, version));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whom() -> FloorAudience {
        FloorAudience { role: Text::from("main"), scope: Text::from("project") }
    }

    fn took(versions: &mut FloorVersions, version: &FloorVersion) {
        versions.apply(&MemoryRecord::Floor(version.clone()).record(Timestamp::from_millis(0)));
    }

    fn basis(judged: u32, hits: f32) -> FloorBasis {
        FloorBasis { judged, hits }
    }

    #[test]
    fn a_floor_rises_where_little_helps_and_falls_where_all_does() {
        let versions = FloorVersions::default();
        assert_eq!(versions.next(&whom(), basis(49, 0.0), 0.4), None, "not enough");
        assert_eq!(versions.next(&whom(), basis(50, 20.0), 0.4), None, "all is well");
        let up = versions.next(&whom(), basis(50, 5.0), 0.4).unwrap();
        assert_eq!(
            (up.version, up.parent, up.why.as_str()),
            (1, None, "10% of 50 were used; fewer are shown from now on")
        );
        assert!((up.floor - 1.1).abs() < 1e-6);
        assert!((versions.next(&whom(), basis(50, 40.0), 0.4).unwrap().floor - 0.9).abs() < 1e-6);
    }

    #[test]
    fn a_version_is_taken_back_to_its_parent() {
        let mut versions = FloorVersions::default();
        assert_eq!(versions.reverted(&whom()), None);
        for _ in 0..2 {
            let next = versions.next(&whom(), basis(60, 0.0), 0.4).unwrap();
            took(&mut versions, &next);
        }
        let second = versions.floor(&whom());
        let back = versions.reverted(&whom()).unwrap();
        took(&mut versions, &back);
        assert!(versions.floor(&whom()) < second && versions.floor(&whom()) > 1.0);
        let back = versions.reverted(&whom()).unwrap();
        took(&mut versions, &back);
        assert_eq!(versions.floor(&whom()), 1.0);
        assert_eq!(versions.reverted(&whom()), None, "there is nothing left to take back");
        assert_eq!(versions.current(&whom()).unwrap().version, 4);
    }

    #[test]
    fn the_same_version_counts_once() {
        let mut versions = FloorVersions::default();
        let next = versions.next(&whom(), basis(60, 0.0), 0.4).unwrap();
        (0..2).for_each(|_| took(&mut versions, &next));
        assert_eq!(versions.all().count(), 1);
        took(&mut versions, &FloorVersion { version: 9, floor: f32::NAN, ..next.clone() });
        took(&mut versions, &FloorVersion { version: 9, floor: 1e9, ..next });
        assert_eq!(versions.all().count(), 1, "a forged one counts for nothing");
    }

    proptest! {
        #[test]
        fn no_step_is_larger_than_a_tenth_and_no_floor_leaves_its_bounds(
            judgements in prop::collection::vec((0..200u32, 0.0..1.0f32), 0..60), usual in 0.2..0.7f32,
        ) {
            let mut versions = FloorVersions::default();
            for (judged, share) in judgements {
                let before = versions.floor(&whom());
                if let Some(next) = versions.next(&whom(), basis(judged, judged as f32 * share), usual) {
                    prop_assert!((next.floor / before - 1.0).abs() <= STEP + 1e-4);
                    took(&mut versions, &next);
                }
                let floor = versions.floor(&whom()) * usual;
                prop_assert!((LOWEST - 0.01..=HIGHEST + 0.01).contains(&floor), "{floor}");
            }
        }
    }
}
