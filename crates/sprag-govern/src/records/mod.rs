//! The records of this crate, by type: debts, gates and the events of a session's journal.

pub mod debt;
pub mod event;
pub mod gate;

use serde_json::Value;

use sprag_base::record_kinds::TypedRecord as _;
use sprag_intent::IntentRecord;
use sprag_memory::records::MemoryRecord;
use sprag_trace::ChangeRecord;

use debt::DebtRecord;
use gate::GateRecord;

/// A record that a gate asks for, of whichever domain.
#[derive(Clone, Debug, PartialEq)]
pub enum GateEffect {
    Gate(GateRecord),
    Debt(DebtRecord),
    Intent(IntentRecord),
    Memory(MemoryRecord),
    Change(Box<ChangeRecord>),
}

impl GateEffect {
    pub fn kind(&self) -> &'static str {
        match self {
            GateEffect::Gate(record) => record.kind(),
            GateEffect::Debt(record) => record.kind(),
            GateEffect::Intent(record) => record.kind(),
            GateEffect::Memory(record) => record.kind(),
            GateEffect::Change(record) => record.kind(),
        }
    }

    pub fn body(&self) -> Value {
        match self {
            GateEffect::Gate(record) => record.body(),
            GateEffect::Debt(record) => record.body(),
            GateEffect::Intent(record) => record.body(),
            GateEffect::Memory(record) => record.body(),
            GateEffect::Change(record) => record.body(),
        }
    }
}

impl From<GateRecord> for GateEffect {
    fn from(record: GateRecord) -> GateEffect {
        GateEffect::Gate(record)
    }
}

impl From<DebtRecord> for GateEffect {
    fn from(record: DebtRecord) -> GateEffect {
        GateEffect::Debt(record)
    }
}

impl From<IntentRecord> for GateEffect {
    fn from(record: IntentRecord) -> GateEffect {
        GateEffect::Intent(record)
    }
}

impl From<MemoryRecord> for GateEffect {
    fn from(record: MemoryRecord) -> GateEffect {
        GateEffect::Memory(record)
    }
}

impl From<ChangeRecord> for GateEffect {
    fn from(record: ChangeRecord) -> GateEffect {
        GateEffect::Change(Box::new(record))
    }
}
