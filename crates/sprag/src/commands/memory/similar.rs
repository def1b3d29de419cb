//! `sprag memory similar`: scores how much two statements say the same.

use std::io::{self, Write as _};

use serde_json::{Value, json};

use sprag_memory::index::analysis::table::{self, Table};
use sprag_memory::index::dedup;
use sprag_memory::index::segment::build;

use super::load::LINE;
use crate::commands::{CommandCx, CommandEnd, CommandResult};
use crate::input::{InputLine, next_line};

/// Score how similar two statements are, one JSON object per line
///
/// A line has `pair_id`, `a` and `b`. The answer has `score` and the verdict of the write gate: `reject`
/// (the same statement), `similar` (the author decides) or `distinct` (both are kept).
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Read from stdin, one object per line
    #[arg(long, required = true)]
    jsonl: bool,
}

pub(crate) fn run(_args: Args, _cx: &CommandCx) -> CommandResult {
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
        // The caller may wait for this line before it sends the next one.
        writeln!(stdout, "{told}").and_then(|()| stdout.flush())?;
    }
    Ok(ending)
}

fn compared(line: &[u8], table: &Table<'_>) -> Result<Value, (Option<Value>, String)> {
    let value: Value = serde_json::from_slice(line).map_err(|error| (None, format!("not JSON: {error}")))?;
    let id = value.get("pair_id").cloned();
    let text = |name: &str| {
        let text = value.get(name).and_then(Value::as_str);
        text.ok_or_else(|| (id.clone(), format!("`{name}` is missing or not a string")))
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
