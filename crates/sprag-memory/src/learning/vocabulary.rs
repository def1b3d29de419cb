//! The words a learning is described by. Each is one list; reading and writing follow from it.

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

            /// Capitals and space around a name do not make it another one.
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
    /// Who it is for, and with that where it is kept.
    LearningScope { Project = "project", Team = "team", Personal = "personal", Ephemeral = "ephemeral" }
}

named! {
    /// Why it is worth keeping.
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
    /// What sort of statement it is.
    LearningKind { Fact = "fact", Preference = "preference", Decision = "decision", Negative = "negative" }
}

named! {
    /// Who may read it.
    LearningReaders { Private = "private", Role = "role", Project = "project", Public = "public" }
}

impl LearningKind {
    pub(super) fn is_fact(&self) -> bool {
        *self == LearningKind::Fact
    }
}
