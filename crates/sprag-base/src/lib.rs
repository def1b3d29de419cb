//! Values that every domain shares: text, time, digests, paths, globs, records, redaction and the form of
//! settings. This crate contains no domain logic.

pub mod base64;
pub mod digest;
pub mod document;
pub mod glob;
pub mod ids;
pub mod names;
pub mod path;
pub mod record;
pub mod record_kinds;
pub mod redact;
pub mod result;
pub mod settings;
pub mod sha256;
pub mod text;
pub mod time;
pub mod unified_diff;
