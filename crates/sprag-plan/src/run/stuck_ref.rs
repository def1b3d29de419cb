//! A reference that git does not move, because somebody left it locked or may not write there. It is tried again until it
//! goes; who could help is told after a while.

use sprag_base::text::Text;

use super::effect::EffectOutcome;
use super::record;
use crate::ids::EffectKey;
use crate::sentences;

/// Times that it goes wrong before it is told.
const OFTEN: u32 = 3;
/// Seconds before it is tried again, at most.
const LONGEST: u64 = 15;

#[derive(Clone, Debug, PartialEq)]
pub struct StuckRef {
    times: u32,
    why: Text<300>,
    /// The first effect that went wrong, by which telling of it is known again.
    since: EffectKey,
    pub is_notified: bool,
}

impl StuckRef {
    /// What there is after an effect that moves a reference.
    pub fn after(before: Option<StuckRef>, key: &EffectKey, outcome: &EffectOutcome) -> Option<StuckRef> {
        let EffectOutcome::Failed { why, .. } = outcome else { return None };
        let first = || StuckRef { times: 0, why: why.clone(), since: key.clone(), is_notified: false };
        let stuck = before.unwrap_or_else(first);
        Some(StuckRef { times: stuck.times.saturating_add(1), why: why.clone(), ..stuck })
    }

    /// In words, once it has gone on for long enough to be told.
    pub fn message(&self) -> Option<String> {
        (self.times >= OFTEN).then(|| sentences::ref_stuck(self.times, &self.why))
    }

    /// By which telling somebody is known.
    pub fn key(&self, run: &Text<64>) -> EffectKey {
        record::key(
            run,
            "-",
            0,
            &format!("stuck.{}", sprag_base::digest::Digest::hash_parts([self.since.0.as_str()]).short()),
        )
    }

    /// Seconds until it is worth another try.
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
            "it is told once"
        );
        let long = StuckRef { times: u32::MAX, ..thrice.clone() };
        assert_eq!(StuckRef::patience(Some(&long)), LONGEST);
        assert_eq!(StuckRef::after(Some(thrice), &key("4"), &EffectOutcome::Done), None);
    }
}
