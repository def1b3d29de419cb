//! Notices calls that no hook judged: an agent may end the process of a hook before it answers, and a client then
//! runs the call. Each such call leaves a debt.

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::settings::{SettingKey, SettingSection, Tighten};
use sprag_base::text::{Text, quoted};
use sprag_policy::call::ToolCall;

use crate::event::{Event, Input};
use crate::gates::{Gate, GateCx};
use crate::obligation::records::DebtRecord;
use crate::obligation::{Debt, DebtCause, Duty, Obligation};
use crate::reason::Reason;
use crate::verdict::Vote;

/// Number of calls that the gate remembers. A refused call never finishes, so the oldest are dropped.
const CALLS: usize = 64;
/// Number of tools that the gate remembers.
const TOOLS: usize = 32;

/// The calls that a hook judged and that have not finished.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HooksGate {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    judged: Vec<Text<128>>,
    /// Tools for which the client asks the hooks. Some clients leave out some tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Text<128>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub unjudged: Unjudged,
}

/// The treatment of a call that no hook judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unjudged {
    Off,
    Debt,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { unjudged: Unjudged::Debt }
    }
}

impl Gate for HooksGate {
    type Settings = Settings;
    type Question = ();
    type Answer = ();

    const ABOUT: &'static str = "a call that ran although no hook judged it leaves a debt";
    const SECTION: SettingSection = SettingSection {
        name: "hooks",
        defaults: "\
# Calls that ran although no hook judged them, for example because the hook was killed.
[hooks]
# Open a debt for each of them: `debt` or `off`.
unjudged = \"debt\"
",
        keys: &[SettingKey { name: "unjudged", tighten: Tighten::Ranked(&["off", "debt"]) }],
    };

    fn step(&mut self, cx: &mut GateCx<'_, HooksGate>) -> Vote {
        if cx.settings.unjudged == Unjudged::Off {
            return Vote::Pass;
        }
        match &cx.input.event {
            Event::ToolRequested { call } if call.effect.changes_the_world() => {
                self.requested(call);
                Vote::Pass
            }
            Event::ToolFinished { call, .. } if call.effect.changes_the_world() => {
                if self.is_judged(call) {
                    return Vote::Pass;
                }
                let owed = unjudged(call, cx.input);
                let why = owed.reason.why.clone();
                let (session, root) = (&cx.input.session, &cx.input.root);
                let debt = Debt::new("hooks", &owed, session, root, DebtCause::Unjudged, cx.input.at);
                cx.log(DebtRecord::Opened(debt));
                Vote::Note(Text::new(format!("{why}; `sprag debt list` shows it to the user")))
            }
            _ => Vote::Pass,
        }
    }
}

impl HooksGate {
    fn requested(&mut self, call: &ToolCall) {
        let Some(id) = &call.id else { return };
        if self.judged.len() >= CALLS {
            self.judged.remove(0);
        }
        self.judged.push(id.clone());
        if self.tools.len() < TOOLS && !self.tools.contains(&call.name) {
            self.tools.push(call.name.clone());
        }
    }

    /// Reports whether a hook judged the call, and forgets the call.
    fn is_judged(&mut self, call: &ToolCall) -> bool {
        let Some(id) = &call.id else { return true };
        match self.judged.iter().position(|judged| judged == id) {
            Some(at) => {
                self.judged.remove(at);
                true
            }
            None => !self.tools.contains(&call.name),
        }
    }
}

fn unjudged(call: &ToolCall, input: &Input) -> Obligation {
    let (tool, summary) = (quoted(call.name.as_str()), call.summary());
    let id = call.id.as_ref().map_or("", Text::as_str);
    let why =
        format!("a call of tool `{tool}` ran although no hook judged it: `{}`", quoted(summary.as_str()));
    Obligation {
        duty: Duty::Integrity,
        digest: Digest::hash_parts(["unjudged", input.session.as_str(), id]),
        reason: Reason::new("unjudged_call", why, "ask the user to check the call and to clear the debt"),
        items: vec![Text::new(format!("call {id}: {tool}"))],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use sprag_policy::call::InputCompleteness;

    use super::*;

    fn call(tool: &str, id: &str) -> ToolCall {
        ToolCall::new(&[], tool, json!({"command": "make"}), Some(id), InputCompleteness::Yes)
    }

    #[test]
    fn a_call_without_a_request_is_unjudged_once_hooks_judge_its_tool() {
        let mut gate = HooksGate::default();
        assert!(gate.is_judged(&call("Bash", "before the hooks")));
        gate.requested(&call("Bash", "1"));
        gate.requested(&call("Bash", "2"));
        assert!(gate.is_judged(&call("Bash", "2")));
        assert!(gate.is_judged(&call("Bash", "1")));
        assert!(!gate.is_judged(&call("Bash", "3")));
        assert!(gate.is_judged(&call("apply_patch", "4")), "the client may not ask about this tool");
    }

    #[test]
    fn refused_calls_never_finish_and_are_dropped() {
        let mut gate = HooksGate::default();
        for id in 0..200 {
            gate.requested(&call("Bash", &id.to_string()));
        }
        assert!(gate.judged.len() <= CALLS);
        assert!(gate.is_judged(&call("Bash", "199")));
    }
}
