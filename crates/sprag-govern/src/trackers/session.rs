//! The tracker without tickets: the session itself is the piece of work, and its end closes it.

use super::{Tracker, TrackerSign};

pub const TRACKER: Tracker = Tracker {
    name: "session",
    mark: TrackerSign::Always,
    programs: &[],
    closes: |_| Vec::new(),
    closes_by_tool: |_, _| Vec::new(),
    asks: None,
};
