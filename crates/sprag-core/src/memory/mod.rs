//! What is remembered, and under which rules.

pub mod document;
pub mod evidence;
pub mod fold;
pub mod kinds;
pub mod learning;
pub mod markdown;
pub mod plausible;
pub mod propose;
pub mod redact;
pub mod routing;
pub mod specific;
pub mod union;
pub mod usage;
