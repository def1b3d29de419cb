//! Changes of a session since its baseline.

use sprag_base::text::Text;
use sprag_govern::facts::{Changes, Mark, Size};
use sprag_govern::session::Session;

use crate::sys::locations::Places;
use crate::worktree::baseline;

/// `None`: git could not say.
pub(crate) fn changes(places: &Places, session: &Session) -> Option<Changes> {
    let (Some(_), Some(start)) = (&places.worktree, &session.about.start) else {
        return Some(Changes::default());
    };
    if !baseline::is_kept(places, start.as_str()) {
        return Some(Changes::default());
    }
    let since = baseline::since(places, start.as_str())?;
    let marks = since.marks.into_iter().map(|mark| Mark {
        path: Text::new(mark.path),
        line: mark.line,
        text: mark.text,
    });
    Some(Changes { size: Size::Lines(since.lines), paths: since.paths, marks: marks.collect() })
}
