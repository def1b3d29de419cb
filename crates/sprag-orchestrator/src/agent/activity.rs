//! What is seen of an agent while it works: what it prints, and the talk its client writes down, read as they come and
//! kept where others can look.

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

/// No oftener is it written down, nor is the talk looked at.
const PACE: Duration = Duration::from_millis(500);

pub(crate) struct ActivityReader {
    /// `None`: what it prints has no form, so that only when it does counts.
    reader: Option<StreamReader>,
    heard: AgentActivity,
    tail: Option<TranscriptTail>,
    asks: Option<OpenPrompts>,
    allowance: UsageAllowance,
    /// Something is not written down yet.
    is_stale: bool,
    next: Instant,
    began: Instant,
    nearly: Vec<BudgetSpent>,
    rung: Option<Fill>,
}

/// What the daemon wants to hear of at once: that a context is nearly full, and each answer once it is.
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

    /// The agent printed something.
    pub(super) fn on_output(&mut self, bytes: &[u8]) {
        let now = env::now();
        match &mut self.reader {
            Some(reader) => reader.feed(StreamSource::Printed, bytes, now),
            None => self.heard.at = Some(now),
        }
        self.is_stale = true;
    }

    /// How long nothing has to be done here.
    pub(super) fn patience(&self, now: Instant) -> Option<Duration> {
        (self.is_stale || self.tail.is_some() || self.asks.is_some())
            .then(|| self.next.saturating_duration_since(now))
    }

    /// Writes down what is new, when its time has come.
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
            site.note_seen(disk, &seen).discard("a full disk must not end an agent");
            self.ring(site);
        }
        if has_asked || is_nearly {
            site.ring();
        }
    }

    /// At the end, in any case.
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
        site.note_seen(disk, &seen).discard("the report of the supervisor carries it too");
        (seen != AgentActivity::default()).then_some(seen)
    }

    /// Whether most of one more budget is used.
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

    /// The daemon is told of what it would else hear of at its next round.
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
