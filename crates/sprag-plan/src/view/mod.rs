//! A run as plain data for screens. A board is what the records tell and changes only when they do; a view lays over it
//! what moves by itself: the clock, and what supervisors see of the agents at work.

pub mod drawing;
pub mod numbers;
mod partial;
pub mod review_request;
mod state;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use super::agent::activity::{Seen, Trouble, Used};
use super::ids::{Commit, Key, StageId};
use super::reconcile::observed::World;
use super::reconcile::waiting::why;
use super::run::record::Purse;
use super::run::stuck_ref::Stuck;
use super::run::timed::Timed;
use super::sentences::{self, Because};
use super::stage::Stage;
pub use partial::Rest;
pub use state::{State, Tone};

/// What the records of a run tell. It can be written down and read back, for whoever has no time to fold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Board {
    pub plan: Text<64>,
    pub run: Text<64>,
    pub slots: u16,
    /// The branch that merged work goes to.
    pub target: Text<256>,
    #[serde(with = "millis")]
    pub began: Timestamp,
    /// When the last record was written.
    #[serde(with = "millis")]
    pub moved: Timestamp,
    /// Why merged work does not go to the target, if it does not.
    pub target_held: Option<Text<300>>,
    /// Budgets of which most is used.
    #[serde(default)]
    pub nearly: Vec<Purse>,
    /// Why a reference does not move, if one does not.
    #[serde(default)]
    pub stuck: Option<Text<500>>,
    /// By level, then by id.
    pub rows: Vec<Row>,
    /// Of stages that have no row here.
    pub rest: Rest,
}

/// One stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub level: u32,
    pub id: StageId,
    /// Who its agents are, in a word.
    pub client: Text<64>,
    pub state: State,
    /// From 1; 0 before its first and where it is over.
    pub attempt: u32,
    pub merged: Option<Commit>,
    /// Why it is not further, or who left it out; `None` for one that is merged.
    pub why: Option<Because>,
    #[serde(with = "perhaps_millis")]
    pub begun: Option<Timestamp>,
    #[serde(with = "perhaps_millis")]
    pub ended: Option<Timestamp>,
    pub agent: Agent,
    /// Of the agents that are gone.
    pub past: Past,
}

/// The last agent of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Agent {
    None,
    AtWork { session: Key },
    Gone { session: Key },
}

impl Agent {
    pub fn session(&self) -> Option<&Key> {
        match self {
            Agent::None => None,
            Agent::AtWork { session } | Agent::Gone { session } => Some(session),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    pub used: Option<Used>,
    /// Per cent, of the last one.
    pub context: Option<u8>,
}

impl Board {
    /// `past` is what was seen of an agent that is gone.
    pub fn of(timed: &Timed, mut past: impl FnMut(&Key) -> Option<Seen>, now: Timestamp) -> Board {
        let run = timed.run();
        let mut pasts: BTreeMap<&StageId, Past> = BTreeMap::new();
        for (session, stage) in run.sessions().iter().filter(|(key, _)| run.ended(key).is_some()) {
            let Some(seen) = past(session) else { continue };
            let of = pasts.entry(stage).or_default();
            of.used = plus(of.used, seen.used);
            of.context = seen.context.map(|context| context.percent()).or(of.context);
        }
        let world = World { room: u16::MAX, ..World::default() };
        let mut whys: BTreeMap<StageId, Because> = why(run, &world, now)
            .into_iter()
            .filter_map(|(id, why)| {
                let told = sentences::why(run, &id, &why?);
                Some((id, told))
            })
            .collect();
        let levels = run.plan().graph().levels();
        let mut rows: Vec<Row> = Vec::with_capacity(levels.len());
        for (spec, level) in run.plan().stages().iter().zip(levels) {
            let Some(standing) = run.standing(&spec.id) else { continue };
            let span = timed.span(&spec.id);
            let merged = match &standing.stage {
                Stage::Done { merged } => Some(merged.commit().clone()),
                _ => None,
            };
            let why = match &standing.stage {
                Stage::Skipped { by, why } => {
                    Some(Because { text: Text::new(sentences::left_out(by, why)), until: None })
                }
                _ => whys.remove(&spec.id),
            };
            let last = standing.session.as_ref().or(standing.stage.session());
            rows.push(Row {
                level: u32::try_from(level).unwrap_or(u32::MAX),
                id: spec.id.clone(),
                client: Text::new(spec.agent.client.word()),
                state: State::of(&standing.stage),
                attempt: standing.stage.attempt(),
                merged,
                why,
                begun: span.map(|span| span.begun),
                ended: span.and_then(|span| span.ended),
                agent: match last {
                    None => Agent::None,
                    Some(session) if run.ended(session).is_some() => Agent::Gone { session: session.clone() },
                    Some(session) => Agent::AtWork { session: session.clone() },
                },
                past: pasts.remove(&spec.id).unwrap_or_default(),
            });
        }
        rows.sort_by(|a, b| (a.level, &a.id).cmp(&(b.level, &b.id)));
        Board {
            plan: Text::new(run.plan().head.name.to_string()),
            run: run.id.clone(),
            slots: run.plan().head.slots,
            target: Text::new(run.plan().head.target.as_ref().map(ToString::to_string).unwrap_or_default()),
            began: timed.began,
            moved: timed.moved,
            target_held: run.target_held().map(|why| Text::new(sentences::target_held(why))),
            nearly: run.nearly().keys().cloned().collect(),
            stuck: run.stuck().and_then(Stuck::told).map(Text::new),
            rows,
            rest: Rest::default(),
        }
    }

    pub fn find(&self, stage: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.id.as_str() == stage)
    }

    /// Sessions whose agents are at work, as far as the records know.
    pub fn at_work(&self) -> impl Iterator<Item = (&Row, &Key)> {
        self.rows.iter().filter_map(|row| match &row.agent {
            Agent::AtWork { session } => Some((row, session)),
            Agent::None | Agent::Gone { .. } => None,
        })
    }

    pub fn is_over(&self) -> bool {
        self.rows.iter().all(|row| row.state.is_over()) && self.rest.progress.is_over()
    }
}

/// What a screen draws.
#[derive(Clone, Debug, PartialEq)]
pub struct View<'a> {
    pub board: &'a Board,
    pub lines: Vec<Line<'a>>,
    /// What a person should know of, the most urgent first.
    pub attention: Vec<Attention>,
    pub progress: Progress,
    pub used: Option<Used>,
    pub now: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Line<'a> {
    pub row: &'a Row,
    /// Per cent; `None`: nobody knows.
    pub context: Option<u8>,
    pub used: Option<Used>,
    /// Seconds.
    pub elapsed: Option<u64>,
    pub last_tool: Option<&'a str>,
    /// When the agent was last heard of.
    pub heard: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attention {
    /// `None`: it is about the run.
    pub stage: Option<StageId>,
    pub tone: Tone,
    pub text: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    pub total: usize,
    pub done: usize,
    pub skipped: usize,
    /// Somebody or something is at them.
    pub active: usize,
    pub ready: usize,
    pub waiting: usize,
    /// Nothing happens to them before a person says something.
    pub stuck: usize,
}

impl Progress {
    /// Of all stages, how many are over.
    pub fn percent(self) -> u8 {
        let over = (self.done + self.skipped) * 100;
        u8::try_from(over.checked_div(self.total).unwrap_or(100)).unwrap_or(100)
    }

    pub fn is_over(self) -> bool {
        self.done + self.skipped == self.total
    }

    fn count(&mut self, state: State) {
        let counted = match state {
            State::Done => &mut self.done,
            State::Skipped => &mut self.skipped,
            State::Waiting => &mut self.waiting,
            State::Ready | State::Held => &mut self.ready,
            State::Asking | State::Review | State::Blocked => &mut self.stuck,
            State::Running
            | State::Verifying
            | State::HandingOff
            | State::Failing
            | State::Merging
            | State::Conflicted
            | State::MergeHeld => &mut self.active,
        };
        *counted += 1;
        self.total += 1;
    }
}

/// From here on an agent is told to think of its end.
const NEARLY_FULL: u8 = 75;

impl<'a> View<'a> {
    /// `seen` is of the sessions at work.
    pub fn new(board: &'a Board, seen: &'a BTreeMap<Key, Seen>, now: Timestamp) -> View<'a> {
        let mut view = View {
            board,
            lines: Vec::with_capacity(board.rows.len()),
            attention: Vec::new(),
            progress: board.rest.progress,
            used: board.rest.used,
            now,
        };
        for row in &board.rows {
            let live = match &row.agent {
                Agent::AtWork { session } => seen.get(session),
                Agent::None | Agent::Gone { .. } => None,
            };
            view.progress.count(row.state);
            let line = Line {
                row,
                context: match &row.agent {
                    Agent::AtWork { .. } => {
                        live.and_then(|seen| seen.context).map(|context| context.percent())
                    }
                    Agent::None | Agent::Gone { .. } => row.past.context,
                },
                used: plus(row.past.used, live.and_then(|seen| seen.used)),
                elapsed: row
                    .begun
                    .map(|begun| u64::try_from(row.ended.unwrap_or(now).seconds_since(begun)).unwrap_or(0)),
                last_tool: live.and_then(|seen| seen.last_tool.as_ref()).map(Text::as_str),
                heard: live.and_then(|seen| seen.at),
            };
            view.used = plus(view.used, line.used);
            view.attend(&line, live);
            view.lines.push(line);
        }
        for of in &board.nearly {
            let stage = match of {
                Purse::Run => None,
                // What is over has used what it has used.
                Purse::Stage(stage) if board.find(stage.as_str()).is_none_or(|row| row.state.is_over()) => {
                    continue;
                }
                Purse::Stage(stage) => Some(stage.clone()),
            };
            let text = sentences::nearly(of).to_owned();
            view.attention.push(Attention { stage, tone: Tone::Warning, text });
        }
        for text in
            [board.target_held.as_ref().map(Text::to_string), board.stuck.as_ref().map(Text::to_string)]
        {
            let blocked = |text| Attention { stage: None, tone: Tone::Blocked, text };
            view.attention.extend(text.map(blocked));
        }
        // Stable: by level and id within one tone.
        view.attention.sort_by_key(|attention| attention.tone != Tone::Blocked);
        view
    }

    fn attend(&mut self, line: &Line<'_>, live: Option<&Seen>) {
        let row = line.row;
        let mut note = |tone, text: String| {
            self.attention.push(Attention { stage: Some(row.id.clone()), tone, text });
        };
        if row.state.is_a_persons() {
            let why = row.why.as_ref().map_or(row.state.name(), |why| why.text.as_str());
            note(if row.state == State::Held { Tone::Warning } else { Tone::Blocked }, why.to_owned());
        }
        match live.and_then(|seen| seen.trouble.as_ref()) {
            Some(trouble) => note(Tone::Warning, troubled(trouble)),
            None if line.context.is_some_and(|context| context >= NEARLY_FULL) && live.is_some() => {
                note(Tone::Warning, format!("its context is {} % full", line.context.unwrap_or(0)));
            }
            None => {}
        }
    }
}

fn troubled(trouble: &Trouble) -> String {
    match trouble {
        Trouble::RateLimit { until: Some(until) } => format!("its account has reached a limit until {until}"),
        Trouble::RateLimit { until: None } => "its account has reached a limit".to_owned(),
        Trouble::Auth => "its client is not logged in".to_owned(),
        Trouble::Overload => "the model is overloaded".to_owned(),
        Trouble::ContextFull => "its context is full".to_owned(),
        Trouble::Budget => "its budget is used up".to_owned(),
    }
}

/// What is not known adds nothing and is not zero.
fn plus(one: Option<Used>, other: Option<Used>) -> Option<Used> {
    let (Some(a), Some(b)) = (one, other) else { return one.or(other) };
    let micros = match (a.micros, b.micros) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    };
    Some(Used { tokens: a.tokens.saturating_add(b.tokens), micros })
}

/// Times as numbers: a board of ten thousand stages is read at every look.
mod millis {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use sprag_base::time::Timestamp;

    pub fn serialize<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i64(at.millis())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        i64::deserialize(from).map(Timestamp::from_millis)
    }
}

/// The same for one that may not be there.
pub(super) mod perhaps_millis {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use sprag_base::time::Timestamp;

    pub fn serialize<S: Serializer>(at: &Option<Timestamp>, to: S) -> Result<S::Ok, S::Error> {
        at.map(Timestamp::millis).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Timestamp>, D::Error> {
        Ok(Option::<i64>::deserialize(from)?.map(Timestamp::from_millis))
    }
}
