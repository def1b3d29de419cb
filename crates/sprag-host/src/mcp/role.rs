//! The role of a caller of the broker, and its rights. A token of Sprag or the call that a hook recorded
//! decides the role. Setting a variable never adds rights.

use std::io;

use serde::{Deserialize, Serialize};

use sprag_base::ids::SessionId;
use sprag_base::record::Record;
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_govern::event::Actor;
use sprag_govern::event_records::{RecordedCall, RecordedEvent};
use sprag_memory::learning::{Learning, LearningReaders, LearningScope};

use crate::mcp::token;
use crate::report::{self, review};
use crate::store::journal;
use crate::sys::human;
use crate::world::World;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum McpRole {
    /// The main agent of the session.
    Main,
    Subagent,
    Reviewer,
    Merge,
    Unknown,
}

/// The right that a tool needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpRight {
    Search,
    Record,
    Observe,
    Answer,
    Outcome,
    Select,
}

sprag_base::names! {
    pub fn name(McpRole):
    Main = "main", Subagent = "subagent", Reviewer = "reviewer", Merge = "merge", Unknown = "unknown"
}

impl McpRole {
    pub fn may(self, right: McpRight) -> bool {
        match self {
            McpRole::Main => true,
            // A subagent works on the intent of its session, so it may select it.
            McpRole::Subagent => {
                matches!(right, McpRight::Search | McpRight::Observe | McpRight::Outcome | McpRight::Select)
            }
            McpRole::Reviewer | McpRole::Merge => {
                matches!(right, McpRight::Search | McpRight::Observe | McpRight::Outcome)
            }
            McpRole::Unknown => matches!(right, McpRight::Search | McpRight::Observe),
        }
    }
}

/// The caller's role, session and identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    pub role: McpRole,
    pub session: SessionId,
    pub actor: Actor,
}

impl Caller {
    /// Reports whether the caller may read a learning.
    pub fn reads(&self, learning: &Learning) -> bool {
        let is_own = learning.session == self.session;
        let scope = learning.candidate.scope;
        match self.role {
            McpRole::Main => scope != LearningScope::Ephemeral || is_own,
            McpRole::Subagent | McpRole::Reviewer | McpRole::Merge => match scope {
                LearningScope::Project | LearningScope::Team => {
                    learning.readers() != LearningReaders::Private || is_own
                }
                LearningScope::Ephemeral => is_own,
                LearningScope::Personal => false,
            },
            McpRole::Unknown => match learning.readers() {
                LearningReaders::Public => true,
                LearningReaders::Project => scope == LearningScope::Project,
                LearningReaders::Private | LearningReaders::Role => false,
            },
        }
    }
}

/// The parts of a request that identify its caller.
pub struct RoleClaim<'a> {
    pub token: Option<String>,
    /// The client's id of the call.
    pub call: Option<&'a str>,
    pub tool: &'a str,
    /// The session for a connection without another session.
    pub own: &'a SessionId,
}

pub fn caller(world: &World<'_>, asked: &RoleClaim<'_>, now: Timestamp) -> io::Result<Caller> {
    let nobody = || Caller { role: McpRole::Unknown, session: asked.own.clone(), actor: Actor::Main };
    if let Some(token) = &asked.token {
        // An invalid token gets the role `unknown`, and never the rights of the session.
        return Ok(by_token(world, token, now).unwrap_or_else(nobody));
    }
    let Some(session) = session(world, now) else {
        return Ok(nobody());
    };
    let actor = journal::read(&journal::path(&world.store(), &session))
        .map(|(_, records)| actor(&records, asked))
        .unwrap_or(Actor::Main);
    Ok(Caller { role: role_of(&actor), session, actor })
}

fn by_token(world: &World<'_>, token: &str, now: Timestamp) -> Option<Caller> {
    if let Some(granted) = world.places.user.as_ref().and_then(|user| token::check(user, token, now)) {
        let is_here = granted.store == world.places.store;
        return is_here.then(|| Caller {
            role: granted.role,
            session: granted.session.clone(),
            actor: acting(granted.role),
        });
    }
    let session = review::owner(&world.store(), token)?;
    let role = McpRole::Reviewer;
    review::may_use(world, &session, token).then(|| Caller { role, session, actor: acting(role) })
}

/// Returns the author of the caller's records. Only the main agent has no name.
fn acting(role: McpRole) -> Actor {
    match role {
        McpRole::Main => Actor::Main,
        other => Actor::Subagent { id: Text::from(other.name()), kind: Text::from(other.name()) },
    }
}

/// Returns the session of the client process that started this server. Without one, searches like the
/// commands do.
fn session(world: &World<'_>, now: Timestamp) -> Option<SessionId> {
    let above = human::ancestors();
    let sessions = journal::all(&world.store()).into_iter().filter_map(|path| journal::read(&path).ok());
    let of_client = sessions.filter_map(|(loaded, records)| {
        let client = loaded.session.about.client.filter(|client| above.contains(client));
        let last = records.last().filter(|_| client.is_some() && !loaded.session.about.ended)?;
        Some((last.at, last.session.clone()?))
    });
    // One process may have had several sessions in turn.
    let newest = of_client.max_by_key(|(at, _)| *at).map(|(_, session)| session);
    newest.or_else(|| report::find_session::find_session(world, None, now).ok())
}

/// Maximum number of recorded calls to search.
const LAST: usize = 64;

/// Returns the agent that made this call, by the record of a hook. If the client sends the id of the call,
/// only that call counts. Otherwise any open call of this tool may match, and the one with the fewest rights
/// counts.
fn actor(records: &[Record], asked: &RoleClaim<'_>) -> Actor {
    let calls = records.iter().rev().filter_map(|record| match RecordedEvent::read(record)? {
        RecordedEvent::ToolRequested(call) => Some((record, call, CallStage::Requested)),
        RecordedEvent::ToolFinished(call) => Some((record, call, CallStage::Finished)),
        _ => None,
    });
    let is_ours = |tool: &str| tool.contains(super::NAME) && tool.rsplit("__").next() == Some(asked.tool);
    let mut calls = calls.filter(|(_, call, _)| is_ours(call.tool.as_str())).take(LAST);
    if let Some(id) = asked.call {
        let is_named = |call: &RecordedCall| call.call.as_ref().is_some_and(|call| call.as_str() == id);
        let named = calls.find(|(_, call, stage)| *stage == CallStage::Requested && is_named(call));
        return named.map_or(Actor::Main, |(record, ..)| actor_of(record));
    }
    let mut ended: Vec<Option<Text<128>>> = Vec::new();
    for (record, call, stage) in calls {
        match stage {
            CallStage::Finished => ended.push(call.call),
            CallStage::Requested if ended.contains(&call.call) => {}
            CallStage::Requested if actor_of(record) != Actor::Main => return actor_of(record),
            CallStage::Requested => {}
        }
    }
    Actor::Main
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CallStage {
    Requested,
    Finished,
}

fn actor_of(record: &Record) -> Actor {
    let by = record.actor.as_ref();
    match by.and_then(|by| by.agent.clone()) {
        Some(id) => Actor::Subagent { id, kind: by.and_then(|by| by.role.clone()).unwrap_or_default() },
        None => Actor::Main,
    }
}

/// The agent type that `sprag init` and the plugin define for reviews.
const REVIEWER: &str = "sprag-reviewer";

fn role_of(actor: &Actor) -> McpRole {
    match actor {
        Actor::Main => McpRole::Main,
        Actor::Subagent { kind, .. } if kind.as_str().rsplit(':').next() == Some(REVIEWER) => {
            McpRole::Reviewer
        }
        Actor::Subagent { .. } => McpRole::Subagent,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use sprag_base::record::RecordAuthor;
    use sprag_memory::learning::Candidate;

    use super::*;

    fn learning(scope: &str, session: &str) -> Learning {
        let candidate = Candidate::read(&json!({
            "category": "pitfall", "summary": "a summary of it", "detail": "a detail that says more",
            "tags": ["x"], "criteria_met": ["stable_fact"], "scope": scope,
        }));
        Learning::new("1", candidate.unwrap(), &SessionId::new(session), None, Timestamp::from_millis(0))
    }

    #[test]
    fn who_reads_what() {
        let reads = |role: McpRole| {
            let caller = Caller { role, session: SessionId::new("mine"), actor: Actor::Main };
            let table = [
                ("project", "x"),
                ("team", "x"),
                ("personal", "x"),
                ("ephemeral", "mine"),
                ("ephemeral", "x"),
            ];
            table.map(|(scope, session)| caller.reads(&learning(scope, session)))
        };
        assert_eq!(reads(McpRole::Main), [true, true, true, true, false]);
        for role in [McpRole::Subagent, McpRole::Reviewer, McpRole::Merge] {
            assert_eq!(reads(role), [true, true, false, true, false], "{}", role.name());
        }
        assert_eq!(reads(McpRole::Unknown), [true, false, false, false, false]);
        let public = Learning { readers: Some(LearningReaders::Public), ..learning("team", "x") };
        let caller = Caller { role: McpRole::Unknown, session: SessionId::new("mine"), actor: Actor::Main };
        assert!(caller.reads(&public));
    }

    #[test]
    fn who_writes_what() {
        let all = [
            McpRight::Search,
            McpRight::Record,
            McpRight::Observe,
            McpRight::Answer,
            McpRight::Outcome,
            McpRight::Select,
        ];
        let may = |role: McpRole| all.map(|right| role.may(right));
        assert_eq!(may(McpRole::Main), [true; 6]);
        assert_eq!(may(McpRole::Subagent), [true, false, true, false, true, true]);
        assert_eq!(may(McpRole::Reviewer), [true, false, true, false, true, false]);
        assert_eq!(may(McpRole::Reviewer), may(McpRole::Merge));
        assert_eq!(may(McpRole::Unknown), [true, false, true, false, false, false]);
    }

    #[test]
    fn a_hook_tells_whose_call_it_is() {
        let record = |kind: &str, call: &str, agent: Option<&str>| {
            let body = json!({"tool": "mcp__sprag__record", "effect": "exec", "input": "", "call": call});
            let actor = RecordAuthor {
                client: Text::from("claude"),
                agent: agent.map(Text::from),
                role: agent.map(|_| Text::from("Explore")),
            };
            Record { actor: Some(actor), ..Record::new(kind, Timestamp::from_millis(0), body) }
        };
        let told = |call: Option<&str>, records: &[Record]| {
            let own = SessionId::new("own");
            role_of(&actor(records, &RoleClaim { token: None, call, tool: "record", own: &own }))
        };
        let open = [record("tool.requested", "c1", None), record("tool.requested", "c2", Some("a1"))];
        assert_eq!(told(Some("c1"), &open), McpRole::Main);
        assert_eq!(told(Some("c2"), &open), McpRole::Subagent);
        assert_eq!(told(None, &open), McpRole::Subagent, "either may be the one");
        let mut ended = open.to_vec();
        ended.push(record("tool.finished", "c2", Some("a1")));
        assert_eq!(told(None, &ended), McpRole::Main);
        assert_eq!(told(None, &[]), McpRole::Main);
        let reviewer = Actor::Subagent { id: Text::from("a"), kind: Text::from("sprag:sprag-reviewer") };
        assert_eq!(role_of(&reviewer), McpRole::Reviewer);
    }
}
