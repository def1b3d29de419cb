//! The program, called as a client calls it.

use std::fs;

use serde_json::{Value, json};

use super::{BAD, GOOD, Player, Told, intents};
use crate::hook::dry_run;
use crate::stories::scripts::Step;
use crate::support::{CONFLICT, Sandbox, payload};

/// The program, called as a client calls it.
pub(crate) struct Program {
    pub sandbox: Sandbox,
    pub client: &'static str,
    /// The token of the last reviewer.
    pub token: String,
    pub intents: intents::Known,
    /// Whether each event is first played with `--dry-run`.
    pub is_rehearsed: bool,
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
                return self.ended(session, call, u8::from(!*well));
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
                // Below a client's process no command may change settings, so the user edits the file.
                let file = self.sandbox.home.join(".config/sprag/config.toml");
                let set = fs::read_to_string(&file).unwrap_or_default();
                let others = set.lines().filter(|line| !line.starts_with(key.as_str()));
                // The key comes first: after a table header it would belong to that table.
                let lines: Vec<String> =
                    [setting(key, value)].into_iter().chain(others.map(str::to_owned)).collect();
                self.sandbox.write_config(&lines.join("\n"));
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
            Step::Intent { id, globs } => {
                self.intents.push((id.clone(), globs.clone()));
                self.sandbox.write(".sprag/intents.yaml", &intents::file(&self.intents));
                return Told::Nothing;
            }
            Step::Select(id) => return self.command(&["intent", "select", id, "--session", session], ""),
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

/// Returns a line of TOML: a list stays unquoted, any other value becomes a string.
fn setting(key: &str, value: &str) -> String {
    if value.starts_with('[') { format!("{key} = {value}") } else { format!("{key} = \"{value}\"") }
}

impl Program {
    pub(crate) fn writing(&self, path: &str) -> Value {
        match self.client {
            "codex" => {
                let patch = format!("*** Begin Patch\n*** Update File: {path}\n+x\n*** End Patch");
                json!({"tool_name": "apply_patch", "tool_input": {"command": patch}})
            }
            _ => json!({"tool_name": "Write", "tool_input": {"file_path": self.sandbox.project.join(path)}}),
        }
    }

    /// Reports the end of a call. Codex does not send the exit code; its transcript has it later.
    fn ended(&self, session: &str, mut call: Value, code: u8) -> Told {
        if self.client == "codex" {
            let output = format!("Process exited with code {code}\nOutput:\n");
            let answer =
                json!({"type": "function_call_output", "call_id": call["tool_use_id"], "output": output});
            self.sandbox.write("../talk.jsonl", &format!("{}\n", json!({"payload": answer})));
        }
        if self.client == "codex" || code == 0 {
            call["tool_response"] = json!("");
            return self.tell(session, "PostToolUse", call);
        }
        call["error"] = json!("Exit code 1");
        self.tell(session, "PostToolUseFailure", call)
    }

    pub(crate) fn command(&self, args: &[&str], stdin: &str) -> Told {
        let ran = self.sandbox.run_with(args, stdin.as_bytes());
        match ran.code {
            0 => Told::Nothing,
            _ => Told::Deny(ran.stderr),
        }
    }

    pub(crate) fn tell(&self, session: &str, name: &str, mut more: Value) -> Told {
        if self.client == "codex" {
            more["transcript_path"] = json!(self.sandbox.project.join("../talk.jsonl"));
        }
        let payload = payload(session, name, &self.sandbox.project, more);
        let reply = if self.is_rehearsed {
            dry_run::hook_after_dry_run(&self.sandbox, self.client, &payload)
        } else {
            self.sandbox.hook(self.client, &payload)
        };
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
