//! One step of one gate, for the tests of gates.

use crate::event::Input;
use crate::facts::SharedFacts;
use crate::gates::before::Prepared;
use crate::gates::{Gate, GateCx, RecordEffect};
use crate::session_facts::SessionFacts;
use crate::verdict::Vote;

/// The context of the step. The effects of all steps add up.
pub(crate) struct StepFixture<G: Gate> {
    pub(crate) session: SessionFacts,
    pub(crate) shared: SharedFacts,
    pub(crate) answer: G::Answer,
    pub(crate) prepared: Prepared,
    pub(crate) settings: G::Settings,
    pub(crate) effects: Vec<RecordEffect>,
}

impl<G: Gate> Default for StepFixture<G> {
    fn default() -> StepFixture<G> {
        StepFixture {
            session: SessionFacts::default(),
            shared: SharedFacts::default(),
            answer: G::Answer::default(),
            prepared: Prepared::default(),
            settings: G::Settings::default(),
            effects: Vec::new(),
        }
    }
}

impl<G: Gate> StepFixture<G> {
    pub(crate) fn step(&mut self, gate: &mut G, input: &Input) -> Vote {
        gate.step(&mut GateCx {
            session: &self.session,
            input,
            shared: &self.shared,
            answer: &self.answer,
            prepared: &self.prepared,
            settings: &self.settings,
            effects: &mut self.effects,
            outcome: &mut None,
        })
    }
}
