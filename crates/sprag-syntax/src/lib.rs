//! Syntax trees, their normal forms and proofs of refactoring.
//!
//! - [`classify`] decides whether a [`ChangeSet`] keeps behaviour: `Proved` with a [`Proof`], `Changed`
//!   with a [`Witness`], or `Unproven` with an [`UnprovenReason`]. It never guesses: [`check`] replays every
//!   proof first.
//! - [`check`] replays a proof on the sources. It does not depend on how the proof was found.
//! - [`units`] lists the functions and types of a source, each with a hash that ignores formatting and
//!   comments.
//! - [`Lang::of_path`] returns the language of a file.
//!
//! `prove/` searches and may be wrong; soundness depends only on `check/`. Both share the parser and the
//! trees (`tree/`), and `check/` never uses `prove/`.

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
