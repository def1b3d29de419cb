//! `sprag reflect`: what a session has learned, for those that come after it.

use std::io::{self, IsTerminal as _, Read as _};

use serde_json::{Value, json};
use sprag_core::event::{Report, SessionId};
use sprag_core::memory::learning::{self, Submission};
use sprag_core::text::{Text, one_line};
use sprag_host::reports::{self, Delivery};
use sprag_host::walk::World;
use sprag_host::{journal, records};

use super::{Cx, Ending, Outcome, delivered, show};
use crate::failure::Failure;
use crate::output;

/// Hand in what was learned: candidates as JSON on stdin
///
/// One candidate in form discharges the reflection; the others are told what to change. The same
/// submission twice is stored once.
#[derive(clap::Args)]
pub struct Args {
    /// Print the form of a submission, with an example
    #[arg(long)]
    schema: bool,
    /// The session, by id or its start (default: the one of this worktree)
    #[arg(long)]
    session: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args, cx: &Cx) -> Outcome {
    if args.schema {
        let schema = serde_json::to_string_pretty(&learning::schema()).map_err(io::Error::other)?;
        output::line(schema);
        return Ok(Ending::Done);
    }
    let text = read_stdin()?;
    let submission =
        learning::submission(&text).map_err(|unreadable| Failure::bad_reflection(&unreadable))?;
    let world = cx.world()?;
    let session = reports::find_session(&world, args.session.as_deref(), cx.now)?;
    let last = submission.accepted.iter().map(|(index, _)| index + 1).max().unwrap_or(0);
    let ids: Vec<Text<64>> = (0..last).map(|_| Text::new(records::new_id(cx.now))).collect();
    let report = Report::Reflected { submission: text, ids: ids.clone() };
    let delivery = reports::send(&world, &session, report, &cx.cwd, cx.now)?;
    let how = delivered(&delivery)?;
    let accepted = accepted(&world, &session, &submission, &ids, &delivery);
    show(
        args.json,
        || json!({"session": session, "delivery": how, "accepted": accepted, "rejected": submission.rejected, "similar": []}),
        || tell(&accepted, &submission, how),
    )
}

/// More than a submission may have is read only as far as it takes to say so.
fn read_stdin() -> Result<String, Failure> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Err(Failure::no_submission());
    }
    let mut bytes = Vec::new();
    stdin.lock().take(learning::BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Under which names they are kept: what was there before keeps its own.
fn accepted(
    world: &World<'_>,
    session: &SessionId,
    submission: &Submission,
    ids: &[Text<64>],
    delivery: &Delivery,
) -> Vec<Value> {
    let state = match delivery {
        Delivery::Recorded => journal::read(&journal::path(&world.store(), session)).ok(),
        Delivery::Left(_) | Delivery::Refused(_) => None,
    };
    let known = |candidate: &learning::Candidate| {
        state.as_ref().and_then(|(loaded, _)| loaded.session.gates.reflection.known(candidate.digest()))
    };
    let id = |index: usize, candidate| known(candidate).or_else(|| ids.get(index).map(Text::as_str));
    let accepted = submission.accepted.iter();
    accepted
        .map(|(index, candidate)| json!({"id": id(*index, candidate), "summary": candidate.summary}))
        .collect()
}

fn tell(accepted: &[Value], submission: &Submission, how: &str) {
    for learning in accepted {
        let (id, summary) = (learning["id"].as_str(), learning["summary"].as_str());
        output::line(format!(
            "kept `{}` ({how}): {}",
            id.unwrap_or_default(),
            one_line(summary.unwrap_or_default())
        ));
    }
    for rejected in &submission.rejected {
        output::line(format!("not kept, candidate {}: {}", rejected.index, rejected.reason));
    }
    if !submission.rejected.is_empty() {
        output::line("  next: hand those in again, changed as told");
    }
}
