//! `sprag reflect`: submits learnings of a session for later sessions.

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

/// Submit learnings of this session: candidates as JSON on stdin
///
/// Keeps candidates that are well-formed, supported, specific to this project and new. Prints the reason for
/// the others. A candidate that is similar to a learning waits for `--merge`, `--supersede` or `--distinct`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag reflect --schema\n  \
    sprag reflect < candidates.json")]
pub(crate) struct Args {
    /// Print an example of a submission and its required members
    #[arg(long)]
    schema: bool,
    /// With `--schema`: print the whole JSON schema
    #[arg(long, requires = "schema")]
    full: bool,
    /// Merge the similar candidate into this learning
    #[arg(long, value_name = "ID", group = "resolution")]
    merge: Option<String>,
    /// Replace this learning by the similar candidate
    #[arg(long, value_name = "ID", group = "resolution")]
    supersede: Option<String>,
    /// Keep the candidate as a separate learning; say how it differs, at most 500 characters
    #[arg(long, value_name = "WHY", group = "resolution")]
    distinct: Option<String>,
    /// Session id, or its first characters (default: the only live session)
    #[arg(long)]
    session: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    if args.schema && !args.full {
        output::line(learning::brief_schema());
        return Ok(CommandEnd::Done);
    }
    if args.schema {
        let schema = serde_json::to_string_pretty(&learning::schema()).map_err(io::Error::other)?;
        output::line(schema);
        return Ok(CommandEnd::Done);
    }
    let resolution = resolution(&args)?;
    let text = read_stdin(resolution.as_ref())?;
    let is_about_parked = text.trim().is_empty() && resolution.is_some();
    if !is_about_parked {
        // An unreadable submission fails before Sprag looks for a session.
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

/// Reads the submission, up to one byte above its limit. With a resolution the submission may be empty.
fn read_stdin(resolution: Option<&SimilarResolution>) -> Result<String, Failure> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return if resolution.is_some() { Ok(String::new()) } else { Err(Failure::no_submission()) };
    }
    let mut bytes = Vec::new();
    stdin.lock().take(learning::BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
