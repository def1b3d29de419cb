//! Stories of the gate.
