//! The gates, in the order in which Sprag asks them. Each gate is one module with a state, a `Settings`,
//! `impl Gate` and tests, and has one line in the list below.

pub mod before;
#[cfg(test)]
mod fixture;
pub mod records;
mod skipped_hooks;

use std::fmt::Debug;

use serde::de::{DeserializeOwned, Deserializer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use sprag_base::digest::Digest;
use sprag_base::ids::SessionId;
use sprag_base::settings::{SettingSection, lean};
use sprag_memory::destination::Destination;

use crate::event::{EventKind, Input};
use crate::facts::{SharedFacts, SharedNeeds};
use crate::gates::before::{Before, Prepared};
use crate::gates::records::GateEffect;
use crate::obligation::Obligation;
use crate::obligation::records::{DebtIds, DebtRecord};
use crate::report::ReportOutcome;
use crate::session_facts::{SessionFacts, part, read_json_into};
use crate::verdict::Vote;

gates! {
    notes: NotesGate,
    recall: RecallGate,
    episodes: EpisodesGate,
    questions: QuestionsGate,
    scope: ScopeGate,
    permission: PermissionGate,
    delegation: DelegationGate,
    protection: ProtectionGate,
    hooks: HooksGate,
    stale: StaleGate,
    trace: TraceGate,
    integrity: IntegrityGate,
    commit: CommitGate,
    completion: CompletionGate,
    review: ReviewGate,
    reflection: ReflectionGate,
}

/// A rule with state. The implementing type is the state.
pub trait Gate: Clone + Default + PartialEq + Serialize + DeserializeOwned {
    type Settings: Clone + Default + PartialEq + Serialize + DeserializeOwned;
    /// The question that only this gate asks the host; `()` for a gate without one.
    type Question;
    /// The answer to the question. The default answers a question that was not asked.
    type Answer: Clone + Debug + Default;

    /// One line for `sprag config gates` and the documents.
    const ABOUT: &'static str;
    const SECTION: SettingSection;
    /// Further sections of the configuration. The last part of each name is the name of a field in the
    /// settings.
    const MORE: &'static [SettingSection] = &[];

    /// Returns the shared facts that this event needs.
    fn shared(&self, _ask: &Ask<'_, Self::Settings>) -> SharedNeeds {
        SharedNeeds::NONE
    }

    /// Returns the question for the host, once the shared facts are known. It carries every part of the state
    /// that the answer depends on.
    fn ask(&self, _ask: &Ask<'_, Self::Settings>, _shared: &SharedFacts) -> Option<Self::Question> {
        None
    }

    /// Reports whether answering may take long; the host then releases the journal.
    fn is_slow(_question: &Self::Question) -> bool {
        false
    }

    /// Returns a warning for the user if an answer is incomplete.
    fn warning(_answer: &Self::Answer) -> Option<String> {
        None
    }

    /// Adds the actions that must happen before the decision.
    fn before(&self, _ask: &Ask<'_, Self::Settings>, _actions: &mut Vec<Before>) {}

    /// Updates the state from the event and votes on it. Returns `Vote::Pass` for every other event.
    fn step(&mut self, cx: &mut GateCx<'_, Self>) -> Vote;

    /// Returns the answer for a fault of Sprag at this event.
    fn on_fault(_event: EventKind, _raw: &str) -> OnFault {
        OnFault::Pass
    }

    /// Returns the name of the current state; `None` for a gate with only one state.
    fn state(&self) -> Option<&'static str> {
        None
    }

    /// Returns an obligation that is open before any stop.
    fn open(&self, _session: &SessionId) -> Option<Obligation> {
        None
    }

    /// Updates the state from a fact on which no gate votes.
    fn notice(&mut self, _notice: GateNotice<'_, Self::Settings>) {}

    /// Reads the agent's message at a stop that no gate judges. May write records.
    fn heard(&mut self, _cx: &mut GateCx<'_, Self>) {}

    /// Drops single-use approvals, because the state cannot be written and they could be used twice.
    fn forget_single_use(&mut self) {}
}

/// A fact that a gate may note.
pub enum GateNotice<'a, S> {
    /// Sprag held the agent for the obligation with this digest, so the agent has read the reason. An
    /// obligation that is only open may still be released.
    Held(Digest),
    /// Sprag ignores a stop because work still runs. The gate may read the last message.
    PassedOver(Ask<'a, S>),
}

/// The data that a gate reads before the host gathers facts.
pub struct Ask<'a, S> {
    pub session: &'a SessionFacts,
    pub input: &'a Input,
    pub settings: &'a S,
}

impl<'a> Ask<'a, GateSettings> {
    /// Returns the same data with the settings of one gate.
    fn with<S>(&self, settings: &'a S) -> Ask<'a, S> {
        Ask { session: self.session, input: self.input, settings }
    }
}

/// The data that a gate reads and the records that it may write when it votes.
pub struct GateCx<'a, G: Gate> {
    pub session: &'a SessionFacts,
    pub input: &'a Input,
    pub shared: &'a SharedFacts,
    pub answer: &'a G::Answer,
    pub prepared: &'a Prepared,
    pub settings: &'a G::Settings,
    effects: &'a mut Vec<RecordEffect>,
    outcome: &'a mut Option<ReportOutcome>,
}

impl<G: Gate> GateCx<'_, G> {
    /// Adds a record that outlives the session.
    pub fn log(&mut self, record: impl Into<GateEffect>) {
        self.keep(Destination::Project, record);
    }

    /// Adds a record at the given destination.
    pub fn keep(&mut self, destination: Destination, record: impl Into<GateEffect>) {
        self.effects.push(RecordEffect { destination, record: record.into() });
    }

    /// Sets the result of the report of this event.
    pub fn set_outcome(&mut self, outcome: ReportOutcome) {
        *self.outcome = Some(outcome);
    }

    pub fn debts(&mut self, record: fn(DebtIds) -> DebtRecord, ids: Vec<String>) {
        if !ids.is_empty() {
            self.log(record(DebtIds { ids }));
        }
    }
}

/// A record that must be on disk before Sprag replies.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordEffect {
    pub destination: Destination,
    pub record: GateEffect,
}

/// The data of one step, for all gates.
pub(crate) struct StepCx<'a> {
    pub session: &'a SessionFacts,
    pub input: &'a Input,
    pub answers: &'a Answers,
    pub prepared: &'a Prepared,
    pub settings: &'a GateSettings,
    pub effects: &'a mut Vec<RecordEffect>,
    pub outcome: &'a mut Option<ReportOutcome>,
}

impl<'a> StepCx<'a> {
    /// Returns the data of one gate.
    fn of<G: Gate>(&mut self, answer: &'a G::Answer, settings: &'a G::Settings) -> GateCx<'_, G> {
        GateCx {
            session: self.session,
            input: self.input,
            shared: &self.answers.shared,
            answer,
            prepared: self.prepared,
            settings,
            effects: self.effects,
            outcome: self.outcome,
        }
    }
}

/// Reports whether a count is zero; such counts are not stored.
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The answer of a gate to a fault of Sprag, from lenient to strict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OnFault {
    Pass,
    Ask,
    Deny,
}

/// A gate as the documents and the configuration describe it.
pub struct GateInfo {
    pub name: &'static str,
    pub about: &'static str,
    pub section: &'static SettingSection,
    pub more: &'static [SettingSection],
    pub on_fault: fn(EventKind, &str) -> OnFault,
}

/// Registers the gates. Modules, states, settings, order and names follow from the list.
macro_rules! gates {
    ($($name:ident: $state:ident),+ $(,)?) => {
        $(pub mod $name;)+

        /// All gates, in order.
        pub const ALL: &[GateInfo] = &[$(GateInfo {
            name: stringify!($name),
            about: <$name::$state as Gate>::ABOUT,
            section: &<$name::$state as Gate>::SECTION,
            more: <$name::$state as Gate>::MORE,
            on_fault: <$name::$state as Gate>::on_fault,
        }),+];

        /// The questions of all gates about one event.
        #[derive(Default)]
        pub struct Questions {
            $(pub $name: Option<<$name::$state as Gate>::Question>),+
        }

        impl Questions {
            pub fn is_slow(&self) -> bool {
                false $(|| self.$name.as_ref().is_some_and(<$name::$state as Gate>::is_slow))+
            }
        }

        /// The facts that the host found for one event.
        #[derive(Clone, Debug, Default)]
        pub struct Answers {
            pub shared: SharedFacts,
            $(pub $name: <$name::$state as Gate>::Answer),+
        }

        impl Answers {
            /// Returns the warnings about answers that are incomplete.
            pub fn warnings(&self) -> Vec<String> {
                let warnings = [$(<$name::$state as Gate>::warning(&self.$name)),+];
                warnings.into_iter().flatten().collect()
            }
        }

        /// The states of all gates.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct GateStates {
            $(pub $name: $name::$state),+
        }

        /// The settings of all gates.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct GateSettings {
            $(#[serde(with = "lean")] pub $name: <$name::$state as Gate>::Settings),+
        }

        impl GateSettings {
            /// Reads the sections of each gate from the merged configuration.
            pub fn read<'de, D: Deserializer<'de>>(
                mut section: impl FnMut(&'static SettingSection, &'static [SettingSection]) -> D,
            ) -> Result<GateSettings, D::Error> {
                Ok(GateSettings {
                    $($name: <<$name::$state as Gate>::Settings>::deserialize(
                        section(&<$name::$state as Gate>::SECTION, <$name::$state as Gate>::MORE),
                    )?),+
                })
            }
        }

        impl GateStates {
            pub(crate) fn shared(&self, ask: &Ask<'_, GateSettings>) -> SharedNeeds {
                SharedNeeds::NONE $(| self.$name.shared(&ask.with(&ask.settings.$name)))+
            }

            pub(crate) fn ask(&self, ask: &Ask<'_, GateSettings>, shared: &SharedFacts) -> Questions {
                Questions { $($name: self.$name.ask(&ask.with(&ask.settings.$name), shared)),+ }
            }

            pub(crate) fn before(&self, ask: &Ask<'_, GateSettings>, actions: &mut Vec<Before>) {
                $(self.$name.before(&ask.with(&ask.settings.$name), actions);)+
            }

            pub(crate) fn step(&mut self, mut cx: StepCx<'_>) -> Vec<(&'static str, Vote)> {
                let StepCx { answers, settings, .. } = cx;
                vec![$((
                    stringify!($name),
                    self.$name.step(&mut cx.of(&answers.$name, &settings.$name)),
                )),+]
            }

            /// Returns the state of each gate that has several states.
            pub(crate) fn states(&self) -> Vec<(&'static str, &'static str)> {
                let states = [$((stringify!($name), Gate::state(&self.$name))),+];
                states.into_iter().filter_map(|(gate, state)| Some((gate, state?))).collect()
            }

            /// Returns the obligations that are open before any stop.
            pub(crate) fn open(&self, session: &SessionId) -> Vec<(&'static str, Obligation)> {
                let open = [$((stringify!($name), Gate::open(&self.$name, session))),+];
                open.into_iter().filter_map(|(gate, open)| Some((gate, open?))).collect()
            }

            /// Notifies a gate that its obligation held the agent.
            pub(crate) fn held(&mut self, gate: &str, digest: Digest) {
                match gate {
                    $(stringify!($name) => self.$name.notice(GateNotice::Held(digest)),)+
                    _ => {}
                }
            }

            /// Notifies all gates of a stop that Sprag ignores.
            pub(crate) fn passed_over(&mut self, ask: &Ask<'_, GateSettings>) {
                $(self.$name.notice(GateNotice::PassedOver(ask.with(&ask.settings.$name)));)+
            }

            pub(crate) fn heard(&mut self, mut cx: StepCx<'_>) {
                let StepCx { answers, settings, .. } = cx;
                $(self.$name.heard(&mut cx.of(&answers.$name, &settings.$name));)+
            }

            pub(crate) fn forget_single_use(&mut self) {
                $(self.$name.forget_single_use();)+
            }

            pub(crate) fn changes(&self, before: &GateStates, set: &mut Map<String, Value>) {
                $(part(set, concat!("gate.", stringify!($name)), &self.$name, &before.$name);)+
            }

            /// Reads one part of a `set`. Returns `None` if this version has no such gate.
            pub(crate) fn read(&mut self, name: &str, json: &str) -> Option<bool> {
                match name {
                    $(concat!("gate.", stringify!($name)) => Some(read_json_into(&mut self.$name, json)),)+
                    _ => None,
                }
            }
        }
    };
}
use gates;
