//! Reminds an agent that leads other agents to delegate its work. The default is advice, because agents work
//! around frequent holds. An agent without a role has no rule.

use serde::{Deserialize, Serialize};

use sprag_base::settings::{SettingKey, SettingSection, Tighten};
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_policy::call::{ToolCall, ToolEffect};
use sprag_shell::Script;

use crate::event::{Actor, Event, Input};
use crate::facts::{RoleMarks, SharedFacts};
use crate::gates::{Ask, Gate, GateCx};
use crate::reason::Reason;
use crate::verdict::Vote;

/// Changes that the session's own agent made since it last delegated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DelegationGate {
    /// The agent has no leading role, so no rule applies.
    #[default]
    Free,
    Leads {
        role: AgentRole,
        /// Times of its own changes within the window, oldest first.
        own: Vec<Timestamp>,
        /// The count at the last reminder; each count is reported once.
        noted: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentRole {
    Conductor,
    SectionLeader,
    Musician,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub mode: DelegationMode,
    pub window_minutes: u32,
    pub note_at: u32,
    pub insist_at: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DelegationMode {
    Off,
    Advise,
    Enforce,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { mode: DelegationMode::Advise, window_minutes: 10, note_at: 3, insist_at: 5 }
    }
}

/// Asks for the marks of a role around the session.
pub struct Question;

/// Maximum number of remembered changes, for any settings.
const REMEMBERED: usize = 100;

/// Folders that a leader may change itself.
const OWN_FOLDERS: &[&str] = &[".claude", ".sprag"];

/// Project manifests, which a leader may write itself.
const MANIFESTS: &[&str] = &[
    "Cargo.toml",
    "build.gradle",
    "build.gradle.kts",
    "composer.json",
    "deno.json",
    "go.mod",
    "Gemfile",
    "mix.exs",
    "package.json",
    "pom.xml",
    "pyproject.toml",
    "requirements.txt",
];

impl Gate for DelegationGate {
    type Settings = Settings;
    type Question = Question;
    type Answer = Option<RoleMarks>;

    const ABOUT: &'static str = "reminds an agent that leads others to delegate";
    const SECTION: SettingSection = SettingSection {
        name: "delegation",
        defaults: "\
# Agents that lead others. A conductor or section leader is known by its agent type, by `AGENT_ROLE` or by
# `.sprag/role`. No other agent has a rule.
[delegation]
# `advise`, `enforce` (hold from `insist_at` on), or `off`.
mode = \"advise\"
# Minutes for which a change of its own counts.
window_minutes = 10
# Number of its own changes without delegating at the first reminder and at the second.
note_at = 3
insist_at = 5
",
        keys: &[
            SettingKey { name: "mode", tighten: Tighten::Ranked(&["off", "advise", "enforce"]) },
            SettingKey { name: "window_minutes", tighten: Tighten::Never },
            SettingKey { name: "note_at", tighten: Tighten::Never },
            SettingKey { name: "insist_at", tighten: Tighten::Never },
        ],
    };

    /// Asks for the role once: at the start, or at the first event.
    fn ask(&self, ask: &Ask<'_, Settings>, _shared: &SharedFacts) -> Option<Question> {
        let starts = matches!(ask.input.event, Event::SessionStarted { .. }) || ask.session.started.is_none();
        (starts && ask.settings.mode != DelegationMode::Off).then_some(Question)
    }

    fn step(&mut self, cx: &mut GateCx<'_, DelegationGate>) -> Vote {
        if cx.settings.mode == DelegationMode::Off || cx.input.actor != Actor::Main {
            return Vote::Pass;
        }
        let told = cx.input.agent.as_ref().and_then(|agent| AgentRole::read(agent.as_str()));
        match &cx.answer {
            Some(marks) => self.set_role(told.or_else(|| marked(marks))),
            None if told.is_some() => self.set_role(told),
            None => {}
        }
        let (DelegationGate::Leads { role, own, noted }, Event::ToolRequested { call }) =
            (self, &cx.input.event)
        else {
            return Vote::Pass;
        };
        if call.effect == ToolEffect::Delegate {
            own.clear();
            *noted = 0;
            return Vote::Pass;
        }
        if !counts(call, cx.input) {
            return Vote::Pass;
        }
        judge(*role, own, noted, cx.settings, cx.input.at)
    }
}

impl DelegationGate {
    /// Sets the role. An unchanged role keeps its count.
    fn set_role(&mut self, new: Option<AgentRole>) {
        match (&*self, new) {
            (DelegationGate::Leads { role, .. }, Some(new)) if *role == new => {}
            (_, Some(role @ (AgentRole::Conductor | AgentRole::SectionLeader))) => {
                *self = DelegationGate::Leads { role, own: Vec::new(), noted: 0 };
            }
            (_, Some(AgentRole::Musician) | None) => *self = DelegationGate::Free,
        }
    }
}

sprag_base::names! {
    fn name(AgentRole):
    Conductor = "conductor", SectionLeader = "section leader", Musician = "musician"
}

impl AgentRole {
    /// Reads a role as people and clients write it. An agent of a plugin has the plugin's name as a prefix.
    fn read(text: &str) -> Option<AgentRole> {
        let name = text.trim().rsplit(':').next()?.to_ascii_lowercase().replace([' ', '_'], "-");
        match name.as_str() {
            "conductor" => Some(AgentRole::Conductor),
            "section-leader" | "sectionleader" => Some(AgentRole::SectionLeader),
            "musician" => Some(AgentRole::Musician),
            _ => None,
        }
    }
}

fn marked(marks: &RoleMarks) -> Option<AgentRole> {
    let read = |mark: &Option<Text<64>>| mark.as_ref().and_then(|mark| AgentRole::read(mark.as_str()));
    read(&marks.environment).or_else(|| read(&marks.marker))
}

/// Counts a change of the leader, and returns a reminder or a hold.
fn judge(
    role: AgentRole,
    own: &mut Vec<Timestamp>,
    noted: &mut u32,
    policy: &Settings,
    now: Timestamp,
) -> Vote {
    let window = i64::from(policy.window_minutes) * 60;
    // A time in the future was not written by Sprag and does not count.
    own.retain(|at| *at <= now && now.seconds_since(*at) < window);
    if own.is_empty() {
        *noted = 0;
    }
    let count = u32::try_from(own.len() + 1).unwrap_or(u32::MAX);
    if policy.mode == DelegationMode::Enforce && count >= policy.insist_at {
        return Vote::Hold(Reason::new(
            "delegate",
            format!(
                "a {} delegates, but made {} changes itself within {} minutes",
                role.name(),
                count - 1,
                policy.window_minutes
            ),
            "start an agent for this task; that resets the count",
        ));
    }
    if own.len() >= REMEMBERED {
        own.remove(0);
    }
    own.push(now);
    let reached = [policy.insist_at, policy.note_at].into_iter().find(|at| count >= *at && *noted < *at);
    let Some(reached) = reached else {
        return Vote::Pass;
    };
    *noted = reached;
    Vote::Note(Text::new(format!(
        "a {} delegates: this is your own change {count} within {} minutes; start an agent for the next one",
        role.name(),
        policy.window_minutes
    )))
}

/// Reports whether another agent could have done the work of a call.
fn counts(call: &ToolCall, input: &Input) -> bool {
    match (call.effect, &call.command) {
        (ToolEffect::Read | ToolEffect::Net | ToolEffect::Delegate, _) => false,
        (ToolEffect::Write | ToolEffect::Exec, Some(_)) => !input.script().is_some_and(Script::only_looks),
        (ToolEffect::Write | ToolEffect::Exec, None) => {
            call.paths.is_empty() || !call.paths.iter().all(|path| is_leaders(path))
        }
    }
}

fn is_leaders(path: &str) -> bool {
    let parts = || path.split('/');
    let is_manifest = parts().next_back().is_some_and(|name| MANIFESTS.contains(&name));
    !parts().any(|part| part == "..") && (is_manifest || parts().any(|part| OWN_FOLDERS.contains(&part)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use sprag_base::ids::SessionId;
    use sprag_policy::call::{InputCompleteness, ToolRow};

    use super::*;
    use crate::event::StartSource;
    use crate::gates::fixture::StepFixture;

    const TOOLS: &[ToolRow] = &[
        ToolRow { name: "Bash", effect: ToolEffect::Exec, paths: &[], command: Some("command") },
        ToolRow { name: "Write", effect: ToolEffect::Write, paths: &["file_path"], command: None },
        ToolRow { name: "Task", effect: ToolEffect::Delegate, paths: &[], command: None },
    ];

    fn input(event: Event, seconds: i64) -> Input {
        let at = Timestamp::from_millis(0).plus_seconds(seconds);
        Input::new(at, SessionId::new("s"), event).within("/w")
    }

    fn step(
        state: &mut DelegationGate,
        input: &Input,
        answer: &Option<RoleMarks>,
        settings: &Settings,
    ) -> Vote {
        let (answer, settings) = (answer.clone(), settings.clone());
        StepFixture { answer, settings, ..StepFixture::default() }.step(state, input)
    }

    fn started(environment: Option<&str>, marker: Option<&str>, agent: Option<&str>) -> DelegationGate {
        let mut state = DelegationGate::default();
        let mut start = input(Event::SessionStarted { source: StartSource::Startup }, 0);
        start.agent = agent.map(Text::from);
        let marks = RoleMarks { environment: environment.map(Text::from), marker: marker.map(Text::from) };
        assert_eq!(step(&mut state, &start, &Some(marks), &Settings::default()), Vote::Pass);
        state
    }

    fn role(state: &DelegationGate) -> Option<AgentRole> {
        match state {
            DelegationGate::Free => None,
            DelegationGate::Leads { role, .. } => Some(*role),
        }
    }

    fn write(path: &str) -> Event {
        Event::ToolRequested {
            call: ToolCall::new(TOOLS, "Write", json!({ "file_path": path }), None, InputCompleteness::Yes),
        }
    }

    fn bash(command: &str) -> Event {
        Event::ToolRequested {
            call: ToolCall::new(TOOLS, "Bash", json!({ "command": command }), None, InputCompleteness::Yes),
        }
    }

    #[test]
    fn the_payload_tells_before_the_environment_and_the_marker() {
        assert_eq!(role(&started(None, None, None)), None);
        assert_eq!(role(&started(None, Some("conductor\n"), None)), Some(AgentRole::Conductor));
        assert_eq!(
            role(&started(Some("Section_Leader"), Some("conductor"), None)),
            Some(AgentRole::SectionLeader)
        );
        assert_eq!(role(&started(Some("musician"), Some("conductor"), None)), None);
        assert_eq!(
            role(&started(Some("musician"), None, Some("band:conductor"))),
            Some(AgentRole::Conductor)
        );
        assert_eq!(role(&started(Some("conductor"), None, Some("musician"))), None);
        assert_eq!(role(&started(Some("reviewer"), None, None)), None);
    }

    #[test]
    fn what_is_no_work_of_others_does_not_count() {
        let counted = |event: Event| match &event {
            Event::ToolRequested { call } => counts(call, &input(event.clone(), 0)),
            _ => false,
        };
        for event in [
            write("/w/.claude/agents/x.md"),
            write(".sprag/intents.yaml"),
            write("/w/app/package.json"),
            bash("git status && ls -la src | head -3"),
            bash("find . -name '*.rs'"),
            bash("cd /w && git log --oneline"),
            bash("sprag status"),
        ] {
            assert!(!counted(event.clone()), "{event:?}");
        }
        for event in [
            write("/w/src/a.rs"),
            write("/w/.claude/../src/a.rs"),
            bash("make"),
            bash("ls > out.txt"),
            bash("find . -delete"),
            bash("echo $(make)"),
        ] {
            assert!(counted(event.clone()), "{event:?}");
        }
    }

    #[test]
    fn enforced_it_holds_and_a_held_call_does_not_count() {
        let mut state = started(Some("conductor"), None, None);
        let policy = Settings { mode: DelegationMode::Enforce, ..Settings::default() };
        let notes: Vec<bool> = (1..=4)
            .map(|second| {
                matches!(step(&mut state, &input(write("/w/a"), second), &None, &policy), Vote::Note(_))
            })
            .collect();
        assert_eq!(notes, [false, false, true, false]);
        for second in [5, 300, 600] {
            assert!(matches!(step(&mut state, &input(write("/w/a"), second), &None, &policy), Vote::Hold(_)));
        }
        // The window of the first change has passed.
        assert_eq!(step(&mut state, &input(write("/w/a"), 601), &None, &policy), Vote::Pass);
    }

    #[test]
    fn a_state_from_the_future_holds_nothing() {
        let own = vec![Timestamp::from_millis(i64::MAX); 50];
        let mut state = DelegationGate::Leads { role: AgentRole::Conductor, own, noted: 5 };
        let policy = Settings { mode: DelegationMode::Enforce, ..Settings::default() };
        assert_eq!(step(&mut state, &input(write("/w/a"), 1), &None, &policy), Vote::Pass);
    }

    #[test]
    fn a_sub_agent_is_free() {
        let mut state = started(Some("conductor"), None, None);
        let before = state.clone();
        let mut call = input(bash("make"), 1);
        call.actor = Actor::Subagent { id: Text::from("a1"), kind: Text::from("musician") };
        assert_eq!(step(&mut state, &call, &None, &Settings::default()), Vote::Pass);
        assert_eq!(state, before);
    }
}
