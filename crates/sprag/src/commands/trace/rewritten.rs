//! `sprag trace rewritten`: what git's `post-rewrite` hook has to say.

use std::io::{self, Read as _};

use serde_json::json;

use sprag_base::result::Discard as _;
use sprag_host::trace::blame::rewrite_map;

use crate::commands::{CommandCx, CommandResult, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Note which commits took the place of which, from a `post-rewrite` hook of git
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What git says did it; not used
    what: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
}

/// More lines than a rebase has.
const BYTES: u64 = 4 * 1024 * 1024;

pub(crate) fn run(args: &Args, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    let mut text = Vec::new();
    io::stdin().lock().take(BYTES).read_to_end(&mut text).discard("the lines before the error are noted");
    let noted = rewrite_map::note(&world.store(), world.disk, &String::from_utf8_lossy(&text), cx.now);
    let count = noted.map_err(|error| Failure::io("write to", &world.places.store, &error))?;
    show(
        args.format,
        || json!({"noted": count}),
        || output::note(format!("sprag: noted {count} rewritten commits")),
    )
}
