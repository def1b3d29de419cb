//! The one process that runs plans. What it may do it asks of the core, what it does it writes down first, and
//! whatever kills it, the next one goes on from what is written.

pub mod agent;
pub mod coordination;
pub mod daemon;
pub mod daemon_log;
pub mod jobs;
pub mod launchers;
pub mod layout;
pub mod lock;
pub mod observe;
pub mod plan_file;
pub mod run_log;
pub mod sandbox;
pub mod session_dir;
pub mod socket;
pub mod stage_env;
pub mod stage_session;
pub mod view;
