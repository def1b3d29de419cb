//! Reviews in stories: a reviewer that starts, decides and stops, and an author that tries to decide.

use serde_json::json;

use sprag_base::digest::Digest;
use sprag_base::text::Text;
use sprag_govern::event::{Actor, Event, StopRequest};
use sprag_govern::report::{Report, ReviewDecision, ReviewResult};
use sprag_host::config::rule_layers;
use sprag_policy::call::{InputCompleteness, ToolCall};
use sprag_policy::{RuleSet, Strictness};

use super::core::TOOLS;
use super::{Core, Program, Told};
use crate::stories::scripts::Turn;

pub(super) const TOKEN: &str = "sprt_00112233445566778899aabbccddeeff";
const MESSAGE: &str = "line 3 is wrong";

fn reviewer() -> Actor {
    Actor::Subagent { id: Text::from("r1"), kind: Text::from("sprag-reviewer") }
}

impl Core {
    pub(crate) fn tree(&self) -> String {
        Digest::hash_parts(self.files.iter().flat_map(|(path, text)| [path, text])).to_string()
    }

    /// Adds the gated tools to the rules, as the configuration does.
    pub(crate) fn gate_tools(&mut self) {
        let built_in =
            sprag_host::config::rule_files::rules(&sprag_host::config::rule_files::Packs::Default, None)
                .unwrap();
        let gated: Vec<_> = rule_layers::gated(&self.policy.gates.review.gates.tools).collect();
        let of = |rules: &[sprag_host::config::rule_files::Sourced]| {
            RuleSet::new(rules.iter().map(|sourced| &sourced.rule), Strictness::Usual).unwrap()
        };
        self.policy.gates.review.watch = (!gated.is_empty()).then(|| of(&gated).watch());
        self.rules = of(&gated.into_iter().chain(built_in).collect::<Vec<_>>());
        self.policy.gates.permission.watch = self.rules.watch();
    }

    pub(crate) fn review(&mut self, session: &str, turn: &Turn) -> Told {
        let (actor, word) = match turn {
            Turn::ReviewerStarts => return self.judge(session, reviewer(), Event::SubagentStarted),
            Turn::ReviewerStops => {
                return self.judge(session, reviewer(), Event::SubagentStopped(StopRequest::default()));
            }
            Turn::ReviewerWrites => {
                let input = json!({"file_path": "/w/a.txt"});
                let call = ToolCall::new(TOOLS, "Write", input, None, InputCompleteness::Yes);
                return self.judge(session, reviewer(), Event::ToolRequested { call });
            }
            Turn::ReviewerDecides(word) => (reviewer(), word),
            Turn::AuthorDecides(word) => (Actor::Main, word),
        };
        let command = format!("sprag decide {word} --summary x --message y --session {session}");
        let call = ToolCall::new(TOOLS, "Bash", json!({ "command": command }), None, InputCompleteness::Yes);
        let told = self.judge(session, actor, Event::ToolRequested { call });
        if told != Told::Nothing {
            return told;
        }
        let decided = ReviewDecision {
            word: if word == "COMPLETE" { ReviewResult::Complete } else { ReviewResult::Issues },
            summary: Text::from("looked at it"),
            message: Text::from(MESSAGE),
            opinions: Vec::new(),
            token: Some(Text::from(TOKEN)),
        };
        self.judge(session, Actor::Main, Event::Reported(Report::Decided(decided)))
    }
}

impl Program {
    pub(crate) fn review(&mut self, session: &str, turn: &Turn) -> Told {
        let reviewer = json!({"agent_id": "r1", "agent_type": "sprag-reviewer"});
        let (mut call, word) = match turn {
            Turn::ReviewerStarts => {
                let told = self.tell(session, "SubagentStart", reviewer);
                if let Told::Note(text) = &told {
                    let from = text.find("sprt_").unwrap();
                    self.token = text[from..from + 37].to_owned();
                }
                return told;
            }
            Turn::ReviewerStops => return self.tell(session, "SubagentStop", reviewer),
            Turn::ReviewerWrites => {
                let mut call = self.writing("a.txt");
                call["agent_id"] = reviewer["agent_id"].clone();
                call["agent_type"] = reviewer["agent_type"].clone();
                return self.tell(session, "PreToolUse", call);
            }
            Turn::ReviewerDecides(word) => (reviewer, word),
            Turn::AuthorDecides(word) => (json!({}), word),
        };
        let args = [
            "decide",
            word,
            "--summary",
            "looked at it",
            "--message",
            MESSAGE,
            "--session",
            session,
            "--token",
            &self.token,
        ];
        call["tool_name"] = json!("Bash");
        call["tool_input"] =
            json!({ "command": format!("sprag {}", args.map(|arg| format!("'{arg}'")).join(" ")) });
        let told = self.tell(session, "PreToolUse", call);
        if told != Told::Nothing {
            return told;
        }
        self.command(&args, "")
    }
}
