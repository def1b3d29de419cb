//! `sprag trace blame`: shows the intent of each line of a file.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use sprag_base::text::one_line;
use sprag_host::sys::locations;
use sprag_host::trace::blame::{
    BlameTracer, BlamedLine, FILE_BYTES, KnownRecords, LineOrigin, PATIENCE, is_uncommitted,
};
use sprag_trace::anchor::index::{LineWriter, RecordOrigin};

use crate::commands::{CommandCx, CommandResult, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Show which intent wrote each line of a file
///
/// Follows lines through amended, rebased, squashed, cherry-picked, reverted and moved commits. A line
/// without a record, or with two possible intents, is `lost`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// File to trace
    file: PathBuf,
    /// Lines to print, as `FIRST,LAST` or `FIRST,+COUNT`
    #[arg(short = 'L', value_name = "LINES")]
    lines: Option<String>,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: &Args, cx: &CommandCx) -> CommandResult {
    let places = cx.places()?;
    let worktree = places.worktree.clone().ok_or_else(|| Failure::not_in_git("blame"))?;
    let path = relative(&worktree, &cx.cwd, &args.file).ok_or_else(|| Failure::no_such_file(&args.file))?;
    check(&worktree.join(&path))?;
    let known = KnownRecords::load(&places).map_err(|error| Failure::io("read", &places.store, &error))?;
    let bar = output::progress(0, "tracing lines");
    bar.tick();
    let lines = BlameTracer::new(&places, &known, PATIENCE).file(&path);
    bar.finish_and_clear();
    let wanted = span(args.lines.as_deref(), lines.len())?;
    show(
        args.format,
        || {
            let told = wanted.clone().map(|at| to_json(at + 1, &lines[at], &known));
            json!({"file": path, "lines": told.collect::<Vec<_>>()})
        },
        || tell(wanted.clone(), &lines, &known),
    )
}

/// Returns the path of a file in the worktree. Does not follow links, because their target is another file.
fn relative(worktree: &Path, cwd: &Path, file: &Path) -> Option<String> {
    let cwd = fs::canonicalize(cwd).ok()?;
    let full = locations::tidy(&cwd.join(file));
    let roots = [Some(worktree.to_owned()), fs::canonicalize(worktree).ok()];
    let path = roots.iter().flatten().find_map(|root| full.strip_prefix(root).ok())?;
    path.to_str().filter(|path| !path.is_empty()).map(str::to_owned)
}

fn check(file: &Path) -> Result<(), Failure> {
    let found = fs::symlink_metadata(file).map_err(|_| Failure::no_such_file(file))?;
    if !found.is_file() {
        return Err(Failure::not_blamed(file, "is not a regular file"));
    }
    if found.len() > FILE_BYTES {
        return Err(Failure::not_blamed(file, "is too large"));
    }
    match fs::read(file) {
        Ok(bytes) if bytes.iter().take(8_000).any(|&byte| byte == 0) => {
            Err(Failure::not_blamed(file, "is a binary file"))
        }
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::io("read", file, &error)),
    }
}

/// Parses a range of lines; the result counts from zero.
fn span(text: Option<&str>, count: usize) -> Result<std::ops::Range<usize>, Failure> {
    let Some(text) = text else { return Ok(0..count) };
    let read = || {
        let (first, last) = text.split_once(',').unwrap_or((text, text));
        let first: usize = first.parse().ok()?;
        let last = match last.strip_prefix('+') {
            Some(more) => first.checked_add(more.parse().ok()?)?.checked_sub(1)?,
            None => last.parse().ok()?,
        };
        (1 <= first && first <= last && last <= count).then(|| first - 1..last)
    };
    read().ok_or_else(|| Failure::bad_lines(text, count))
}

fn to_json(number: usize, line: &BlamedLine, known: &KnownRecords) -> Value {
    let commit = Some(&line.commit).filter(|commit| !is_uncommitted(commit));
    let mut told = json!({"line": number, "commit": commit, "intent": null, "state": "lost"});
    match line.found {
        LineOrigin::Lost(lost) => told["why"] = json!(lost),
        LineOrigin::Named { anchor, how } => {
            let source = known.anchors.source(anchor);
            told["state"] = json!("found");
            told["how"] = json!(how);
            told["record"] = json!(source.record);
            told["revision"] = json!(source.trace.stage.revision());
            told["contributor"] = json!(source.trace.contributor.kind);
            match known.anchors.writer(anchor) {
                LineWriter::Intent(id) => told["intent"] = json!(id),
                LineWriter::Nobody(who) => told["contributor"] = json!(who),
            }
            if let RecordOrigin::Clone(clone) = &source.origin {
                told["clone"] = json!(clone);
            }
        }
    }
    told
}

/// Prints the lines as a table. Adjacent lines with equal facts share a row.
fn tell(wanted: std::ops::Range<usize>, lines: &[BlamedLine], known: &KnownRecords) {
    if wanted.is_empty() {
        output::line("no lines");
        return;
    }
    let words = |line: &BlamedLine| -> [String; 4] {
        let commit = if is_uncommitted(&line.commit) {
            "uncommitted".to_owned()
        } else {
            line.commit.chars().take(12).collect()
        };
        match line.found {
            LineOrigin::Lost(lost) => ["lost".to_owned(), String::new(), commit, lost.why().to_owned()],
            LineOrigin::Named { anchor, how } => {
                let source = known.anchors.source(anchor);
                let from = match &source.origin {
                    RecordOrigin::Own => String::new(),
                    RecordOrigin::Clone(clone) => format!(" of clone {}", one_line(clone.as_str())),
                };
                let (who, by) = match known.anchors.writer(anchor) {
                    LineWriter::Intent(id) => (one_line(id), source.trace.contributor.kind.name()),
                    LineWriter::Nobody(who) => ("no intent".to_owned(), who.name()),
                };
                let record = one_line(source.record.as_str());
                [who, by.to_owned(), commit, format!("{}, record {record}{from}", how.name())]
            }
        }
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut at = wanted.start;
    while at < wanted.end {
        let row = words(&lines[at]);
        let count = lines[at..wanted.end].iter().take_while(|line| words(line) == row).count();
        let span = if count == 1 { format!("{}", at + 1) } else { format!("{}-{}", at + 1, at + count) };
        rows.push([vec![span], row.to_vec()].concat());
        at += count;
    }
    output::table(&["lines", "intent", "by", "commit", "how"], &rows);
}
