//! Stories in data: each script in `stories/` is a list of `event | verdict`, and is played through
//! the core alone, through the program as Claude Code and through the program as Codex. All three
//! must tell the same story.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::{Value, json};
use sprag_core::decide;
use sprag_core::digest::Digest;
use sprag_core::event::{Actor, Author, Decider, Event, Input, Report, SessionId, Source, Stop, Waiting};
use sprag_core::fact::{Changes, Conflict, Facts, Found, Needs, RoleMarks, Size};
use sprag_core::log::{Projection as _, Record};
use sprag_core::obligation::Debts;
use sprag_core::policy::Policy;
use sprag_core::rules::{RuleSet, Strictness};
use sprag_core::session::Session;
use sprag_core::text::Text;
use sprag_core::time::Timestamp;
use sprag_core::tool::{Effect, Outcome, Tool, ToolCall, Whole};
use sprag_core::verdict::Ruling;

use crate::checked::Checks;
use crate::scripts::{Script, Step, scripts};

#[path = "stories_review.rs"]
mod review;
use crate::support::{CONFLICT, Sandbox, payload};

/// What the client was told.
#[derive(Debug, PartialEq)]
enum Told {
    Nothing,
    Note(String),
    Hold(String),
    Deny(String),
    Ask(String),
    Allow,
    /// The command that is run instead.
    Rewrite(String),
}

trait Player {
    fn play(&mut self, session: &str, step: &Step) -> Told;

    fn can_ask(&self) -> bool {
        true
    }

    fn can_rewrite(&self) -> bool {
        true
    }

    fn knows_how_calls_end(&self) -> bool {
        true
    }
}

#[test]
fn scripts_are_played_by_the_core() {
    for script in scripts() {
        play(&script, &mut Core::new());
    }
}

#[test]
fn scripts_are_played_by_the_program_as_claude() {
    for script in scripts().into_iter().filter(Script::runs_in_real_time) {
        play(&script, &mut Program { sandbox: Sandbox::new(), client: "claude", token: String::new() });
    }
}

#[test]
fn scripts_are_played_by_the_program_as_codex() {
    for script in scripts().into_iter().filter(Script::runs_in_real_time).filter(|it| it.suits("codex")) {
        play(&script, &mut Program { sandbox: Sandbox::new(), client: "codex", token: String::new() });
    }
}

fn play(script: &Script, player: &mut dyn Player) {
    let mut session = "s-1".to_owned();
    for (line, step, wanted) in &script.lines {
        if let Step::Session(name) = step {
            session.clone_from(name);
            continue;
        }
        let told = player.play(&session, step);
        // A client that cannot ask refuses.
        let wanted = &if player.can_ask() { wanted.clone() } else { wanted.replacen("ask ", "deny ", 1) };
        let wanted =
            &if player.can_rewrite() { wanted.clone() } else { wanted.replacen("rewrite ", "deny ", 1) };
        let is_told_late = matches!(step, Step::Ran { .. }) && !player.knows_how_calls_end();
        let wanted =
            &if is_told_late && wanted.starts_with("note ") { "pass".to_owned() } else { wanted.clone() };
        let fits = match (wanted.split_once(' ').unwrap_or((wanted, "")), &told) {
            (("pass", ""), Told::Nothing) | (("allow", ""), Told::Allow) => true,
            (("rewrite", command), Told::Rewrite(text)) => command == text,
            (("note", part), Told::Note(text))
            | (("hold", part), Told::Hold(text))
            | (("deny", part), Told::Deny(text))
            | (("ask", part), Told::Ask(text)) => text.contains(part) && text.contains("sprag: "),
            _ => false,
        };
        assert!(fits, "{}:{line}: wanted `{wanted}`, was told {told:?}", script.name);
    }
}

/// The core with a world of its own: which files have markers, and which debts were recorded.
#[derive(Default)]
struct Core {
    now: i64,
    sessions: BTreeMap<String, Session>,
    /// Conflicted files, with the session that made them so.
    conflicted: BTreeMap<String, String>,
    debts: Debts,
    rules: RuleSet,
    role: RoleMarks,
    policy: Policy,
    /// Lines each session has changed.
    lines: BTreeMap<String, u64>,
    tracker: Option<String>,
    /// What has been written, by whomever.
    files: BTreeMap<String, String>,
    checks: Checks,
}

impl Core {
    fn new() -> Core {
        let rules = sprag_host::policy::rules(&sprag_host::policy::Packs::Default, None).unwrap();
        let rules = RuleSet::new(rules.iter().map(|sourced| &sourced.rule), Strictness::Usual).unwrap();
        let mut policy = Policy::default();
        policy.gates.permission.watch = rules.watch();
        Core { rules, policy, ..Core::default() }
    }
}

const TOOLS: &[Tool] = &[
    Tool { name: "Bash", effect: Effect::Exec, paths: &[], command: Some("command") },
    Tool { name: "Write", effect: Effect::Write, paths: &["file_path"], command: None },
    Tool { name: "Agent", effect: Effect::Delegate, paths: &[], command: None },
    Tool { name: "TaskCreate", effect: Effect::Read, paths: &[], command: None },
    Tool { name: "TaskUpdate", effect: Effect::Read, paths: &[], command: None },
];

/// What an agent hands in that has learned something.
const GOOD: &str = r#"{"candidates": [{"category": "pitfall", "summary": "the parser drops the last line",
    "detail": "a file without a final newline loses its last line; read it with `lines_of`",
    "tags": ["parser"], "criteria_met": ["behavior_changing"]}]}"#;
const BAD: &str = r#"{"candidates": [{"category": "gossip", "summary": "short"}]}"#;

impl Player for Core {
    fn play(&mut self, session: &str, step: &Step) -> Told {
        self.now += 1;
        let call = |name: &str, input: Value| ToolCall::new(TOOLS, name, input, None, Whole::Yes);
        let mut actor = Actor::Main;
        let event = match step {
            Step::Session(_) => unreachable!(),
            Step::Wait(seconds) => {
                self.now += seconds;
                return Told::Nothing;
            }
            Step::Start(source) => Event::SessionStarted {
                source: if source == "compact" { Source::Compact } else { Source::Startup },
            },
            Step::Prompt(text) => Event::Prompted { text: text.clone(), author: Author::User },
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
                let failed = Outcome::Failed { error: Text::from("Exit code 1") };
                Event::ToolFinished { call, outcome: if *well { Outcome::Ok } else { failed } }
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
                outcome: Outcome::Ok,
            },
            Step::TaskDone(id) => {
                let done = Event::TaskCompleting { id: Text::from(id.as_str()), subject: Text::from("x") };
                let told = self.judge(session, Actor::Main, done);
                if told != Told::Nothing {
                    return told;
                }
                let call = call("TaskUpdate", json!({"taskId": id, "status": "completed"}));
                Event::ToolFinished { call, outcome: Outcome::Ok }
            }
            Step::Reflect { is_good } => {
                let submission = if *is_good { GOOD } else { BAD }.to_owned();
                Event::Reported(Report::Reflected { submission, ids: vec![Text::from("l-1")] })
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
                match is_conflicted {
                    true => self.conflicted.insert(path.clone(), session.to_owned()),
                    false => self.conflicted.remove(path),
                };
                let call = call("Write", json!({ "file_path": format!("/w/{path}") }));
                self.judge(
                    session,
                    Actor::Main,
                    Event::ToolFinished { call: call.clone(), outcome: Outcome::Ok },
                );
                Event::ToolRequested { call }
            }
            Step::Stop { saying, waiting, again, plan } => Event::StopRequested(Stop {
                last_message: Text::from(saying.as_str()),
                waiting: if *waiting { Waiting::Yes } else { Waiting::Untold },
                planning: *plan,
                again: *again,
            }),
            Step::SubagentStop => {
                actor = Actor::Subagent { id: Text::from("a1"), kind: Text::from("helper") };
                Event::SubagentStopped(Stop::default())
            }
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
    fn judge(&mut self, name: &str, actor: Actor, event: Event) -> Told {
        let at = Timestamp::from_millis(0).plus_seconds(self.now);
        let input = Input { actor, ..Input::new(at, SessionId::new(name), event).within("/w") };
        let state = self.sessions.remove(name).unwrap_or_default();
        let changes = Changes {
            size: Size::Lines(self.lines.get(name).copied().unwrap_or(0)),
            paths: self.checks.paths(name),
            ..Changes::default()
        };
        let needs = decide::needs(&state, &input, &self.policy);
        let policy = &self.policy.gates.completion;
        let plan = state.gates.completion.plan(&state.about, &input, policy, Some(&changes));
        let mine = self.conflicted.iter().filter(|(_, by)| *by == name);
        let owed: BTreeSet<&str> =
            self.debts.open().iter().flat_map(|open| &open.debt.items).map(Text::as_str).collect();
        let facts = Facts {
            ours: vec!["/w/.git/sprag".to_owned()],
            guarded: vec!["/w/.git/sprag".to_owned()],
            written: sprag_host::guarded::written(&input),
            damage: Vec::new(),
            head: None,
            conflicts: Some(
                mine.map(|(path, _)| Conflict {
                    path: Text::from(path.as_str()),
                    line: 2,
                    digest: Digest::of([path]),
                })
                .collect(),
            ),
            debts: Some(self.debts.open().to_vec()),
            unresolved: Some(
                owed.into_iter().filter(|path| self.conflicted.contains_key(*path)).map(Text::from).collect(),
            ),
            rules: Some(self.rules.clone()),
            allows: None,
            judgement: None,
            // Found out once, as by the host.
            role: needs.has(Needs::ROLE).then(|| self.role.clone()),
            checks: plan.filter(|_| needs.has(Needs::CHECKS)).map(|plan| self.checks.results(plan.profile)),
            uncommitted: Some(self.checks.uncommitted.iter().map(|path| Text::from(path.as_str())).collect()),
            tree: Some(Text::new(self.tree())),
            token: Some(Text::from(review::TOKEN)),
            start: Some(Text::from("start")),
            changes: Some(changes),
            tracker: self.tracker.as_ref().map(|name| Found {
                name: Text::from(name.as_str()),
                is_for_tickets: true,
                active: None,
            }),
            ..Facts::default()
        };
        let step = decide::decide(state, &input, &facts, &self.policy, None);
        for effect in step.effects {
            let body = effect.body;
            self.debts.apply(&Record {
                v: 1,
                kind: effect.kind.to_owned(),
                id: String::new(),
                at,
                session: None,
                actor: None,
                idem: None,
                body,
                set: None,
                rest: Default::default(),
            });
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

/// The program, called as a client would.
struct Program {
    sandbox: Sandbox,
    client: &'static str,
    /// What the last reviewer was given.
    token: String,
}

impl Player for Program {
    fn can_ask(&self) -> bool {
        self.client != "codex"
    }

    fn can_rewrite(&self) -> bool {
        self.client != "codex"
    }

    fn knows_how_calls_end(&self) -> bool {
        self.client != "codex"
    }

    fn play(&mut self, session: &str, step: &Step) -> Told {
        let mut more = json!({});
        let name = match step {
            Step::Session(_) | Step::Wait(_) => unreachable!(),
            Step::Start(source) => {
                more["source"] = json!(source);
                "SessionStart"
            }
            Step::Prompt(text) => {
                more["prompt"] = json!(text);
                "UserPromptSubmit"
            }
            Step::Bash(command) => {
                more = json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "t1"});
                "PreToolUse"
            }
            Step::Ran { command, well } => {
                let call =
                    json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "t1"});
                let told = self.tell(session, "PreToolUse", call.clone());
                if told != Told::Nothing {
                    return told;
                }
                return self.ended(session, call, *well);
            }
            Step::Grow { path, lines } => {
                let call = self.writing(path);
                let told = self.tell(session, "PreToolUse", call);
                self.sandbox.write(path, &"a line\n".repeat(*lines as usize));
                return told;
            }
            Step::Dirty { path, lines } => {
                self.sandbox.write(path, &"a line of the user\n".repeat(*lines as usize));
                return Told::Nothing;
            }
            Step::Tracker(name) => {
                fs::create_dir_all(self.sandbox.project.join(format!(".{name}"))).unwrap();
                return Told::Nothing;
            }
            Step::TaskNew => {
                more =
                    json!({"tool_name": "TaskCreate", "tool_input": {"subject": "x"}, "tool_response": {}});
                "PostToolUse"
            }
            Step::TaskDone(id) => {
                let done = json!({"task_id": id, "task_subject": "x"});
                let told = self.tell(session, "TaskCompleted", done);
                if told != Told::Nothing {
                    return told;
                }
                more = json!({"tool_name": "TaskUpdate", "tool_input": {"taskId": id, "status": "completed"}, "tool_response": {}});
                "PostToolUse"
            }
            Step::Reflect { is_good } => {
                let submission = if *is_good { GOOD } else { BAD };
                return self.command(&["reflect", "--session", session], submission);
            }
            Step::Skip(reason) => return self.command(&["skip", reason, "--session", session], ""),
            Step::Observe(note) => return self.command(&["observe", note, "--session", session], ""),
            Step::Review(turn) => return self.review(session, turn),
            Step::Check(told) => {
                told.configure(&self.sandbox);
                return Told::Nothing;
            }
            Step::Verify => return self.command(&["verify", "--session", session], ""),
            Step::Commit => {
                assert!(self.sandbox.git(&["add", "-A"]).status.success());
                assert!(self.sandbox.git(&["commit", "-qm", "x"]).status.success());
                return Told::Nothing;
            }
            Step::SubagentStart => {
                more = json!({"agent_id": "a1", "agent_type": "helper"});
                "SubagentStart"
            }
            Step::SubagentBash(command) => {
                more = json!({"tool_name": "Bash", "tool_input": {"command": command}, "agent_id": "a1", "agent_type": "helper"});
                "PreToolUse"
            }
            Step::Config { key, value } => {
                // Below a client's process no command sets anything: the user edits the file.
                let file = self.sandbox.home.join(".config/sprag/config.toml");
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                let set = fs::read_to_string(&file).unwrap_or_default();
                let others = set.lines().filter(|line| !line.starts_with(key.as_str()));
                // In front: a key behind a table would be the table's.
                let lines: Vec<String> =
                    [setting(key, value)].into_iter().chain(others.map(str::to_owned)).collect();
                fs::write(&file, lines.join("\n")).unwrap();
                return Told::Nothing;
            }
            Step::Permission(command) => {
                more = json!({"tool_name": "Bash", "tool_input": {"command": command}});
                "PermissionRequest"
            }
            Step::Write { path, is_conflicted } => {
                let told = self.tell(session, "PreToolUse", self.writing(path));
                self.sandbox.write(path, if *is_conflicted { CONFLICT } else { "clean\n" });
                return told;
            }
            Step::Stop { saying, waiting, again, plan } => {
                more = json!({"last_assistant_message": saying, "stop_hook_active": again});
                if *waiting {
                    more["background_tasks"] = json!([{"id": "b1"}]);
                }
                more["permission_mode"] = json!(if *plan { "plan" } else { "default" });
                "Stop"
            }
            Step::SubagentStop => {
                more = json!({"agent_id": "a1", "agent_type": "helper"});
                "SubagentStop"
            }
            Step::Delegate => {
                let tool = if self.client == "codex" { "spawn_agent" } else { "Agent" };
                more = json!({"tool_name": tool, "tool_input": {"prompt": "do it"}, "tool_use_id": "t1"});
                "PreToolUse"
            }
            Step::Role(role) => {
                self.sandbox.vars.push(("AGENT_ROLE".to_owned(), role.clone()));
                return Told::Nothing;
            }
            Step::Marker(role) => {
                self.sandbox.write(".sprag/role", &format!("{role}\n"));
                return Told::Nothing;
            }
            Step::Delegation(mode) => {
                self.sandbox.vars.push(("SPRAG_DELEGATION__MODE".to_owned(), mode.clone()));
                return Told::Nothing;
            }
            Step::End => "SessionEnd",
        };
        self.tell(session, name, more)
    }
}

/// A list is written as it is, everything else is a text.
fn setting(key: &str, value: &str) -> String {
    if value.starts_with('[') { format!("{key} = {value}") } else { format!("{key} = \"{value}\"") }
}

impl Program {
    fn writing(&self, path: &str) -> Value {
        match self.client {
            "codex" => {
                let patch = format!("*** Begin Patch\n*** Update File: {path}\n+x\n*** End Patch");
                json!({"tool_name": "apply_patch", "tool_input": {"command": patch}})
            }
            _ => json!({"tool_name": "Write", "tool_input": {"file_path": self.sandbox.project.join(path)}}),
        }
    }

    /// Codex does not say how a call went; its talk does, later.
    fn ended(&self, session: &str, mut call: Value, well: bool) -> Told {
        let code = u8::from(!well);
        if self.client == "codex" {
            let output = format!("Process exited with code {code}\nOutput:\n");
            let answer =
                json!({"type": "function_call_output", "call_id": call["tool_use_id"], "output": output});
            self.sandbox.write("../talk.jsonl", &format!("{}\n", json!({"payload": answer})));
        }
        if self.client == "codex" || well {
            call["tool_response"] = json!("");
            return self.tell(session, "PostToolUse", call);
        }
        call["error"] = json!("Exit code 1");
        self.tell(session, "PostToolUseFailure", call)
    }

    fn command(&self, args: &[&str], stdin: &str) -> Told {
        let ran = self.sandbox.run_with(args, stdin.as_bytes());
        match ran.code {
            0 => Told::Nothing,
            _ => Told::Deny(ran.stderr),
        }
    }

    fn tell(&self, session: &str, name: &str, mut more: Value) -> Told {
        if self.client == "codex" {
            more["transcript_path"] = json!(self.sandbox.project.join("../talk.jsonl"));
        }
        let reply = self.sandbox.hook(self.client, &payload(session, name, &self.sandbox.project, more));
        let specific = &reply["hookSpecificOutput"];
        if reply["decision"] == "block" {
            Told::Hold(reply["reason"].as_str().unwrap().to_owned())
        } else if specific["decision"]["behavior"] == "deny" {
            Told::Deny(specific["decision"]["message"].as_str().unwrap().to_owned())
        } else if specific["decision"]["behavior"] == "allow" {
            Told::Allow
        } else if specific["permissionDecision"] == "ask" {
            Told::Ask(specific["permissionDecisionReason"].as_str().unwrap().to_owned())
        } else if specific["permissionDecision"] == "deny" {
            Told::Deny(specific["permissionDecisionReason"].as_str().unwrap().to_owned())
        } else if let Some(command) = specific["updatedInput"]["command"].as_str() {
            Told::Rewrite(command.to_owned())
        } else if let Some(context) = specific["additionalContext"].as_str() {
            Told::Note(context.to_owned())
        } else {
            assert_eq!(reply, json!({}));
            Told::Nothing
        }
    }
}
