//! Decides whether a silent agent is still alive. Silence alone means little: a model thinks, a test runs,
//! or a person has to answer. An agent is wedged only if it prints, computes and changes nothing and waits
//! for nothing. An agent that never reports its waits is never called wedged.

use sprag_base::time::Timestamp;

use super::activity::AgentWait;

/// Seconds without a sign of life after which an agent that waits for nothing is wedged.
pub const SILENCE: i64 = 90;
/// Seconds without a sign of life after which an agent that waits for something is reported as suspect.
pub const SUSPECT: i64 = 120;
/// Seconds until an agent that was found wedged may be found wedged again.
pub const STIR: i64 = 30;
/// Percent of a processor above which an agent counts as busy. A program that only waits uses less.
const BUSY: u64 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    Working,
    /// People see it, but Sprag does not end the agent.
    Suspect,
    Wedged,
}

/// Signs of life of an agent at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LifeSigns {
    /// The time of the last output in its stream or transcript.
    pub heard: Option<Timestamp>,
    /// Milliseconds of processor time that the agent and all its child processes have used so far.
    pub cpu: u64,
    /// The time of the last change that was found in its worktree.
    pub changed: Option<Timestamp>,
    pub tells: Tells,
}

/// Waits that an agent reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tells {
    /// The client reports its waits; this is the present one.
    Waits(Option<AgentWait>),
    Nothing,
}

/// The liveness of one agent over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LivenessWatch {
    /// The last sign of life, or the start of the watch.
    alive: Timestamp,
    /// The processor time at the last update, and the time of that update.
    cpu: Option<(u64, Timestamp)>,
    /// The time when the agent was last found wedged.
    told: Option<Timestamp>,
}

impl LivenessWatch {
    pub fn new(now: Timestamp) -> LivenessWatch {
        LivenessWatch { alive: now, cpu: None, told: None }
    }

    /// Returns the seconds since the last sign of life, before this update.
    pub fn silence(&self, now: Timestamp) -> i64 {
        now.seconds_since(self.alive)
    }

    pub fn update(&mut self, signs: &LifeSigns, now: Timestamp) -> Liveness {
        if self.is_busy(signs.cpu, now) {
            self.alive = now;
        }
        for sign in [signs.heard, signs.changed].into_iter().flatten() {
            // A file may have a date in the future; it counts as a sign of now, not of that date.
            self.alive = self.alive.max(sign.min(now));
        }
        self.cpu = Some((signs.cpu, now));
        let silence = self.silence(now);
        let is_wedged = match signs.tells {
            Tells::Waits(Some(wait)) => wait.until <= now && silence >= SILENCE,
            Tells::Waits(None) => silence >= SILENCE,
            Tells::Nothing => false,
        };
        if !is_wedged {
            return if silence >= SUSPECT { Liveness::Suspect } else { Liveness::Working };
        }
        if self.told.is_some_and(|told| now.seconds_since(told) < STIR) {
            return Liveness::Suspect;
        }
        self.told = Some(now);
        Liveness::Wedged
    }

    /// Reports whether the agent used the processor since the last update. The first update has nothing to
    /// compare with.
    fn is_busy(&self, cpu: u64, now: Timestamp) -> bool {
        let Some((before, at)) = self.cpu else { return false };
        let elapsed = u64::try_from(now.millis() - at.millis()).unwrap_or(0);
        // The time of ended processes is no longer counted, so a smaller value is a change, too.
        let used = cpu.abs_diff(before);
        used > 0 && used.saturating_mul(100) >= elapsed.saturating_mul(BUSY)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::agent::activity::WaitTarget;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000).plus_seconds(seconds)
    }

    fn quiet(tells: Tells) -> LifeSigns {
        LifeSigns { heard: None, cpu: 0, changed: None, tells }
    }

    /// Updates every ten seconds until something is found.
    fn found(mut signs: impl FnMut(i64) -> LifeSigns, until: i64) -> Vec<(i64, Liveness)> {
        let mut watch = LivenessWatch::new(at(0));
        let looks = (0..=until / 10).map(|step| step * 10);
        let mut last = Liveness::Working;
        let mut changes = Vec::new();
        for second in looks {
            let now = watch.update(&signs(second), at(second));
            if now != last {
                changes.push((second, now));
                last = now;
            }
        }
        changes
    }

    #[test]
    fn silence_without_a_reason_is_wedged_and_is_told_again_after_a_while() {
        let changes = found(|_| quiet(Tells::Waits(None)), 130);
        assert_eq!(
            changes,
            [
                (90, Liveness::Wedged),
                (100, Liveness::Suspect),
                (120, Liveness::Wedged),
                (130, Liveness::Suspect)
            ]
        );
    }

    #[test]
    fn a_quiet_test_that_computes_lives() {
        let busy = |second: i64| LifeSigns { cpu: second.unsigned_abs() * 500, ..quiet(Tells::Waits(None)) };
        assert_eq!(found(busy, 36_000), []);
        let idle = |second: i64| LifeSigns { cpu: second.unsigned_abs() * 5, ..quiet(Tells::Waits(None)) };
        assert_eq!(found(idle, 90), [(90, Liveness::Wedged)], "a ticking timer does not count as work");
    }

    #[test]
    fn who_waits_is_suspect_and_not_ended_before_its_time() {
        let wait = AgentWait { on: WaitTarget::Tool, until: at(1800) };
        let changes = found(|_| quiet(Tells::Waits(Some(wait))), 1800);
        assert_eq!(changes, [(120, Liveness::Suspect), (1800, Liveness::Wedged)]);
    }

    #[test]
    fn who_never_says_what_it_waits_for_is_never_ended_for_silence() {
        assert_eq!(found(|_| quiet(Tells::Nothing), 86_400), [(120, Liveness::Suspect)]);
    }

    #[test]
    fn words_and_files_are_signs() {
        let talks =
            |second: i64| LifeSigns { heard: Some(at(second - second % 80)), ..quiet(Tells::Waits(None)) };
        assert_eq!(found(talks, 3600), []);
        let writes =
            |second: i64| LifeSigns { changed: Some(at(second - second % 80)), ..quiet(Tells::Waits(None)) };
        assert_eq!(found(writes, 3600), []);
        let tomorrow = |_| LifeSigns { changed: Some(at(86_400)), ..quiet(Tells::Waits(None)) };
        assert_eq!(found(tomorrow, 3600), [], "a date in the future counts as now");
    }

    proptest! {
        /// Agents that do something at least every 89 seconds, over 20 simulated hours each.
        #[test]
        fn nobody_alive_is_ended(steps in prop::collection::vec((1i64..89, 0u8..4, 1i64..30), 1000)) {
            let mut watch = LivenessWatch::new(at(0));
            let (mut second, mut cpu) = (0, 0);
            let mut wait = None;
            let (mut heard, mut changed) = (None, None);
            for (pause, kind, look) in steps {
                let from = second;
                second += pause;
                // Several updates happen in between.
                let mut looked = from;
                while looked + look < second {
                    looked += look;
                    let signs = LifeSigns { heard, cpu, changed, tells: Tells::Waits(wait) };
                    prop_assert_ne!(watch.update(&signs, at(looked)), Liveness::Wedged);
                }
                match kind {
                    0 => heard = Some(at(second)),
                    1 => changed = Some(at(second)),
                    2 => cpu += 20_000,
                    _ => {
                        wait = Some(AgentWait { on: WaitTarget::Model, until: at(second + 600) });
                        heard = Some(at(second));
                    }
                }
                let signs = LifeSigns { heard, cpu, changed, tells: Tells::Waits(wait) };
                prop_assert_ne!(watch.update(&signs, at(second)), Liveness::Wedged);
            }
        }

        /// A dead agent is kept at most two minutes longer than the wait that it declared.
        #[test]
        fn nobody_dead_is_kept(last in 0i64..1000, declared in 0i64..1000, every in 5i64..30) {
            let mut watch = LivenessWatch::new(at(0));
            let wait = AgentWait { on: WaitTarget::Tool, until: at(last + declared) };
            let signs = LifeSigns { heard: Some(at(last)), cpu: 7, changed: None, tells: Tells::Waits(Some(wait)) };
            let mut second = last;
            while watch.update(&signs, at(second)) != Liveness::Wedged {
                second += every;
                prop_assert!(second <= last + declared.max(SILENCE) + every);
            }
            prop_assert!(second >= last + declared.max(SILENCE));
        }
    }
}
