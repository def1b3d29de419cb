//! A run as plain data for screens. A board holds the facts of the records and changes only with them. A
//! view adds the facts that change without records: the clock, and the activity of the agents.

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

use super::agent::activity::{AgentActivity, AgentTrouble, SessionCost};
use super::ids::{CommitId, EffectKey, StageId};
use super::reconcile::observed::Observed;
use super::reconcile::waiting::why;
use super::run::record::BudgetOwner;
use super::run::stuck_ref::StuckRef;
use super::run::timed::Timed;
use super::sentences::{self, Explanation};
use super::stage::state::StageState;
pub use partial::HiddenRows;
pub use state::{StateLabel, StateTone};

/// The facts of the records of a run. It can be stored and read back without a fold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunBoard {
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
    /// The reason why merged work is not promoted to the target, if there is one.
    pub target_held: Option<Text<300>>,
    /// Budgets that are mostly used.
    #[serde(default)]
    pub nearly: Vec<BudgetOwner>,
    /// The reason why a reference cannot be moved, if there is one.
    #[serde(default)]
    pub stuck: Option<Text<500>>,
    /// Sorted by level, then by id.
    pub rows: Vec<StageRow>,
    /// Totals of stages without a row.
    pub rest: HiddenRows,
}

/// One stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageRow {
    pub level: u32,
    pub id: StageId,
    /// The name of the client of its agents.
    pub client: Text<64>,
    pub state: StateLabel,
    /// From 1; 0 before the first attempt and after the end.
    pub attempt: u32,
    pub merged: Option<CommitId>,
    /// The reason why the stage waits, or who skipped it; `None` if it is merged.
    pub why: Option<Explanation>,
    #[serde(with = "perhaps_millis")]
    pub begun: Option<Timestamp>,
    #[serde(with = "perhaps_millis")]
    pub ended: Option<Timestamp>,
    pub agent: AgentView,
    /// Totals of the agents that are gone.
    pub past: RowHistory,
}

/// The last agent of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AgentView {
    None,
    AtWork { session: EffectKey },
    Gone { session: EffectKey },
}

impl AgentView {
    pub fn session(&self) -> Option<&EffectKey> {
        match self {
            AgentView::None => None,
            AgentView::AtWork { session } | AgentView::Gone { session } => Some(session),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowHistory {
    pub used: Option<SessionCost>,
    /// Percent of the context of the last agent.
    pub context: Option<u8>,
}

impl RunBoard {
    /// Makes the board; `past` returns the activity of an agent that is gone.
    pub fn from_run(
        timed: &Timed,
        mut past: impl FnMut(&EffectKey) -> Option<AgentActivity>,
        now: Timestamp,
    ) -> RunBoard {
        let run = timed.run();
        let mut pasts: BTreeMap<&StageId, RowHistory> = BTreeMap::new();
        for (session, stage) in run.sessions().filter(|(key, _)| run.ended(key).is_some()) {
            let Some(seen) = past(session) else { continue };
            let of = pasts.entry(stage).or_default();
            of.used = plus(of.used, seen.used);
            of.context = seen.context.map(|context| context.percent()).or(of.context);
        }
        let world = Observed { room: u16::MAX, ..Observed::default() };
        let mut whys: BTreeMap<StageId, Explanation> = why(run, &world, now)
            .into_iter()
            .filter_map(|(id, why)| {
                let told = sentences::why(run, &id, &why?);
                Some((id, told))
            })
            .collect();
        let levels = run.plan().graph().levels();
        let mut rows: Vec<StageRow> = Vec::with_capacity(levels.len());
        for (spec, level) in run.plan().stages().iter().zip(levels) {
            let Some(entry) = run.entry(&spec.id) else { continue };
            let span = timed.span(&spec.id);
            let merged = match &entry.state {
                StageState::Done { merged } => Some(merged.commit().clone()),
                _ => None,
            };
            let why = match &entry.state {
                StageState::Skipped { by, why } => {
                    Some(Explanation { text: Text::new(sentences::left_out(by, why)), until: None })
                }
                _ => whys.remove(&spec.id),
            };
            let last = entry.session.as_ref().or(entry.state.session());
            rows.push(StageRow {
                level: u32::try_from(level).unwrap_or(u32::MAX),
                id: spec.id.clone(),
                client: Text::new(spec.agent.client.word()),
                state: StateLabel::from_entry(entry),
                attempt: entry.state.attempt(),
                merged,
                why,
                begun: span.map(|span| span.begun),
                ended: span.and_then(|span| span.ended),
                agent: match last {
                    None => AgentView::None,
                    Some(session) if run.ended(session).is_some() => {
                        AgentView::Gone { session: session.clone() }
                    }
                    Some(session) => AgentView::AtWork { session: session.clone() },
                },
                past: pasts.remove(&spec.id).unwrap_or_default(),
            });
        }
        rows.sort_by(|a, b| (a.level, &a.id).cmp(&(b.level, &b.id)));
        RunBoard {
            plan: Text::new(run.plan().head.name.to_string()),
            run: run.id.clone(),
            slots: run.plan().head.slots,
            target: Text::new(run.plan().head.target.as_ref().map(ToString::to_string).unwrap_or_default()),
            began: timed.began,
            moved: timed.moved,
            target_held: run.target().held.as_ref().map(|why| Text::new(sentences::target_held(why))),
            nearly: run.limits().budgets.keys().cloned().collect(),
            stuck: run.target().stuck.as_ref().and_then(StuckRef::message).map(Text::new),
            rows,
            rest: HiddenRows::default(),
        }
    }

    pub fn find(&self, stage: &str) -> Option<&StageRow> {
        self.rows.iter().find(|row| row.id.as_str() == stage)
    }

    /// Returns the sessions whose agents are at work according to the records.
    pub fn at_work(&self) -> impl Iterator<Item = (&StageRow, &EffectKey)> {
        self.rows.iter().filter_map(|row| match &row.agent {
            AgentView::AtWork { session } => Some((row, session)),
            AgentView::None | AgentView::Gone { .. } => None,
        })
    }

    pub fn is_over(&self) -> bool {
        self.rows.iter().all(|row| row.state.is_over()) && self.rest.progress.is_over()
    }
}

/// The data that a screen draws.
#[derive(Clone, Debug, PartialEq)]
pub struct RunView<'a> {
    pub board: &'a RunBoard,
    pub lines: Vec<ViewLine<'a>>,
    /// Items for a person, the most urgent first.
    pub attention: Vec<AttentionItem>,
    pub progress: RunProgress,
    pub used: Option<SessionCost>,
    pub now: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ViewLine<'a> {
    pub row: &'a StageRow,
    /// Percent; `None` if it is not known.
    pub context: Option<u8>,
    pub used: Option<SessionCost>,
    /// Seconds.
    pub elapsed: Option<u64>,
    pub last_tool: Option<&'a str>,
    /// The time of the last sign of the agent.
    pub heard: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttentionItem {
    /// `None` if the item is about the run.
    pub stage: Option<StageId>,
    pub tone: StateTone,
    pub text: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunProgress {
    pub total: usize,
    pub done: usize,
    pub skipped: usize,
    /// Stages with an agent or an effect under way.
    pub active: usize,
    pub ready: usize,
    pub waiting: usize,
    /// Stages that wait for a person.
    pub stuck: usize,
}

impl RunProgress {
    /// Returns the percentage of stages that are over.
    pub fn percent(self) -> u8 {
        let over = (self.done + self.skipped) * 100;
        u8::try_from(over.checked_div(self.total).unwrap_or(100)).unwrap_or(100)
    }

    pub fn is_over(self) -> bool {
        self.done + self.skipped == self.total
    }

    fn count(&mut self, state: StateLabel) {
        let counted = match state {
            StateLabel::Done => &mut self.done,
            StateLabel::Skipped => &mut self.skipped,
            StateLabel::Waiting => &mut self.waiting,
            StateLabel::Ready | StateLabel::Held => &mut self.ready,
            StateLabel::Asking | StateLabel::Review | StateLabel::Blocked => &mut self.stuck,
            StateLabel::Running
            | StateLabel::Verifying
            | StateLabel::HandingOff
            | StateLabel::Failing
            | StateLabel::Merging
            | StateLabel::Conflicted
            | StateLabel::MergeHeld => &mut self.active,
        };
        *counted += 1;
        self.total += 1;
    }
}

/// Percent of a context from which a warning is shown.
const NEARLY_FULL: u8 = 75;

impl<'a> RunView<'a> {
    /// Makes the view; `seen` holds the activity of the sessions at work.
    pub fn new(
        board: &'a RunBoard,
        seen: &'a BTreeMap<EffectKey, AgentActivity>,
        now: Timestamp,
    ) -> RunView<'a> {
        let mut view = RunView {
            board,
            lines: Vec::with_capacity(board.rows.len()),
            attention: Vec::new(),
            progress: board.rest.progress,
            used: board.rest.used,
            now,
        };
        for row in &board.rows {
            let live = match &row.agent {
                AgentView::AtWork { session } => seen.get(session),
                AgentView::None | AgentView::Gone { .. } => None,
            };
            view.progress.count(row.state);
            let line = ViewLine {
                row,
                context: match &row.agent {
                    AgentView::AtWork { .. } => {
                        live.and_then(|seen| seen.context).map(|context| context.percent())
                    }
                    AgentView::None | AgentView::Gone { .. } => row.past.context,
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
                BudgetOwner::Run => None,
                // The budget of a finished stage no longer matters.
                BudgetOwner::Stage(stage)
                    if board.find(stage.as_str()).is_none_or(|row| row.state.is_over()) =>
                {
                    continue;
                }
                BudgetOwner::Stage(stage) => Some(stage.clone()),
            };
            let text = sentences::nearly(of).to_owned();
            view.attention.push(AttentionItem { stage, tone: StateTone::Warning, text });
        }
        for text in
            [board.target_held.as_ref().map(Text::to_string), board.stuck.as_ref().map(Text::to_string)]
        {
            let blocked = |text| AttentionItem { stage: None, tone: StateTone::Blocked, text };
            view.attention.extend(text.map(blocked));
        }
        // The sort is stable: by level and id within one tone.
        view.attention.sort_by_key(|attention| attention.tone != StateTone::Blocked);
        view
    }

    fn attend(&mut self, line: &ViewLine<'_>, live: Option<&AgentActivity>) {
        let row = line.row;
        let mut note = |tone, text: String| {
            self.attention.push(AttentionItem { stage: Some(row.id.clone()), tone, text });
        };
        if row.state.is_a_persons() {
            let why = row.why.as_ref().map_or(row.state.name(), |why| why.text.as_str());
            note(
                if row.state == StateLabel::Held { StateTone::Warning } else { StateTone::Blocked },
                why.to_owned(),
            );
        }
        match live.and_then(|seen| seen.trouble.as_ref()) {
            Some(trouble) => note(StateTone::Warning, troubled(trouble)),
            None if line.context.is_some_and(|context| context >= NEARLY_FULL) && live.is_some() => {
                note(StateTone::Warning, format!("its context is {}% full", line.context.unwrap_or(0)));
            }
            None => {}
        }
    }
}

fn troubled(trouble: &AgentTrouble) -> String {
    match trouble {
        AgentTrouble::RateLimit { until: Some(until) } => {
            format!("its account is at a limit until {until}")
        }
        AgentTrouble::RateLimit { until: None } => "its account is at a limit".to_owned(),
        AgentTrouble::Auth => "its client is not logged in".to_owned(),
        AgentTrouble::Overload => "the model is overloaded".to_owned(),
        AgentTrouble::ContextFull => "its context is full".to_owned(),
        AgentTrouble::Budget => "its budget is used up".to_owned(),
    }
}

/// Adds two costs; a cost that is not known adds nothing and is not zero.
fn plus(one: Option<SessionCost>, other: Option<SessionCost>) -> Option<SessionCost> {
    let (Some(a), Some(b)) = (one, other) else { return one.or(other) };
    let micros = match (a.micros, b.micros) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    };
    Some(SessionCost { tokens: a.tokens.saturating_add(b.tokens), micros })
}

/// Times as numbers, because a board with ten thousand stages is read at every refresh.
mod millis {
    use serde::{Deserialize as _, Deserializer, Serializer};

    use sprag_base::time::Timestamp;

    pub(super) fn serialize<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i64(at.millis())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        i64::deserialize(from).map(Timestamp::from_millis)
    }
}

/// The same for an optional time.
pub(super) mod perhaps_millis {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use sprag_base::time::Timestamp;

    pub(crate) fn serialize<S: Serializer>(at: &Option<Timestamp>, to: S) -> Result<S::Ok, S::Error> {
        at.map(Timestamp::millis).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Timestamp>, D::Error> {
        Ok(Option::<i64>::deserialize(from)?.map(Timestamp::from_millis))
    }
}
