//! `sprag on`: turns Sprag on again after `sprag off`.

use serde_json::json;

use sprag_host::config::switches;
use sprag_host::sys::disk::RealDisk;

use crate::commands::{CommandCx, CommandResult, show};
use crate::output::{self, OutputFormat};

/// Turn Sprag on again, here and everywhere
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let places = cx.places()?;
    let user = places.user.as_ref().ok_or(sprag_host::sys::locations::NoHome)?;
    let mut off = switches::read_off(user);
    let was_off = off.everywhere.take().is_some() | off.here.remove(&places.store).is_some();
    if was_off {
        switches::write_off(user, &RealDisk, &off)?;
    }
    show(
        args.format,
        || json!({ "was_off": was_off }),
        || output::line(if was_off { "sprag is on again" } else { "sprag was on already" }),
    )
}
