//! `sprag trace rewritten`: reads the input of the `post-rewrite` hook of git.

use std::io::{self, Read as _};

use serde_json::json;

use sprag_base::result::Discard as _;
use sprag_host::trace::blame::rewrite_map;

use crate::commands::{CommandCx, CommandResult, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Note rewritten commits (the `post-rewrite` hook of git runs this)
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Command that rewrote the commits; not used
    what: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
}

/// Maximum input in bytes, more than a rebase has.
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
