//! `sprag reflect`: what a session has learned, for those that come after it.

use std::io::{self, IsTerminal as _, Read as _};

use serde_json::json;

use sprag_govern::event::Actor;
use sprag_host::report;
use sprag_host::report::submit::{Submitter, hand_in};
use sprag_memory::learning;
use sprag_memory::write_gate::SimilarResolution;

use crate::commands::{CommandCx, CommandEnd, CommandResult, delivered, show, words};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Hand in what was learned: candidates as JSON on stdin
///
/// What is in form, borne out by its text, about this project and not known yet is kept; the rest is told what
/// to change. A candidate that resembles a learning waits until `--merge`, `--supersede` or `--distinct` says
/// what it is. The same submission twice is stored once.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print the form of a submission, with an example
    #[arg(long)]
    schema: bool,
    /// What resembles this learning says the same: its words become that one's
    #[arg(long, value_name = "ID", group = "resolution")]
    merge: Option<String>,
    /// It takes the place of this learning
    #[arg(long, value_name = "ID", group = "resolution")]
    supersede: Option<String>,
    /// It says something else, and this is what, at most 500 characters
    #[arg(long, value_name = "WHY", group = "resolution")]
    distinct: Option<String>,
    /// The session, by id or its start (default: the one of this worktree)
    #[arg(long)]
    session: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    if args.schema {
        let schema = serde_json::to_string_pretty(&learning::schema()).map_err(io::Error::other)?;
        output::line(schema);
        return Ok(CommandEnd::Done);
    }
    let resolution = resolution(&args)?;
    let text = read_stdin(resolution.as_ref())?;
    let is_about_parked = text.trim().is_empty() && resolution.is_some();
    if !is_about_parked {
        // What cannot be read needs no session to say so.
        learning::submission(&text).map_err(|unreadable| Failure::bad_reflection(&unreadable))?;
    }
    let world = cx.world()?;
    let session = report::find_session::find_session(&world, args.session.as_deref(), cx.now)?;
    let hand = Submitter { session: &session, actor: &Actor::Main, cwd: &cx.cwd, now: cx.now };
    let came = hand_in(&world, &hand, &text, resolution)?;
    let how = delivered(&came.delivery)?;
    show(
        args.format,
        || {
            json!({
                "session": session, "delivery": how, "accepted": came.accepted, "rejected": came.rejected,
                "similar": came.similar, "notes": came.notes,
            })
        },
        || came.lines(how).iter().for_each(output::line),
    )
}

fn resolution(args: &Args) -> Result<Option<SimilarResolution>, Failure> {
    let id = |id: &String| words("an id", id, "reflect");
    Ok(match (&args.merge, &args.supersede, &args.distinct) {
        (Some(old), _, _) => Some(SimilarResolution::Merge(id(old)?)),
        (_, Some(old), _) => Some(SimilarResolution::Supersede(id(old)?)),
        (_, _, Some(why)) => Some(SimilarResolution::Distinct(words("`--distinct`", why, "reflect")?)),
        (None, None, None) => None,
    })
}

/// More than a submission may have is read only as far as it takes to say so. A resolution may come without one.
fn read_stdin(resolution: Option<&SimilarResolution>) -> Result<String, Failure> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return if resolution.is_some() { Ok(String::new()) } else { Err(Failure::no_submission()) };
    }
    let mut bytes = Vec::new();
    stdin.lock().take(learning::BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
