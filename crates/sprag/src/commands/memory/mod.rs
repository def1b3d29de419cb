//! `sprag memory`: texts beside the learnings, for trying the memory out and for measuring it.

pub(crate) mod backends;
pub(crate) mod backfill;
mod change;
pub(crate) mod consolidate;
mod distill;
mod edit;
pub(crate) mod eval;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod learnings;
mod list;
pub(crate) mod maintain;
mod promote;
pub(crate) mod search;
pub(crate) mod show;
pub(crate) mod stats;

use std::io::{self, Write as _};
use std::path::PathBuf;

use serde_json::{Value, json};

use sprag_host::memory::index::load as loading;
use sprag_host::memory::index::load::Loader;
use sprag_host::sys::disk::RealDisk;
use sprag_memory::index::analysis::table::{self, Table};
use sprag_memory::index::dedup;
use sprag_memory::index::segment::build;

use super::{CommandCx, CommandEnd, CommandResult};
use crate::input::{InputLine, next_line};

/// Load texts to be searched, and compare statements
#[derive(clap::Args)]
pub(super) struct Args {
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
    /// Tell how much two statements say the same: one JSON object a line
    ///
    /// A line has `pair_id`, `a` and `b`. The answer has the score and what the write gate makes of it:
    /// `reject` the second, ask what becomes of two `similar` ones, or keep both as `distinct`.
    Similar {
        /// Read from stdin, one object a line
        #[arg(long, required = true)]
        jsonl: bool,
    },
}

pub(super) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    match args.command {
        Command::Load { store, jsonl: _ } => load(store, cx),
        Command::Similar { jsonl: _ } => similar(),
    }
}

/// Longest line that is read.
const LINE: usize = 64 * 1024 * 1024;

fn load(store: PathBuf, cx: &CommandCx) -> CommandResult {
    let store = cx.cwd.join(store);
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

fn similar() -> CommandResult {
    let table = table::built_in();
    let mut input = io::BufReader::new(io::stdin().lock());
    let mut stdout = io::stdout().lock();
    let mut ending = CommandEnd::Done;
    while let Some(line) = next_line(&mut input, LINE)? {
        let told = match &line {
            InputLine::Whole(line) if line.trim_ascii().is_empty() => continue,
            InputLine::Whole(line) => compared(line, &table),
            InputLine::Long => Err((None, "limit: the line is longer than 64 MB".to_owned())),
        };
        let told = told.unwrap_or_else(|(id, what)| {
            ending = CommandEnd::BadLines;
            let mut told = json!({ "error": what });
            if let Some(id) = id {
                told["pair_id"] = id;
            }
            told
        });
        // Whoever asks waits for this very line.
        writeln!(stdout, "{told}").and_then(|()| stdout.flush())?;
    }
    Ok(ending)
}

fn compared(line: &[u8], table: &Table<'_>) -> Result<Value, (Option<Value>, String)> {
    let value: Value = serde_json::from_slice(line).map_err(|error| (None, format!("not JSON: {error}")))?;
    let id = value.get("pair_id").cloned();
    let text = |name: &str| {
        let text = value.get(name).and_then(Value::as_str);
        text.ok_or_else(|| (id.clone(), format!("`{name}` is missing, or no string")))
    };
    let (a, b) = (text("a")?, text("b")?);
    let pair_id = id.clone().ok_or_else(|| (None, "`pair_id` is missing".to_owned()))?;
    let found = dedup::similar(build::cut(a, build::FIELD), build::cut(b, build::FIELD), table);
    let mut told = json!({"pair_id": pair_id, "score": found.score, "verdict": found.verdict.name()});
    if let Some(differs) = found.differs {
        told["differs"] = json!(differs.name());
    }
    Ok(told)
}
