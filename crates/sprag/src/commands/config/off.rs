//! `sprag off`: turns Sprag off.

use serde_json::json;

use sprag_host::config::switches::{self, SwitchOff};
use sprag_host::sys::disk::RealDisk;

use crate::commands::{CommandCx, CommandResult, accept_protected, check_person, seconds, show};
use crate::output::{self, OutputFormat};

/// Turn Sprag off (people only): hooks check nothing and record nothing
///
/// `sprag on` turns Sprag on again.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag off --for 2h\n  \
    sprag off --here")]
pub(crate) struct Args {
    /// Turn Sprag off in this repository only
    #[arg(long)]
    here: bool,
    /// Duration, for example `2h` (default: until `sprag on`)
    #[arg(long = "for", value_name = "SPAN")]
    span: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let until = args.span.as_deref().map(seconds).transpose()?.map(|seconds| cx.now.plus_seconds(seconds));
    let places = cx.places()?;
    let user = places.user.as_ref().ok_or(sprag_host::sys::locations::NoHome)?;
    check_person(&places)?;
    let mut off = switches::read_off(user);
    let span = SwitchOff { since: cx.now, until };
    if args.here {
        off.here.insert(places.store.clone(), span);
    } else {
        off.everywhere = Some(span)
    }
    switches::write_off(user, &RealDisk, &off)?;
    accept_protected(&places)?;
    let place = if args.here { "in this repository" } else { "everywhere" };
    let end = until.map_or("until `sprag on`".to_owned(), |until| format!("until {until}"));
    show(
        args.format,
        || json!({"off": place, "until": until}),
        || output::line(format!("sprag is off {place} {end}\n  next: sprag on")),
    )
}
