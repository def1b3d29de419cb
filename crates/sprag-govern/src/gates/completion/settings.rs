//! Settings of the completion gate.

use serde::{Deserialize, Serialize};

use sprag_base::settings::{SettingKey, SettingSection, Tighten};
use sprag_check::{CompletionCheck, Profile};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub profile: Profile,
    pub check: Vec<CompletionCheck>,
    pub markers: Vec<String>,
    pub phrases: Vec<String>,
    pub mandatory: Vec<BuiltIn>,
    pub on_tool_failure: OnToolFailure,
}

/// Built-in checks that run no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BuiltIn {
    /// The session added no line that marks open work.
    Todo,
    /// The client's own tasks are done.
    Tasks,
}

sprag_base::names! { pub fn name(BuiltIn): Todo = "todo", Tasks = "tasks" }

/// The reaction at the next stop to a failed command of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnToolFailure {
    Off,
    Quick,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            profile: Profile::Standard,
            check: Vec::new(),
            markers: vec!["#done".to_owned()],
            phrases: Vec::new(),
            mandatory: Vec::new(),
            on_tool_failure: OnToolFailure::Off,
        }
    }
}

impl Settings {
    /// Reports whether any check is configured. Without one the gate judges nothing.
    pub fn is_configured(&self) -> bool {
        !self.check.is_empty() || !self.mandatory.is_empty()
    }

    pub fn minds_tool_failures(&self) -> bool {
        self.on_tool_failure == OnToolFailure::Quick
            && self.check.iter().any(|check| check.profile == Profile::Quick)
    }
}

pub(crate) const SECTION: SettingSection = SettingSection {
    name: "completion",
    defaults: "\
# Sprag runs checks when an agent claims that its work is done. Without a check here or a name in `mandatory`,
# nothing is checked.
[completion]
# Minimum thoroughness: `quick`, `standard` or `deep`. Sprag raises it for large changes, for security code,
# and after repeated failures.
profile = \"standard\"
# Each check is a table. `sh -c` runs its command in the worktree, and the command must not change the tree:
#   [[completion.check]]
#   name = \"tests\"
#   command = \"cargo test --quiet\"
#   profile = \"standard\"   # the least thorough profile that includes it
#   timeout = 300            # seconds; all checks of a stop share 480 s
#   mandatory = true         # otherwise a failure is only noted
check = []
# Words in the last message of an agent that claim that the work is done.
markers = [\"#done\"]
# Phrases in its last two sentences that claim the same, besides the built-in English and Japanese ones.
phrases = []
# Built-in checks that must pass: `todo` (no added TODO or FIXME), `tasks` (the client's tasks are done).
mandatory = []
# After a failed command: `quick` runs the quick checks at the next stop, at most three times a session.
on_tool_failure = \"off\"
",
    keys: &[
        SettingKey { name: "profile", tighten: Tighten::Ranked(&["quick", "standard", "deep"]) },
        // Checks are commands, and an untrusted repository must not run commands.
        SettingKey { name: "check", tighten: Tighten::Never },
        SettingKey { name: "markers", tighten: Tighten::More },
        SettingKey { name: "phrases", tighten: Tighten::More },
        SettingKey { name: "mandatory", tighten: Tighten::More },
        SettingKey { name: "on_tool_failure", tighten: Tighten::Ranked(&["off", "quick"]) },
    ],
};
