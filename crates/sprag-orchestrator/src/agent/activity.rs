//! Follows an agent while it works: reads its output and the transcript of its client, and writes the
//! activity to the session directory.

use std::time::{Duration, Instant};

use sprag_base::result::Discard as _;
use sprag_host::sys::disk::Disk;
use sprag_host::sys::env;
use sprag_plan::agent::activity::{AgentActivity, AgentTrouble, BudgetSpent};
use sprag_plan::agent::stream::{StreamReader, StreamSource};

use super::open_prompts::OpenPrompts;
use super::transcript::TranscriptTail;
use crate::session_dir::SessionDir;
use crate::session_dir::limits::{AgentLimits, UsageAllowance};

/// The shortest time between two writes of the activity, and between two reads of the transcript.
const PACE: Duration = Duration::from_millis(500);

pub(crate) struct ActivityReader {
    /// `None`: the output has no known format, so only the time of the last output counts.
    reader: Option<StreamReader>,
    heard: AgentActivity,
    tail: Option<TranscriptTail>,
    asks: Option<OpenPrompts>,
    allowance: UsageAllowance,
    /// Whether activity is not written yet.
    is_stale: bool,
    next: Instant,
    began: Instant,
    nearly: Vec<BudgetSpent>,
    rung: Option<Fill>,
}

/// Context levels that the daemon must hear of at once: nearly full, and full, again after each further turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    Near,
    Full { turns: u32 },
}

impl ActivityReader {
    pub(super) fn new(watch: &AgentLimits, site: &SessionDir) -> ActivityReader {
        ActivityReader {
            reader: watch.stream.map(|stream| StreamReader::new(stream, watch.window)),
            heard: AgentActivity::default(),
            tail: watch.talk.clone().map(TranscriptTail::new),
            asks: OpenPrompts::new(watch, site),
            allowance: watch.allowance,
            is_stale: false,
            next: Instant::now(),
            began: Instant::now(),
            nearly: Vec::new(),
            rung: None,
        }
    }

    pub(super) fn seen(&self) -> &AgentActivity {
        self.reader.as_ref().map_or(&self.heard, StreamReader::seen)
    }

    /// Takes in bytes that the agent printed.
    pub(super) fn on_output(&mut self, bytes: &[u8]) {
        let now = env::now();
        match &mut self.reader {
            Some(reader) => reader.feed(StreamSource::Printed, bytes, now),
            None => self.heard.at = Some(now),
        }
        self.is_stale = true;
    }

    /// Returns how long the caller may wait before the next write; `None` if nothing is due.
    pub(super) fn patience(&self, now: Instant) -> Option<Duration> {
        (self.is_stale || self.tail.is_some() || self.asks.is_some())
            .then(|| self.next.saturating_duration_since(now))
    }

    /// Writes new activity if the last write is at least `PACE` ago.
    pub(super) fn write_if_due(&mut self, site: &SessionDir, disk: &dyn Disk) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        self.next = now + PACE;
        self.read_on();
        let is_nearly = self.is_nearly(now);
        let has_asked = self.asks.as_mut().is_some_and(OpenPrompts::has_changed);
        if std::mem::take(&mut self.is_stale) || has_asked || is_nearly {
            let asks = self.asks.as_ref().and_then(OpenPrompts::asks).cloned();
            let seen = AgentActivity { asks, nearly: self.nearly.clone(), ..self.seen().clone() };
            site.note_seen(disk, &seen).discard("a full disk must not stop an agent");
            self.ring(site);
        }
        if has_asked || is_nearly {
            site.ring();
        }
    }

    /// Writes the final activity and returns it, unless it is empty.
    pub(super) fn close(
        mut self,
        site: &SessionDir,
        disk: &dyn Disk,
        trouble: Option<AgentTrouble>,
    ) -> Option<AgentActivity> {
        self.read_on();
        self.is_nearly(Instant::now());
        if let Some(reader) = &mut self.reader {
            reader.finish(env::now());
        }
        let mut seen = self.seen().clone();
        seen.trouble = trouble.or(seen.trouble);
        seen.wait = None;
        seen.nearly = self.nearly.clone();
        site.note_seen(disk, &seen).discard("the supervisor's exit record has the activity too");
        (seen != AgentActivity::default()).then_some(seen)
    }

    /// Reports whether one more budget is nearly used up since the last call.
    fn is_nearly(&mut self, now: Instant) -> bool {
        let seconds = now.saturating_duration_since(self.began).as_secs();
        let nearly = self.allowance.nearly(self.seen(), seconds);
        let is_new = nearly.len() > self.nearly.len();
        self.nearly = nearly;
        is_new
    }

    pub(super) fn is_over_budget(&self) -> bool {
        self.allowance.is_exceeded(self.seen())
    }

    fn read_on(&mut self) {
        let (Some(tail), Some(reader)) = (&mut self.tail, &mut self.reader) else { return };
        let session = reader.seen().client_session.as_ref().map(|id| id.to_string());
        tail.read_new(session.as_deref(), |bytes| {
            reader.feed(StreamSource::Written, bytes, env::now());
            self.is_stale = true;
        });
    }

    /// Wakes the daemon when the context level changes, so that it does not wait for its next round.
    fn ring(&mut self, site: &SessionDir) {
        let seen = self.seen();
        let fill = match (self.allowance.is_context_full(seen), self.allowance.is_context_near(seen)) {
            (true, _) => Some(Fill::Full { turns: seen.turns }),
            (false, true) => Some(Fill::Near),
            (false, false) => None,
        };
        if fill.is_some() && fill != self.rung {
            site.ring();
        }
        self.rung = fill;
    }
}
