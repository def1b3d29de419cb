//! `sprag memory backends`: lists the memory programs that get copies of learnings.

use serde_json::json;

use sprag_host::memory::mirrors::{self, BACKENDS, MirrorContext};
use sprag_host::store::outbox;

use crate::commands::{CommandCx, CommandEnd, CommandResult};
use crate::output::{self, OutputFormat};

/// List the backends: memory programs that get copies of learnings
///
/// Copies that a backend could not take wait. Hooks and `sprag memory maintain` deliver them later.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Check that each used backend answers; this may start a program
    #[arg(long)]
    ping: bool,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    let site = MirrorContext::from_world(&world);
    let used = mirrors::in_use(&site);
    let waiting = outbox::waiting(&site.store);
    let mut rows = Vec::new();
    let mut is_good = true;
    for backend in BACKENDS {
        let is_used = used.iter().any(|known| known.name == backend.name);
        let answer =
            (args.ping && is_used).then(|| (backend.open)(&site).and_then(|mut mirror| mirror.ping()));
        let error = answer.as_ref().and_then(|answer| answer.as_ref().err().map(ToString::to_string));
        is_good &= error.is_none();
        rows.push(json!({
            "name": backend.name,
            "about": backend.about,
            "used": is_used,
            "waiting": waiting.get(backend.name).copied().unwrap_or(0),
            "answers": answer.as_ref().map(Result::is_ok),
            "error": error,
        }));
    }
    let ending = if is_good { CommandEnd::Done } else { CommandEnd::No };
    if args.format.is_json() {
        output::json(json!({ "backends": rows }));
        return Ok(ending);
    }
    for row in &rows {
        let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let used = if row["used"] == true { "used" } else { "not used" };
        let answers = match row["answers"].as_bool() {
            Some(true) => ", answers".to_owned(),
            Some(false) => format!(", does not answer: {}", text("error")),
            None => String::new(),
        };
        let waiting = row["waiting"].as_u64().filter(|&count| count > 0);
        let waiting = waiting.map_or(String::new(), |count| format!(", {count} waiting"));
        output::line(format!("{}: {used}{answers}{waiting} ({})", text("name"), text("about")));
    }
    Ok(ending)
}
