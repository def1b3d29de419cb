//! Text analysis: terms, word pieces and vectors.

mod hasher;
mod pieces;
pub(crate) mod simd;
pub mod table;
pub mod tokens;
mod unicode;
pub(crate) mod vectors;
pub(crate) mod word_ids;
mod word_table;
pub(crate) mod words;
