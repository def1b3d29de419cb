//! The core with a simulated world.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use sprag_base::digest::Digest;
use sprag_base::ids::SessionId;
use sprag_base::record::{Projection as _, Record};
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_govern::decide::{self, DecisionFacts};
use sprag_govern::event::{Actor, BackgroundWork, Event, Input, PromptAuthor, StartSource, StopRequest};
use sprag_govern::facts::{ConflictMarker, DetectedTracker, RoleMarks, SessionChanges, SharedFacts, Size};
use sprag_govern::gates::before::Prepared;
use sprag_govern::gates::integrity::{self, Conflicts};
use sprag_govern::gates::{Answers, commit, completion, protection, reflection, review as reviews, scope};
use sprag_govern::obligation::Debts;
use sprag_govern::report::Report;
use sprag_govern::session::Session;
use sprag_govern::settings::GovernSettings;
use sprag_govern::verdict::Ruling;
use sprag_intent::{DeclaredClass, IntentHistories};
use sprag_memory::records::Decider;
use sprag_policy::call::{InputCompleteness, ToolCall, ToolEffect, ToolOutcome, ToolRow};
use sprag_policy::{RuleSet, Strictness};

use super::{BAD, GOOD, Player, Told, intents, review};
use crate::run::stage_checks::Checks;
use crate::stories::scripts::Step;

/// The core with a simulated world: which files have markers, and which debts were recorded.
#[derive(Default)]
pub(crate) struct Core {
    pub(super) now: i64,
    pub(super) sessions: BTreeMap<String, Session>,
    /// Conflicted files, with the session that caused the conflict.
    pub(super) conflicted: BTreeMap<String, String>,
    pub(super) debts: Debts,
    pub(super) rules: RuleSet,
    pub(super) role: RoleMarks,
    pub(super) policy: GovernSettings,
    /// Changed lines by session.
    pub(super) lines: BTreeMap<String, u64>,
    pub(super) tracker: Option<String>,
    /// Contents of all files, from any writer.
    pub(super) files: BTreeMap<String, String>,
    pub(super) checks: Checks,
    intents: intents::Known,
    standings: IntentHistories,
}

impl Core {
    pub(crate) fn new() -> Core {
        let rules =
            sprag_host::config::rule_files::rules(&sprag_host::config::rule_files::Packs::Default, None)
                .unwrap();
        let rules = RuleSet::new(rules.iter().map(|sourced| &sourced.rule), Strictness::Usual).unwrap();
        let mut policy = GovernSettings::default();
        policy.gates.permission.watch = rules.watch();
        Core { rules, policy, ..Core::default() }
    }
}

pub(super) const TOOLS: &[ToolRow] = &[
    ToolRow { name: "Bash", effect: ToolEffect::Exec, paths: &[], command: Some("command") },
    ToolRow { name: "Write", effect: ToolEffect::Write, paths: &["file_path"], command: None },
    ToolRow { name: "Agent", effect: ToolEffect::Delegate, paths: &[], command: None },
    ToolRow { name: "TaskCreate", effect: ToolEffect::Read, paths: &[], command: None },
    ToolRow { name: "TaskUpdate", effect: ToolEffect::Read, paths: &[], command: None },
];

impl Player for Core {
    fn play(&mut self, session: &str, step: &Step) -> Told {
        self.now += 1;
        let call = |name: &str, input: Value| ToolCall::new(TOOLS, name, input, None, InputCompleteness::Yes);
        let mut actor = Actor::Main;
        let event = match step {
            Step::Session(_) => unreachable!(),
            Step::Wait(seconds) => {
                self.now += seconds;
                return Told::Nothing;
            }
            Step::Start(source) => Event::SessionStarted {
                source: if source == "compact" { StartSource::Compact } else { StartSource::Startup },
            },
            Step::Prompt(text) => Event::Prompted { text: text.clone(), author: PromptAuthor::User },
            Step::Config { key, value } => {
                let mut gates = serde_json::to_value(&self.policy.gates).unwrap();
                let value = serde_json::from_str(value).unwrap_or(json!(value));
                *gates.pointer_mut(&format!("/{}", key.replace('.', "/"))).unwrap() = value;
                self.policy.gates = serde_json::from_value(gates).unwrap();
                self.gate_tools();
                return Told::Nothing;
            }
            Step::Bash(command) => Event::ToolRequested { call: call("Bash", json!({ "command": command })) },
            Step::Ran { command, well } => {
                let call = call("Bash", json!({ "command": command }));
                let told = self.judge(session, Actor::Main, Event::ToolRequested { call: call.clone() });
                if told != Told::Nothing {
                    return told;
                }
                let failed = ToolOutcome::Failed { error: Text::from("Exit code 1") };
                Event::ToolFinished { call, outcome: if *well { ToolOutcome::Ok } else { failed } }
            }
            Step::Grow { path, lines } => {
                self.checks.wrote(session, path);
                *self.lines.entry(session.to_owned()).or_default() += lines;
                self.files.insert(path.clone(), lines.to_string());
                Event::ToolRequested { call: call("Write", json!({ "file_path": format!("/w/{path}") })) }
            }
            Step::Dirty { .. } => {
                self.checks.writes += 1;
                return Told::Nothing;
            }
            Step::Tracker(name) => {
                self.tracker = Some(name.clone());
                return Told::Nothing;
            }
            Step::TaskNew => Event::ToolFinished {
                call: call("TaskCreate", json!({ "subject": "x" })),
                outcome: ToolOutcome::Ok,
            },
            Step::TaskDone(id) => {
                let done = Event::TaskCompleting { id: Text::from(id.as_str()), subject: Text::from("x") };
                let told = self.judge(session, Actor::Main, done);
                if told != Told::Nothing {
                    return told;
                }
                let call = call("TaskUpdate", json!({"taskId": id, "status": "completed"}));
                Event::ToolFinished { call, outcome: ToolOutcome::Ok }
            }
            Step::Reflect { is_good } => {
                let submission = if *is_good { GOOD } else { BAD }.to_owned().into();
                Event::Reported(Report::Reflected {
                    submission,
                    ids: vec![Text::from("l-1")],
                    resolution: None,
                })
            }
            Step::Skip(reason) => Event::Reported(Report::Skipped {
                reason: Text::from(reason.as_str()),
                decider: Decider::Agent,
            }),
            Step::Observe(note) => Event::Reported(Report::Observed { note: Text::from(note.as_str()) }),
            Step::Review(turn) => return self.review(session, turn),
            Step::Check(told) => {
                self.policy.gates.completion.check = self.checks.tell(told);
                return Told::Nothing;
            }
            Step::Verify => Event::Reported(Report::Verified),
            Step::Commit => {
                self.checks.uncommitted.clear();
                return Told::Nothing;
            }
            Step::SubagentStart => {
                actor = Actor::Subagent { id: Text::from("a1"), kind: Text::from("helper") };
                Event::SubagentStarted
            }
            Step::SubagentBash(command) => {
                actor = Actor::Subagent { id: Text::from("a1"), kind: Text::from("helper") };
                Event::ToolRequested { call: call("Bash", json!({ "command": command })) }
            }
            Step::Permission(command) => {
                Event::PermissionAsked { call: call("Bash", json!({ "command": command })) }
            }
            Step::Write { path, is_conflicted } => {
                self.checks.wrote(session, path);
                if *is_conflicted {
                    self.conflicted.insert(path.clone(), session.to_owned())
                } else {
                    self.conflicted.remove(path)
                };
                let call = call("Write", json!({ "file_path": format!("/w/{path}") }));
                self.judge(
                    session,
                    Actor::Main,
                    Event::ToolFinished { call: call.clone(), outcome: ToolOutcome::Ok },
                );
                Event::ToolRequested { call }
            }
            Step::Stop { saying, waiting, again, plan } => Event::StopRequested(StopRequest {
                last_message: Text::from(saying.as_str()),
                waiting: if *waiting { BackgroundWork::Yes } else { BackgroundWork::Untold },
                planning: *plan,
                again: *again,
            }),
            Step::SubagentStop => {
                actor = Actor::Subagent { id: Text::from("a1"), kind: Text::from("helper") };
                Event::SubagentStopped(StopRequest::default())
            }
            Step::Intent { id, globs } => {
                self.intents.push((id.clone(), globs.clone()));
                self.policy.gates.scope.found = scope::StrayMode::Intents;
                return Told::Nothing;
            }
            Step::Select(id) => Event::Reported(Report::IntentSelected {
                id: Text::from(id.as_str()),
                class: DeclaredClass::default(),
            }),
            Step::Delegate => Event::ToolRequested { call: call("Agent", json!({ "prompt": "do it" })) },
            Step::Role(role) => {
                self.role.environment = Some(Text::from(role.as_str()));
                return Told::Nothing;
            }
            Step::Marker(role) => {
                self.role.marker = Some(Text::from(role.as_str()));
                return Told::Nothing;
            }
            Step::Delegation(mode) => {
                self.policy.gates.delegation.mode = serde_json::from_value(json!(mode)).unwrap();
                return Told::Nothing;
            }
            Step::End => Event::SessionEnded { why: Text::from("other") },
        };
        self.judge(session, actor, event)
    }
}

impl Core {
    pub(crate) fn judge(&mut self, name: &str, actor: Actor, event: Event) -> Told {
        let at = Timestamp::from_millis(0).plus_seconds(self.now);
        let input = Input { actor, ..Input::new(at, SessionId::new(name), event).within("/w") };
        let state = self.sessions.remove(name).unwrap_or_default();
        let changes = SessionChanges {
            size: Size::Lines(self.lines.get(name).copied().unwrap_or(0)),
            paths: self.checks.paths(name),
            ..SessionChanges::default()
        };
        let shared = SharedFacts {
            debts: Some(self.debts.open().to_vec()),
            rules: Some(self.rules.clone()),
            tree: Some(Text::new(self.tree())),
            changes: Some(changes),
            ..SharedFacts::default()
        };
        let asked = decide::ask(&state, &input, &self.policy, &shared);
        let mine = self.conflicted.iter().filter(|(_, by)| *by == name);
        let owed: BTreeSet<&str> =
            self.debts.open().iter().flat_map(|open| &open.debt.items).map(Text::as_str).collect();
        let answers = Answers {
            protection: protection::Answer {
                ours: vec!["/w/.git/sprag".to_owned()],
                guarded: vec!["/w/.git/sprag".to_owned()],
                agents: Vec::new(),
                written: sprag_host::worktree::protect::list::written(&input),
            },
            integrity: integrity::Answer {
                conflicts: Conflicts::Found(
                    mine.map(|(path, _)| ConflictMarker {
                        path: Text::from(path.as_str()),
                        line: 2,
                        digest: Digest::hash_parts([path]),
                    })
                    .collect(),
                ),
                unresolved: Some(
                    owed.into_iter()
                        .filter(|path| self.conflicted.contains_key(*path))
                        .map(Text::from)
                        .collect(),
                ),
            },
            // The role is determined once, as the host does.
            delegation: asked.delegation.map(|_| self.role.clone()),
            completion: match asked.completion {
                Some(run) => completion::Answer::Ran(self.checks.results(run.profile)),
                None => completion::Answer::NotAsked,
            },
            commit: commit::Answer {
                uncommitted: Some(self.checks.uncommitted.iter().cloned().collect()),
                ..commit::Answer::default()
            },
            review: reviews::Answer { token: Some(Text::from(review::TOKEN)), peers: Vec::new() },
            scope: asked
                .scope
                .map(|_| intents::fact(&self.intents, &self.standings, &input, &self.policy.gates.scope)),
            reflection: reflection::Answer {
                tracker: self.tracker.as_ref().map(|name| DetectedTracker {
                    name: Text::from(name.as_str()),
                    is_for_tickets: true,
                    active: None,
                }),
                ..reflection::Answer::default()
            },
            shared,
            ..Answers::default()
        };
        let prepared = Prepared { baseline: Some(Text::from("start")), ..Prepared::default() };
        let facts = DecisionFacts { answers, prepared, client: None };
        let step = decide::decide(state, &input, &facts, &self.policy);
        for effect in step.effects {
            let record = Record::new(effect.record.kind(), at, effect.record.body());
            self.debts.apply(&record);
            self.standings.apply(&record);
        }
        self.sessions.insert(name.to_owned(), step.session);
        match &step.verdict.ruling {
            Ruling::Hold { reason, also, .. } => match input.event {
                Event::ToolRequested { .. } | Event::PermissionAsked { .. } | Event::Reported(_) => {
                    Told::Deny(reason.refusal_text().to_string())
                }
                _ => Told::Hold(reason.hold_text(also).to_string()),
            },
            Ruling::Ask { reason, .. } => Told::Ask(reason.refusal_text().to_string()),
            Ruling::Allow { .. } => Told::Allow,
            Ruling::Pass if step.verdict.rewrite.is_some() => {
                let rewrite = step.verdict.rewrite.unwrap();
                Told::Rewrite(rewrite.input["command"].as_str().unwrap().to_owned())
            }
            Ruling::Pass => step.verdict.context().map_or(Told::Nothing, |text| Told::Note(text.to_string())),
        }
    }
}
