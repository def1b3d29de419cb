//! How full the contexts of agents are, and what follows. Those that hear us through their hooks are asked for notes in
//! time, and to hand over when it is time; those that do not are ended, as is whoever takes too long.

use std::collections::BTreeMap;

use sprag_base::time::Timestamp;
use sprag_plan::agent::activity::Seen;
use sprag_plan::ids::Key;
use sprag_plan::reconcile::observed::Alive;
use sprag_plan::run::record::About;
use sprag_plan::spec::StageSpec;
use sprag_plan::spec::client::Client;

use crate::launchers::{self, Governed};
use crate::session_dir::limits::is_near;

/// Answers of the model, and seconds, in which an agent has to hand over.
const TURNS: u32 = 2;
const SECONDS: i64 = 180;

/// Whom an agent at work hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hears {
    Us,
    Nobody,
}

impl Hears {
    fn of(client: &Client) -> Hears {
        match client {
            Client::Known(known) if launchers::find(*known).governed != Governed::Nobody => Hears::Us,
            Client::Known(_) | Client::Command { .. } => Hears::Nobody,
        }
    }
}

/// Agents whose contexts are full, since which answer and when.
#[derive(Default)]
pub struct Filling {
    since: BTreeMap<Key, (u32, Timestamp)>,
}

impl Filling {
    /// `None`: there is nothing to be told.
    pub fn look(&mut self, key: &Key, spec: &StageSpec, seen: &Seen, now: Timestamp) -> Option<Alive> {
        self.found(key, spec.context_budget, Hears::of(&spec.agent.client), seen, now)
    }

    fn found(&mut self, key: &Key, budget: u8, hears: Hears, seen: &Seen, now: Timestamp) -> Option<Alive> {
        let percent = seen.context?.percent();
        if percent < budget {
            self.since.remove(key);
            let is_told = hears == Hears::Us && is_near(percent, budget);
            return is_told.then_some(Alive::Filling { about: About::Notes, percent });
        }
        let (turns, at) = *self.since.entry(key.clone()).or_insert((seen.turns, now));
        let is_late = seen.turns.saturating_sub(turns) >= TURNS || now.seconds_since(at) >= SECONDS;
        match hears {
            Hears::Us if !is_late => Some(Alive::Filling { about: About::Handoff, percent }),
            Hears::Us | Hears::Nobody => Some(Alive::Full),
        }
    }

    pub fn forget(&mut self, key: &Key) {
        self.since.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use sprag_base::text::Text;
    use sprag_plan::agent::activity::Context;
    use sprag_plan::spec::client::Known;

    use super::*;

    fn seen(tokens: u64, turns: u32) -> Seen {
        Seen { context: Some(Context { tokens, window: 100 }), turns, ..Seen::default() }
    }

    #[test]
    fn who_hears_us_is_asked_for_notes_and_to_hand_over_before_it_is_ended() {
        let key = Key(Text::new("r/a/1/spawn.0"));
        let now = Timestamp::from_millis(0);
        let mut filling = Filling::default();
        let mut look =
            |seen: &Seen, now| filling.found(&key, 50, Hears::of(&Client::Known(Known::Claude)), seen, now);
        let asked = |about, percent| Some(Alive::Filling { about, percent });
        assert_eq!(look(&Seen::default(), now), None, "what is not known is not told");
        assert_eq!(look(&seen(39, 1), now), None);
        assert_eq!(look(&seen(40, 2), now), asked(About::Notes, 40));
        assert_eq!(look(&seen(50, 3), now), asked(About::Handoff, 50));
        assert_eq!(look(&seen(60, 4), now), asked(About::Handoff, 60));
        assert_eq!(look(&seen(60, 5), now), Some(Alive::Full), "two answers later");
        assert_eq!(look(&seen(10, 6), now), None, "it was compacted");
        assert_eq!(look(&seen(50, 7), now), asked(About::Handoff, 50));
        let later = now.plus_seconds(180);
        assert_eq!(look(&seen(50, 7), later), Some(Alive::Full), "three minutes later");
    }

    #[test]
    fn who_does_not_hear_us_is_not_waited_for() {
        let key = Key(Text::new("r/a/1/spawn.0"));
        let client = Client::Command { command: vec![Text::new("x")], stream: None };
        let now = Timestamp::from_millis(0);
        let look = |tokens| Filling::default().found(&key, 50, Hears::of(&client), &seen(tokens, 1), now);
        assert_eq!((look(49), look(50)), (None, Some(Alive::Full)));
    }
}
