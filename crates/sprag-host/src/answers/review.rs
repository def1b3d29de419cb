//! The token of a new reviewer, and other clients that could review.

use sprag_base::text::Text;
use sprag_govern::gates::review::{Answer, Question};
use sprag_plan::spec::client::ClientName;

use crate::answers::AnswerCx;
use crate::store::new_record;
use crate::sys::env::Env;
use crate::sys::exec::on_path;

pub(super) fn answer(_question: &Question, cx: &AnswerCx<'_>) -> Answer {
    Answer { token: new_record::new_token().map(Text::new), peers: peers(cx.world().env, &cx.input.client) }
}

/// Returns the other clients on this machine by their program name. Searches `PATH` only and starts no
/// program.
fn peers(env: &Env, client: &str) -> Vec<Text<32>> {
    let Some(path) = env.get("PATH") else {
        return Vec::new();
    };
    let others = ClientName::NAMES.iter().filter(|other| **other != client);
    let programs =
        others.map(|other| if *other == ClientName::Cursor.name() { "cursor-agent" } else { *other });
    programs.filter(|program| on_path(program, &path).is_some()).map(Text::from).collect()
}
