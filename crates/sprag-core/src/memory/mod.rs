//! What is remembered, and under which rules.

pub mod consolidate;
pub mod decay;
pub mod document;
pub mod episode;
pub mod exposure;
pub mod fold;
pub mod implicit;
pub mod import;
pub mod insight;
pub mod judge;
pub mod kinds;
pub mod learning;
pub mod negative;
pub mod policy;
pub mod qa;
pub mod recall;
pub mod redact;
pub mod retroflect;
pub mod stats;
pub mod tiers;
pub mod usage;
