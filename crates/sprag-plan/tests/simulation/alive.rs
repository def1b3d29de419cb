//! Live agents, watched for ten thousand hours: they think, compute, write, print and wait as they
//! announced, with the longest allowed pauses. None of them is found wedged.

use sprag_base::time::Timestamp;
use sprag_plan::agent::activity::{AgentWait, WaitTarget};
use sprag_plan::agent::liveness::{LifeSigns, Liveness, LivenessWatch, SILENCE, Tells};

use super::chance::Chance;

const HOURS: i64 = 10_000;

#[test]
fn nobody_alive_is_ended_in_ten_thousand_hours() {
    let start = Timestamp::from_millis(1_800_000_000_000);
    let (mut seconds, mut looks, mut suspects) = (0, 0u64, 0u64);
    let mut seed = 0;
    while seconds < HOURS * 3600 {
        seed += 1;
        let mut chance = Chance::new(seed);
        // One agent for a day, with its own habits.
        let every = 1 + chance.below(30) as i64;
        let mut watch = LivenessWatch::new(start);
        let mut signs = LifeSigns { heard: None, cpu: 0, changed: None, tells: Tells::Waits(None) };
        // The first update only gives values to compare with.
        watch.update(&signs, start);
        let mut now = 0;
        while now < 86_400 {
            let (next, from) = match chance.below(8) {
                // A long operation without output, announced before.
                0 => {
                    let long = 60 + chance.below(3600) as i64;
                    let on = if chance.once_in(2) { WaitTarget::Tool } else { WaitTarget::Model };
                    let until = start.plus_seconds(now + long + 1);
                    signs.heard = Some(start.plus_seconds(now));
                    signs.tells = Tells::Waits(Some(AgentWait { on, until }));
                    (now + long, now)
                }
                _ => (now + 1 + chance.below(SILENCE.unsigned_abs() - 2) as i64, now),
            };
            let mut looked = from;
            while looked + every < next {
                looked += every;
                looks += 1;
                match watch.update(&signs, start.plus_seconds(looked)) {
                    Liveness::Working => {}
                    Liveness::Suspect => suspects += 1,
                    Liveness::Wedged => panic!("seed {seed}: a live agent is ended after {looked} s"),
                }
            }
            now = next;
            // Then it shows a sign of life, a moment before the next update.
            signs.tells = Tells::Waits(None);
            match chance.below(3) {
                0 => signs.heard = Some(start.plus_seconds(now)),
                1 => signs.changed = Some(start.plus_seconds(now)),
                _ => {
                    signs.cpu += 1000 * every.unsigned_abs();
                    looks += 1;
                    assert_ne!(
                        watch.update(&signs, start.plus_seconds(now)),
                        Liveness::Wedged,
                        "seed {seed}"
                    );
                }
            }
        }
        seconds += now;
    }
    assert!(looks > 1_000_000 && suspects > 1000, "{looks} {suspects}");
}
