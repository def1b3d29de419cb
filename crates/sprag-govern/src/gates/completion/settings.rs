//! What the completion gate can be told.

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

/// What is looked at besides the checks, without running anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BuiltIn {
    /// No line was added that says that something is left to do.
    Todo,
    /// The client's own tasks are done.
    Tasks,
}

impl BuiltIn {
    pub fn name(self) -> &'static str {
        match self {
            BuiltIn::Todo => "todo",
            BuiltIn::Tasks => "tasks",
        }
    }
}

/// What a command that fails leads to at the next stop.
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
    /// Nothing configured, nothing judged. What a stage has to fulfil will count here too.
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
# Work that is said to be done is checked. Nothing is, unless there is a check here, or a name in `mandatory`.
[completion]
# How thorough: `quick`, `standard` or `deep`. Large changes, those to what guards others, and checks that keep
# failing are looked at more closely.
profile = \"standard\"
# Each is a table of its own, run by `sh -c` in the worktree, and must leave the tree as it is:
#   [[completion.check]]
#   name = \"tests\"
#   command = \"cargo test --quiet\"
#   profile = \"standard\"   # the least thorough one it belongs to
#   timeout = 300            # seconds; all checks of a stop together have 480
#   mandatory = true         # else a failure is noted, and holds nothing
check = []
# With one of these words in its last message an agent says that it is done.
markers = [\"#done\"]
# So it does with these in its last two sentences, besides the usual ones of English and Japanese.
phrases = []
# What else must be so: `todo` (no line with TODO or FIXME was added), `tasks` (the client's own list is done).
mandatory = []
# A command of the agent that fails: `quick` runs the quick checks at the next stop, three times a session.
on_tool_failure = \"off\"
",
    keys: &[
        SettingKey { name: "profile", tighten: Tighten::Ranked(&["quick", "standard", "deep"]) },
        // They are commands: a repository that nobody has trusted runs none.
        SettingKey { name: "check", tighten: Tighten::Never },
        SettingKey { name: "markers", tighten: Tighten::More },
        SettingKey { name: "phrases", tighten: Tighten::More },
        SettingKey { name: "mandatory", tighten: Tighten::More },
        SettingKey { name: "on_tool_failure", tighten: Tighten::Ranked(&["off", "quick"]) },
    ],
};
