//! Crashes, parallel hooks, damage and cleaning.

mod cleaned;
mod damaged;
pub(crate) mod killed;
pub(crate) mod parallel;
