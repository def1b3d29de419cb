//! Reads the role of a session from the environment or the marker file.

use sprag_base::text::Text;
use sprag_govern::facts::RoleMarks;
use sprag_govern::gates::delegation::Question;

use crate::answers::AnswerCx;
use crate::sys::disk::read_small;

/// Longer than the name of any role.
const MARKER_BYTES: u64 = 256;

pub(super) fn answer(_question: &Question, cx: &AnswerCx<'_>) -> Option<RoleMarks> {
    let world = cx.world();
    let marker = || read_small(&world.places.project()?.join("role"), MARKER_BYTES).ok();
    Some(match world.env.text("AGENT_ROLE") {
        Some(role) => RoleMarks { environment: Some(Text::new(role)), marker: None },
        None => RoleMarks { environment: None, marker: marker().map(Text::new) },
    })
}
