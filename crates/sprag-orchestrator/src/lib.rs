//! The daemon that runs plans. The core decides each action, and the daemon records it before execution. If
//! the daemon dies, the next one resumes from the records.

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
