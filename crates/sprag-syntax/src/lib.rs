//! Syntax trees, their normal forms and proofs of refactoring.
//!
//! - [`classify`] tells whether a [`ChangeSet`] keeps behaviour: `Proved` with a [`Proof`], `Changed` with a
//!   [`Witness`], or `Unproven` with a [`UnprovenReason`]. It never guesses: every proof is replayed by [`check`] first.
//! - [`check`] replays a proof on the sources. It knows nothing of how the proof was found.
//! - [`units`] lists the functions and types of a source with a hash of each that formatting and comments do not
//!   change.
//! - [`Lang::of_path`] tells the language.
//!
//! `prove/` searches and may be wrong; `check/` is what soundness rests on. They share the parser and the building
//! of trees (`tree/`), and `check/` never looks at `prove/`.

mod change;
mod check;
mod comment;
mod digest;
mod lang;
mod literal;
mod proof;
mod prove;
pub mod reason;
mod symbol;
mod tree;
mod units;

pub use change::{
    ApiChange, ChangeJudgement, ChangeSet, ChangedFile, Claims, Classification, Excerpt, NodeBudget,
    ProofDepth, ProofLevel, Witness,
};
pub use check::{ProofError, check};
pub use lang::Lang;
pub use proof::{NameSearchScope, Proof, ProofSide, ProofSources, ProofStep, RULES};
pub use prove::classify;
pub use reason::UnprovenReason;
pub use units::{Unit, UnitKind, units};
