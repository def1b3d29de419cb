//! `sprag memory load`: loads texts into a separate store, to search and measure them.

use std::io::{self, Write as _};
use std::path::PathBuf;

use serde_json::json;

use sprag_host::memory::index::load as loading;
use sprag_host::memory::index::load::Loader;
use sprag_host::sys::disk::RealDisk;

use crate::commands::{CommandCx, CommandEnd, CommandResult};
use crate::input::{InputLine, next_line};

/// Load texts into a separate store, one JSON object per line
///
/// A line has `id` and `text`, or `id`, `summary` and `detail`; optional: `tags`, `files`, `created`, `pool`.
/// A line with a known id replaces the earlier text. Sprag prints bad lines with their id and exits with 3.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Directory of the store
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    /// Read from stdin, one object per line
    #[arg(long, required = true)]
    jsonl: bool,
}

/// Longest line in bytes.
pub(super) const LINE: usize = 64 * 1024 * 1024;

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let store = cx.cwd.join(args.store);
    let mut loader = Loader::new(&store, &RealDisk, cx.now);
    let mut input = io::BufReader::with_capacity(1024 * 1024, io::stdin().lock());
    let mut stdout = io::stdout().lock();
    let mut bad = 0;
    let mut lines = Vec::new();
    let mut is_open = true;
    while is_open {
        match next_line(&mut input, LINE)? {
            Some(InputLine::Whole(line)) if line.trim_ascii().is_empty() => {}
            Some(InputLine::Whole(line)) => lines.push(line),
            Some(InputLine::Long) => {
                bad += 1;
                writeln!(stdout, "{}", json!({"error": "limit: the line is longer than 64 MB"}))?;
            }
            None => is_open = false,
        }
        if lines.len() >= loading::BATCH || !is_open {
            for fault in loader.load_lines(&lines)? {
                bad += 1;
                let mut told = json!({ "error": fault.what });
                if let Some(id) = fault.id {
                    told["id"] = id;
                }
                writeln!(stdout, "{told}")?;
            }
            lines.clear();
        }
    }
    loader.finish()?;
    writeln!(stdout, "{}", json!({"loaded": loader.loaded, "bad": bad}))?;
    Ok(if bad == 0 { CommandEnd::Done } else { CommandEnd::BadLines })
}
