//! `sprag memory`: texts beside the learnings, for trying the memory out and for measuring it.

use std::io::{self, Write as _};
use std::path::PathBuf;

use serde_json::json;
use sprag_host::disk::RealDisk;
use sprag_host::memory::loading::{self, Loader};

use super::{Cx, Ending, Outcome};
use crate::input::{Line, next_line};

/// Load texts to be searched
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Load texts into a store of their own: one JSON object a line
    ///
    /// A line has `id` and `text`, or `summary` and `detail`; `tags`, `files`, `created` and `pool` as well if
    /// wanted. A pool is searched by itself. Loading an id again replaces its text. A bad line is told
    /// on stdout with its id, and the exit code is 3 at the end.
    Load {
        /// The directory that holds all of it
        #[arg(long, value_name = "DIR")]
        store: PathBuf,
        /// Read from stdin, one object a line
        #[arg(long, required = true)]
        jsonl: bool,
    },
}

pub fn run(args: Args, cx: &Cx) -> Outcome {
    match args.command {
        Command::Load { store, jsonl: _ } => load(store, cx),
    }
}

/// Longest line that is read.
const LINE: usize = 64 * 1024 * 1024;

fn load(store: PathBuf, cx: &Cx) -> Outcome {
    let store = cx.cwd.join(store);
    let mut loader = Loader::new(&store, &RealDisk, cx.now);
    let mut input = io::BufReader::with_capacity(1024 * 1024, io::stdin().lock());
    let mut stdout = io::stdout().lock();
    let mut bad = 0;
    let mut lines = Vec::new();
    let mut is_open = true;
    while is_open {
        match next_line(&mut input, LINE)? {
            Some(Line::Whole(line)) if line.trim_ascii().is_empty() => {}
            Some(Line::Whole(line)) => lines.push(line),
            Some(Line::Long) => {
                bad += 1;
                writeln!(stdout, "{}", json!({"error": "limit: the line is longer than 64 MB"}))?;
            }
            None => is_open = false,
        }
        if lines.len() >= loading::BATCH || !is_open {
            for fault in loader.take(&lines)? {
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
    Ok(if bad == 0 { Ending::Done } else { Ending::BadLines })
}
