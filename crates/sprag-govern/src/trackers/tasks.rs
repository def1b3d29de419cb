//! The task list of the client itself. Its events tell what closes; no command does.

use super::{Tracker, TrackerSign};

pub const TRACKER: Tracker = Tracker {
    name: "tasks",
    mark: TrackerSign::Never,
    programs: &[],
    closes: |_| Vec::new(),
    closes_by_tool: |_, _| Vec::new(),
    asks: None,
};
