//! The vocabulary of learnings. Each list defines an enum with its reader and writer.

use serde::{Deserialize, Serialize};

macro_rules! named {
    ($(#[$doc:meta])* $type:ident { $($variant:ident = $name:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $type {
            $(#[serde(rename = $name)] $variant),+
        }

        impl $type {
            pub const ALL: &'static [$type] = &[$($type::$variant),+];

            pub fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $name),+
                }
            }

            /// Reads a name, ignoring case and surrounding space.
            pub fn read(text: &str) -> Option<$type> {
                Self::ALL.iter().copied().find(|known| known.name().eq_ignore_ascii_case(text.trim()))
            }
        }
    };
}

named! { Category {
    Pattern = "pattern",
    Pitfall = "pitfall",
    Convention = "convention",
    Dependency = "dependency",
    Process = "process",
    Domain = "domain",
    Debugging = "debugging",
} }

named! {
    /// The audience of a learning, which selects its log.
    LearningScope { Project = "project", Team = "team", Personal = "personal", Ephemeral = "ephemeral" }
}

named! {
    /// The reason to keep a learning.
    KeepReason {
        BehaviorChanging = "behavior_changing",
        DecisionRationale = "decision_rationale",
        StableFact = "stable_fact",
        ExplicitRequest = "explicit_request",
    }
}

named! { Confidence { High = "high", Medium = "medium", Low = "low" } }

named! { LearningStatus { Active = "active", Stale = "stale", Archived = "archived", Superseded = "superseded" } }

named! {
    /// The type of a statement.
    LearningKind { Fact = "fact", Preference = "preference", Decision = "decision", Negative = "negative" }
}

named! {
    /// The permitted readers.
    LearningReaders { Private = "private", Role = "role", Project = "project", Public = "public" }
}

impl LearningKind {
    pub(super) fn is_fact(&self) -> bool {
        *self == LearningKind::Fact
    }
}
