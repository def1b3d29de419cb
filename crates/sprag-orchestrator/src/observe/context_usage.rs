//! Watches how full the contexts of agents are. Agents with hooks are asked for notes, then for a handoff.
//! Agents without hooks, and agents that take too long, are ended.

use std::collections::BTreeMap;

use sprag_base::time::Timestamp;
use sprag_plan::agent::activity::AgentActivity;
use sprag_plan::ids::EffectKey;
use sprag_plan::reconcile::observed::AgentSign;
use sprag_plan::run::effect::NudgeTopic;
use sprag_plan::spec::StageSpec;
use sprag_plan::spec::client::StageClient;

use crate::launchers::{self, HookSupport};
use crate::session_dir::limits::is_near;

/// The turns and the seconds that an agent has for its handoff.
const TURNS: u32 = 2;
const SECONDS: i64 = 180;

/// How a message reaches a working agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NudgeChannel {
    Us,
    Nobody,
}

impl NudgeChannel {
    fn for_client(client: &StageClient) -> NudgeChannel {
        match client {
            StageClient::Known(known) if launchers::find(*known).governed != HookSupport::Nobody => {
                NudgeChannel::Us
            }
            StageClient::Known(_) | StageClient::Command { .. } => NudgeChannel::Nobody,
        }
    }
}

/// Agents with full contexts, with the turn and the time since when.
#[derive(Default)]
pub(crate) struct ContextMonitor {
    since: BTreeMap<EffectKey, (u32, Timestamp)>,
}

impl ContextMonitor {
    /// Returns the sign of a filling or full context; `None` below the limits.
    pub(crate) fn check(
        &mut self,
        key: &EffectKey,
        spec: &StageSpec,
        seen: &AgentActivity,
        now: Timestamp,
    ) -> Option<AgentSign> {
        self.found(key, spec.context_budget, NudgeChannel::for_client(&spec.agent.client), seen, now)
    }

    fn found(
        &mut self,
        key: &EffectKey,
        budget: u8,
        hears: NudgeChannel,
        seen: &AgentActivity,
        now: Timestamp,
    ) -> Option<AgentSign> {
        let percent = seen.context?.percent();
        if percent < budget {
            self.since.remove(key);
            let is_told = hears == NudgeChannel::Us && is_near(percent, budget);
            return is_told.then_some(AgentSign::Filling { about: NudgeTopic::Notes, percent });
        }
        let (turns, at) = *self.since.entry(key.clone()).or_insert((seen.turns, now));
        let is_late = seen.turns.saturating_sub(turns) >= TURNS || now.seconds_since(at) >= SECONDS;
        match hears {
            NudgeChannel::Us if !is_late => Some(AgentSign::Filling { about: NudgeTopic::Handoff, percent }),
            NudgeChannel::Us | NudgeChannel::Nobody => Some(AgentSign::Full),
        }
    }

    pub(crate) fn forget(&mut self, key: &EffectKey) {
        self.since.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use sprag_base::text::Text;
    use sprag_plan::agent::activity::ContextUsage;
    use sprag_plan::spec::client::ClientName;

    use super::*;

    fn seen(tokens: u64, turns: u32) -> AgentActivity {
        AgentActivity {
            context: Some(ContextUsage { tokens, window: 100 }),
            turns,
            ..AgentActivity::default()
        }
    }

    #[test]
    fn who_hears_us_is_asked_for_notes_and_to_hand_over_before_it_is_ended() {
        let key = EffectKey(Text::new("r/a/1/spawn.0"));
        let now = Timestamp::from_millis(0);
        let mut filling = ContextMonitor::default();
        let mut look = |seen: &AgentActivity, now| {
            filling.found(
                &key,
                50,
                NudgeChannel::for_client(&StageClient::Known(ClientName::Claude)),
                seen,
                now,
            )
        };
        let asked = |about, percent| Some(AgentSign::Filling { about, percent });
        assert_eq!(look(&AgentActivity::default(), now), None, "unknown usage gives no sign");
        assert_eq!(look(&seen(39, 1), now), None);
        assert_eq!(look(&seen(40, 2), now), asked(NudgeTopic::Notes, 40));
        assert_eq!(look(&seen(50, 3), now), asked(NudgeTopic::Handoff, 50));
        assert_eq!(look(&seen(60, 4), now), asked(NudgeTopic::Handoff, 60));
        assert_eq!(look(&seen(60, 5), now), Some(AgentSign::Full), "two turns later");
        assert_eq!(look(&seen(10, 6), now), None, "after compaction");
        assert_eq!(look(&seen(50, 7), now), asked(NudgeTopic::Handoff, 50));
        let later = now.plus_seconds(180);
        assert_eq!(look(&seen(50, 7), later), Some(AgentSign::Full), "three minutes later");
    }

    #[test]
    fn who_does_not_hear_us_is_not_waited_for() {
        let key = EffectKey(Text::new("r/a/1/spawn.0"));
        let client = StageClient::Command { command: vec![Text::new("x")], stream: None };
        let now = Timestamp::from_millis(0);
        let look = |tokens| {
            ContextMonitor::default().found(
                &key,
                50,
                NudgeChannel::for_client(&client),
                &seen(tokens, 1),
                now,
            )
        };
        assert_eq!((look(49), look(50)), (None, Some(AgentSign::Full)));
    }
}
