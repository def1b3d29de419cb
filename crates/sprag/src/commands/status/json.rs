//! A run as JSON. Stages are written one by one, so that ten thousand stages need no tree in memory.

use serde::ser::SerializeSeq as _;
use serde::{Serialize, Serializer};

use sprag_base::time::Timestamp;
use sprag_orchestrator::view::live::RunOwner;
use sprag_plan::view::{self, AgentView, RunProgress, RunView, StageRow, ViewLine};

use super::LiveStatus;

#[derive(Serialize)]
pub(crate) struct RunJson<'a> {
    plan: &'a str,
    run: &'a str,
    began: Timestamp,
    moved: Timestamp,
    is_over: bool,
    /// Whether a process runs the plan; null if unknown.
    is_run: Option<bool>,
    target: &'a str,
    slots: u16,
    progress: RunProgress,
    percent: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_micros: Option<u64>,
    attention: Vec<AttentionJson<'a>>,
    stages: Stages<'a>,
    sessions: Vec<AgentJson<'a>>,
    other_plans: &'a [String],
}

#[derive(Serialize)]
struct AttentionJson<'a> {
    stage_id: Option<&'a str>,
    text: &'a str,
}

struct Stages<'a>(&'a RunView<'a>, &'a LiveStatus);

#[derive(Serialize)]
struct StageJson<'a> {
    stage_id: &'a str,
    level: u32,
    client: &'a str,
    state: &'static str,
    attempt: u32,
    merged: Option<&'a str>,
    /// Whether the target branch contains the merge.
    landed: Option<bool>,
    context_percent: Option<u8>,
    tokens: Option<u64>,
    cost_micros: Option<u64>,
    elapsed_seconds: Option<u64>,
    why: Option<String>,
    session_id: Option<&'a str>,
}

/// An agent at work.
#[derive(Serialize)]
struct AgentJson<'a> {
    stage_id: &'a str,
    session_id: &'a str,
    client: &'a str,
    timestamp: Option<Timestamp>,
    context_percent: Option<u8>,
    last_tool: Option<&'a str>,
    activity: &'a str,
}

impl<'a> RunJson<'a> {
    pub(super) fn new(view: &'a RunView<'a>, beside: &'a LiveStatus, others: &'a [String]) -> RunJson<'a> {
        let board = view.board;
        let attention = view.attention.iter();
        RunJson {
            plan: board.plan.as_str(),
            run: board.run.as_str(),
            began: board.began,
            moved: board.moved,
            is_over: board.is_over(),
            is_run: match beside.runner {
                RunOwner::This => Some(true),
                RunOwner::Nobody | RunOwner::Other { .. } => Some(false),
                RunOwner::Unknown => None,
            },
            target: board.target.as_str(),
            slots: board.slots,
            progress: view.progress,
            percent: view.progress.percent(),
            tokens: view.used.map(|used| used.tokens),
            cost_micros: view.used.and_then(|used| used.micros),
            attention: attention.map(alert).collect(),
            stages: Stages(view, beside),
            sessions: view.lines.iter().filter_map(session).collect(),
            other_plans: others,
        }
    }
}

fn alert(it: &view::AttentionItem) -> AttentionJson<'_> {
    AttentionJson { stage_id: it.stage.as_ref().map(|id| id.as_str()), text: &it.text }
}

impl Serialize for Stages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.lines.len()))?;
        for line in &self.0.lines {
            let row = line.row;
            list.serialize_element(&StageJson {
                stage_id: row.id.as_str(),
                level: row.level,
                client: row.client.as_str(),
                state: row.state.name(),
                attempt: row.attempt,
                merged: row.merged.as_ref().map(|commit| commit.0.as_str()),
                landed: row.merged.as_ref().and_then(|merged| self.1.landed.has(merged)),
                context_percent: line.context,
                tokens: line.used.map(|used| used.tokens),
                cost_micros: line.used.and_then(|used| used.micros),
                elapsed_seconds: line.elapsed,
                why: row.why.as_ref().map(|why| why.message(self.0.now)),
                session_id: row.agent.session().map(|key| key.0.as_str()),
            })?;
        }
        list.end()
    }
}

fn session<'a>(line: &ViewLine<'a>) -> Option<AgentJson<'a>> {
    let StageRow { agent: AgentView::AtWork { session }, .. } = line.row else { return None };
    Some(AgentJson {
        stage_id: line.row.id.as_str(),
        session_id: session.0.as_str(),
        client: line.row.client.as_str(),
        timestamp: line.heard,
        context_percent: line.context,
        last_tool: line.last_tool,
        activity: line.row.why.as_ref().map_or(line.row.state.name(), |why| why.text.as_str()),
    })
}
