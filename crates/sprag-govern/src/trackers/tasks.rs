//! The client's own task list. Events of the client close tasks; no command does.

use super::{Tracker, TrackerSign};

pub const TRACKER: Tracker = Tracker {
    name: "tasks",
    mark: TrackerSign::Never,
    programs: &[],
    closes: |_| Vec::new(),
    closes_by_tool: |_, _| Vec::new(),
    asks: None,
};
