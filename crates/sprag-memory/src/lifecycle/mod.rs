//! The life of learnings: decay, promotion, consolidation, tiers.

pub mod consolidate;
pub mod decay;
mod importance;
pub mod negative;
pub mod promote;
pub mod tiers;
