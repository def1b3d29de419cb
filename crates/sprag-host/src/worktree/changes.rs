//! Changes of a session since its baseline.

use sprag_base::text::Text;
use sprag_govern::facts::{SessionChanges, Size, TodoMark};
use sprag_govern::session_facts::SessionFacts;

use crate::sys::locations::Locations;
use crate::worktree::baseline;

/// Returns the changes of a session. `None`: git failed.
pub(crate) fn changes(places: &Locations, session: &SessionFacts) -> Option<SessionChanges> {
    let (Some(_), Some(start)) = (&places.worktree, &session.start) else {
        return Some(SessionChanges::default());
    };
    if !baseline::is_kept(places, start.as_str()) {
        return Some(SessionChanges::default());
    }
    let since = baseline::since(places, start.as_str())?;
    let marks = since.marks.into_iter().map(|mark| TodoMark {
        path: Text::new(mark.path),
        line: mark.line,
        text: mark.text,
    });
    Some(SessionChanges { size: Size::Lines(since.lines), paths: since.paths, marks: marks.collect() })
}
