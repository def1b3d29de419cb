//! The limit on holds, shared by all gates. Sprag releases an agent after a fixed number of holds, and the
//! unmet obligations become debts.
//!
//! The breaker counts by digest, so that a new problem holds a stop again after earlier holds. It also counts
//! by turn, so that many obligations together cannot hold longer than one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::record::Record;
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::settings::{SettingKey, SettingSection, Tighten};
use sprag_base::time::Timestamp;

use crate::event::PromptAuthor;
use crate::event_records::{EventRecord, RecordedEvent, RecordedPrompt, RulingName};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakerSettings {
    pub max_blocks: u32,
    pub cooldown_seconds: u32,
    pub max_per_turn: u32,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        BreakerSettings { max_blocks: 3, cooldown_seconds: 300, max_per_turn: 6 }
    }
}

pub const SECTION: SettingSection = SettingSection {
    name: "circuit_breaker",
    defaults: "\
# Limits on holding a stop. An obligation that is released unmet becomes a debt (`sprag debt list`).
[circuit_breaker]
# How often the same unmet obligation may hold a stop.
max_blocks = 3
# Seconds after the last hold at which the count of a turn starts again; at least 60.
cooldown_seconds = 300
# How often one turn may be held in total. Some clients override hooks at 8, others never do.
max_per_turn = 6
",
    keys: &[
        SettingKey { name: "max_blocks", tighten: Tighten::Higher },
        SettingKey { name: "cooldown_seconds", tighten: Tighten::Never },
        SettingKey { name: "max_per_turn", tighten: Tighten::Higher },
    ],
};

/// Minimum cooldown in seconds. With less, every stop would start a new turn and the limit would not work.
const LEAST_COOLDOWN: i64 = 60;
/// Maximum number of holds. Above it a client may ignore Sprag's hooks.
const CEILING: u32 = 7;

impl BreakerSettings {
    /// Returns the maximum number of holds of one turn, for any configuration.
    pub fn per_turn(&self) -> u32 {
        self.max_per_turn.min(CEILING)
    }

    fn cooldown(&self) -> i64 {
        i64::from(self.cooldown_seconds).max(LEAST_COOLDOWN)
    }
}

/// Maximum number of digests. A session with this many different problems is not held for another one.
const DIGESTS: usize = 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaker {
    /// Holds of the current turn.
    turn: u32,
    last_hold: Option<Timestamp>,
    /// Holds per digest. These counts never decrease.
    held: BTreeMap<Digest, u32>,
}

/// The open obligations that hold this stop, and those that are released for good.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopJudgement {
    pub hold: Vec<Digest>,
    pub release: Vec<Digest>,
}

impl Breaker {
    /// Starts the count of the turn again, after a new turn or a met obligation.
    pub fn reset_turn(&mut self) {
        self.turn = 0;
    }

    /// Counts the holds of the current turn from the records of a journal, for callers without a stored
    /// state.
    pub fn from_records(records: &[Record]) -> Breaker {
        // A hold may come back as a prompt. Only a prompt of a person starts a turn.
        let starts_turn = |event: &RecordedEvent| {
            matches!(event, RecordedEvent::Prompted(RecordedPrompt { author: PromptAuthor::User, .. }))
        };
        let is_held = |EventRecord { event, ruling }: &EventRecord| {
            let is_bounded = matches!(
                event,
                RecordedEvent::StopRequested(_)
                    | RecordedEvent::SubagentStopped(_)
                    | RecordedEvent::TaskCompleting(_)
            );
            is_bounded && ruling.verdict == RulingName::Hold
        };
        let events = records.iter().rev().filter_map(EventRecord::read);
        let holds = events.take_while(|record| !starts_turn(&record.event)).filter(is_held).count();
        Breaker { turn: u32::try_from(holds).unwrap_or(u32::MAX), ..Breaker::default() }
    }

    /// Reports whether the turn reached its maximum number of holds.
    pub fn is_turn_spent(&self, limits: &BreakerSettings) -> bool {
        self.turn >= limits.per_turn()
    }

    /// Judges one stop. Counts one hold for it, for any number of open obligations.
    pub fn judge(&mut self, open: &[Digest], limits: &BreakerSettings, now: Timestamp) -> StopJudgement {
        if self.last_hold.is_some_and(|last| now.seconds_since(last) >= limits.cooldown()) {
            self.turn = 0;
        }
        if self.is_turn_spent(limits) {
            return StopJudgement { hold: Vec::new(), release: open.to_vec() };
        }
        let (release, hold): (Vec<_>, Vec<_>) =
            open.iter().copied().partition(|digest| self.is_spent(digest, limits));
        if !hold.is_empty() {
            self.turn += 1;
            self.last_hold = Some(now);
        }
        for digest in &hold {
            *self.held.entry(*digest).or_insert(0) += 1;
        }
        StopJudgement { hold, release }
    }

    fn is_spent(&self, digest: &Digest, limits: &BreakerSettings) -> bool {
        match self.held.get(digest) {
            Some(&count) => count >= limits.max_blocks.min(CEILING),
            None => limits.max_blocks == 0 || self.held.len() >= DIGESTS,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn digest(name: u8) -> Digest {
        Digest::hash_parts([[name]])
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(0).plus_seconds(seconds)
    }

    #[test]
    fn the_same_digest_holds_three_times() {
        let mut breaker = Breaker::default();
        let limits = BreakerSettings::default();
        for i in 0..3 {
            assert_eq!(breaker.judge(&[digest(1)], &limits, at(i)).hold, [digest(1)]);
        }
        assert_eq!(breaker.judge(&[digest(1)], &limits, at(3)).release, [digest(1)]);
    }

    #[test]
    fn a_changed_digest_holds_again_within_the_turns_bound() {
        let mut breaker = Breaker::default();
        let limits = BreakerSettings::default();
        let holds = (0..20).filter(|&i| !breaker.judge(&[digest(i)], &limits, at(0)).hold.is_empty()).count();
        assert_eq!(holds, 6);
    }

    #[test]
    fn several_obligations_count_once_a_reply() {
        let mut breaker = Breaker::default();
        let both = [digest(1), digest(2)];
        for _ in 0..3 {
            assert_eq!(breaker.judge(&both, &BreakerSettings::default(), at(0)).hold, both);
        }
        assert_eq!(breaker.judge(&both, &BreakerSettings::default(), at(0)).release, both);
    }

    #[test]
    fn a_cooldown_frees_the_turn_but_never_a_digest() {
        let mut breaker = Breaker::default();
        let limits = BreakerSettings::default();
        for i in 0..7 {
            breaker.judge(&[digest(i)], &limits, at(0));
        }
        assert_eq!(breaker.judge(&[digest(9)], &limits, at(299)).hold, []);
        assert_eq!(breaker.judge(&[digest(9)], &limits, at(300)).hold, [digest(9)]);
        for _ in 0..2 {
            breaker.judge(&[digest(9)], &limits, at(300));
        }
        assert_eq!(breaker.judge(&[digest(9)], &limits, at(9000)).release, [digest(9)]);
    }

    #[test]
    fn no_cooldown_is_no_way_around_the_bound() {
        let mut breaker = Breaker::default();
        let limits = BreakerSettings { cooldown_seconds: 0, ..BreakerSettings::default() };
        let holds = (0..20)
            .filter(|&i| !breaker.judge(&[digest(i)], &limits, at(i64::from(i))).hold.is_empty())
            .count();
        assert_eq!(holds, 6);
    }

    proptest! {
        /// The limits hold for any digests, times and settings.
        #[test]
        fn holds_are_bounded(
            stops in proptest::collection::vec((proptest::collection::vec(0u8..6, 0..4), 0i64..2000), 0..200),
            max_blocks in 0u32..9,
            max_per_turn in 0u32..20,
        ) {
            let limits = BreakerSettings { max_blocks, cooldown_seconds: 300, max_per_turn };
            let mut breaker = Breaker::default();
            let mut held = BTreeMap::new();
            let (mut run, mut last) = (0, 0);
            for (open, now) in stops {
                let open: Vec<Digest> = open.into_iter().map(digest).collect();
                let judgement = breaker.judge(&open, &limits, at(now));
                if now - last >= 300 { run = 0; }
                if judgement.hold.is_empty() { continue; }
                run += 1;
                last = now;
                prop_assert!(run <= max_per_turn.min(CEILING));
                let mut once = judgement.hold.clone();
                once.sort();
                once.dedup();
                for digest in once {
                    let count = held.entry(digest).or_insert(0);
                    *count += 1;
                    prop_assert!(*count <= max_blocks.min(CEILING));
                }
            }
        }
    }
}
