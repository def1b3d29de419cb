//! A reference that git cannot move because of a leftover lock or missing write access. Sprag retries until
//! it succeeds, and notifies a person after a while.

use sprag_base::text::Text;

use super::effect::EffectOutcome;
use super::record;
use crate::ids::EffectKey;
use crate::sentences;

/// Failures before a person is notified.
const OFTEN: u32 = 3;
/// Longest wait in seconds before the next attempt.
const LONGEST: u64 = 15;

#[derive(Clone, Debug, PartialEq)]
pub struct StuckRef {
    times: u32,
    why: Text<300>,
    /// The first effect that failed; it identifies the notification.
    since: EffectKey,
    pub is_notified: bool,
}

impl StuckRef {
    /// Returns the state after an effect that moves a reference.
    pub fn after(before: Option<StuckRef>, key: &EffectKey, outcome: &EffectOutcome) -> Option<StuckRef> {
        let EffectOutcome::Failed { why, .. } = outcome else { return None };
        let first = || StuckRef { times: 0, why: why.clone(), since: key.clone(), is_notified: false };
        let stuck = before.unwrap_or_else(first);
        Some(StuckRef { times: stuck.times.saturating_add(1), why: why.clone(), ..stuck })
    }

    /// Returns the message for a person, once there are enough failures.
    pub fn message(&self) -> Option<String> {
        (self.times >= OFTEN).then(|| sentences::ref_stuck(self.times, &self.why))
    }

    /// Returns the key of the notification.
    pub fn key(&self, run: &Text<64>) -> EffectKey {
        record::key(
            run,
            "-",
            0,
            &format!("stuck.{}", sprag_base::digest::Digest::hash_parts([self.since.0.as_str()]).short()),
        )
    }

    /// Returns the seconds until the next attempt.
    pub fn patience(stuck: Option<&StuckRef>) -> u64 {
        let times = stuck.map_or(0, |stuck| stuck.times);
        1u64.checked_shl(times).unwrap_or(LONGEST).min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::StageFailure;

    #[test]
    fn it_is_told_when_it_goes_on_and_forgotten_when_it_goes() {
        let key = |name: &str| EffectKey(Text::new(name));
        let locked =
            EffectOutcome::Failed { failure: StageFailure::Setup, why: Text::new("`x.lock` is there") };
        let once = StuckRef::after(None, &key("1"), &locked);
        assert_eq!(
            (once.as_ref().unwrap().message(), StuckRef::patience(None), StuckRef::patience(once.as_ref())),
            (None, 1, 2)
        );
        let thrice =
            StuckRef::after(StuckRef::after(once.clone(), &key("2"), &locked), &key("3"), &locked).unwrap();
        assert!(thrice.message().unwrap().ends_with("`x.lock` is there"));
        assert_eq!(
            thrice.key(&Text::new("r")),
            once.as_ref().unwrap().key(&Text::new("r")),
            "a person is notified once"
        );
        let long = StuckRef { times: u32::MAX, ..thrice.clone() };
        assert_eq!(StuckRef::patience(Some(&long)), LONGEST);
        assert_eq!(StuckRef::after(Some(thrice), &key("4"), &EffectOutcome::Done), None);
    }
}
