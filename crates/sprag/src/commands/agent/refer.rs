//! `sprag ref`: learnings that were of use.

use serde_json::json;

use sprag_base::text::Text;
use sprag_govern::report::Report;
use sprag_host::{memory, report};

use crate::commands::{CommandCx, CommandResult, delivered, show, words};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Say which learnings were of use, and how
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Their ids, or the first six characters and more
    #[arg(required = true)]
    ids: Vec<String>,
    /// What they helped with, at most 500 characters
    #[arg(long)]
    how: String,
    /// The session, by id or its start (default: the one of this worktree)
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
