//! An agent as data: its activity, liveness, output and exit.

pub mod activity;
pub mod exit;
pub mod liveness;
pub mod stream;
