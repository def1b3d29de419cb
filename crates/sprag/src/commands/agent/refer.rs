//! `sprag ref`: reports which learnings helped.

use serde_json::json;

use sprag_base::text::Text;
use sprag_govern::report::Report;
use sprag_host::{memory, report};

use crate::commands::{CommandCx, CommandResult, delivered, show, words};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Report which learnings helped, and how
///
/// Sprag counts each use of a learning.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag ref 01jb2k --how 'Showed which flag the build needs'\n  \
    sprag ref 01jb2k 01jc9f --how 'Both explained the failing test' --session 4f2a1c")]
pub(crate) struct Args {
    /// Learning ids, or at least their first six characters
    #[arg(required = true)]
    ids: Vec<String>,
    /// How they helped, at most 500 characters
    #[arg(long)]
    how: String,
    /// Session id, or its first characters (default: the only live session)
    #[arg(long)]
    session: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let help = words("`--how`", &args.how, "ref")?;
    let ids = args.ids.iter().map(|id| words("an id", id, "ref")).collect::<Result<Vec<Text<64>>, _>>()?;
    let world = cx.world()?;
    let all = memory::load(&world.places)?;
    let ids = ids
        .iter()
        .map(|id| match all.find(id.as_str()) {
            Ok((_, entry)) => Ok(entry.learning.id.clone()),
            Err(error) => Err(Failure::no_learning(id.as_str(), &error)),
        })
        .collect::<Result<Vec<_>, _>>()?;
    let session = report::find_session::find_session(&world, args.session.as_deref(), cx.now)?;
    let report = Report::Referred { ids: ids.clone(), how: help };
    let delivery = report::send(&world, &session, report, &cx.cwd, cx.now)?;
    let how = delivered(&delivery)?;
    show(
        args.format,
        || json!({"session": session, "delivery": how, "ids": ids}),
        || output::line(format!("noted in session `{}` ({how})", session.as_str())),
    )
}
