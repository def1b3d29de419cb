//! Whether an agent that shows nothing still lives. Silence alone means little: a model thinks, a test runs, somebody is
//! waited for. Only who prints nothing, computes nothing, changes nothing and has nothing to wait for is wedged; and
//! who never says what it waits for is never taken to be.

use sprag_base::time::Timestamp;

use super::activity::AgentWait;

/// Seconds without a sign after which one that waits for nothing is wedged.
pub const SILENCE: i64 = 90;
/// Seconds without a sign after which one that waits for something is told of.
pub const SUSPECT: i64 = 120;
/// Seconds that one gets to move after it was found wedged.
pub const STIR: i64 = 30;
/// Per cent of a processor above which something is being done. A program that only waits uses less.
const BUSY: u64 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    Working,
    /// Shown to people, and never ended for it.
    Suspect,
    Wedged,
}

/// What was found of an agent at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LifeSigns {
    /// When it was last heard of: its stream, or its talk.
    pub heard: Option<Timestamp>,
    /// Milliseconds of processor time that it and all it started have used so far.
    pub cpu: u64,
    /// When something in its worktree last changed, as far as that was looked at.
    pub changed: Option<Timestamp>,
    pub tells: Tells,
}

/// What an agent says of what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tells {
    /// It would say so; this is what it says.
    Waits(Option<AgentWait>),
    Nothing,
}

/// One agent, looked at again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LivenessWatch {
    /// The last sign of life, or when we began to look.
    alive: Timestamp,
    /// What it had used at the last look, and when that was.
    cpu: Option<(u64, Timestamp)>,
    /// When it was last found wedged.
    told: Option<Timestamp>,
}

impl LivenessWatch {
    pub fn new(now: Timestamp) -> LivenessWatch {
        LivenessWatch { alive: now, cpu: None, told: None }
    }

    /// Seconds without a sign, before this look.
    pub fn silence(&self, now: Timestamp) -> i64 {
        now.seconds_since(self.alive)
    }

    pub fn update(&mut self, signs: &LifeSigns, now: Timestamp) -> Liveness {
        if self.is_busy(signs.cpu, now) {
            self.alive = now;
        }
        for sign in [signs.heard, signs.changed].into_iter().flatten() {
            // A file may be dated tomorrow; that is no sign for a day.
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

    /// The first look compares with nothing, and so shows nothing.
    fn is_busy(&self, cpu: u64, now: Timestamp) -> bool {
        let Some((before, at)) = self.cpu else { return false };
        let elapsed = u64::try_from(now.millis() - at.millis()).unwrap_or(0);
        // Processes that ended take their time with them: less is a change, too.
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

    /// Looks every ten seconds until something is found.
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
        assert_eq!(found(idle, 90), [(90, Liveness::Wedged)], "a timer that ticks is no work");
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
        assert_eq!(found(tomorrow, 3600), [], "a date that is ahead is as good as now");
    }

    proptest! {
        /// Agents that do something at least every 89 seconds, of whatever kind, over 20 simulated hours each.
        #[test]
        fn nobody_alive_is_ended(steps in prop::collection::vec((1i64..89, 0u8..4, 1i64..30), 1000)) {
            let mut watch = LivenessWatch::new(at(0));
            let (mut second, mut cpu) = (0, 0);
            let mut wait = None;
            let (mut heard, mut changed) = (None, None);
            for (pause, kind, look) in steps {
                let from = second;
                second += pause;
                // It is looked at several times in between.
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

        /// Nobody who has died in its tracks is waited for longer than it had declared, and then two minutes.
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
