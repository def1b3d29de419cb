//! What is remembered, and under which rules.

pub mod decay;
pub mod document;
pub mod episode;
pub mod evidence;
pub mod exposure;
pub mod fold;
pub mod implicit;
pub mod import;
pub mod insight;
pub mod kinds;
pub mod learning;
pub mod markdown;
pub mod negative;
pub mod plausible;
pub mod promote;
pub mod propose;
pub mod qa;
pub mod recall;
pub mod redact;
pub mod rejected;
pub mod routing;
pub mod specific;
pub mod stats;
pub mod union;
pub mod usage;
