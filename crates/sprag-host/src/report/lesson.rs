//! Records a lesson.

use sprag_base::ids::SessionId;
use sprag_base::text::Text;
use sprag_memory::lesson;
use sprag_memory::write_gate::SimilarResolution;

use crate::memory::lessons::render;
use crate::report::submit::{SubmissionResult, SubmitError, Submitter, hand_in};
use crate::store::{Store, journal};
use crate::world::World;

/// Result of recording a lesson.
#[derive(Debug)]
pub struct LessonOutcome {
    pub handed_in: SubmissionResult,
    /// Intent of the lesson.
    pub intent: Option<String>,
    /// Messages about files that could not be updated.
    pub warnings: Vec<String>,
}

/// Submits a lesson. A lesson that is similar to a learning is merged into it.
pub fn record(
    world: &World<'_>,
    hand: &Submitter<'_>,
    text: &str,
    check: Option<&str>,
) -> Result<LessonOutcome, SubmitError> {
    let intent = intent_of(&world.store(), hand.session);
    let submission = lesson::submission(text, check, intent.as_deref()).to_string();
    let mut handed_in = hand_in(world, hand, &submission, None)?;
    if let Some(similar) = handed_in.similar.first() {
        let merge = SimilarResolution::Merge(Text::from(similar.id.as_str()));
        handed_in = hand_in(world, hand, &submission, Some(merge))?;
    }
    let warnings = render(world).unwrap_or_else(|error| vec![format!("cannot render lessons: {error}")]);
    Ok(LessonOutcome { handed_in, intent, warnings })
}

fn intent_of(store: &Store, session: &SessionId) -> Option<String> {
    let (loaded, _) = journal::read(&journal::path(store, session)).ok()?;
    loaded.session.selected_intent().map(|(intent, _)| intent.id.to_string())
}
