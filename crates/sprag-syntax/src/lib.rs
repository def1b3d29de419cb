//! Syntax trees, their normal forms and proofs of refactoring.
