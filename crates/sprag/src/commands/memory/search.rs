//! `sprag search`: finds learnings by words.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use sprag_base::text::{one_line, quoted};
use sprag_base::time::Timestamp;
use sprag_host::memory::index::maintain::{self, IndexWork};
use sprag_host::memory::index::{
    DocumentFilter, IndexReader, LearningOwner, Memory, MemoryHit, TailRead, pools, query,
};
use sprag_host::memory::mirrors;
use sprag_host::store::Store;
use sprag_host::sys::disk::RealDisk;
use sprag_memory::index::query::fuse::Widths;
use sprag_memory::index::query::{FLOOR, Filter, IndexQuery};
use sprag_memory::learning::{Category, LearningScope, LearningStatus};

use crate::commands::{CommandCx, CommandEnd, CommandResult, seconds, show};
use crate::failure::Failure;
use crate::input::{InputLine, next_line};
use crate::output::{self, OutputFormat};

/// Search learnings by words
///
/// Searches the learnings of this project, of other clones in `.sprag/share`, and your personal ones. Prints
/// the results that are likely to help; `--all` prints the others, too.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sprag search 'flaky network tests'\n  \
    sprag search 'release steps' --category process --since 30d")]
pub(crate) struct Args {
    /// Words or question to search for
    #[arg(required_unless_present = "jsonl")]
    query: Option<String>,
    /// Scope: project, team or personal
    #[arg(long)]
    scope: Option<String>,
    /// Category: pattern, pitfall, convention, dependency, process, domain or debugging
    #[arg(long)]
    category: Option<String>,
    /// Tag of the learnings
    #[arg(long)]
    tag: Option<String>,
    /// File that the work is about, relative to the repository (may be repeated)
    #[arg(long)]
    file: Vec<String>,
    /// Only newer learnings: a duration such as `30d`, or a day such as `2026-11-15`
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Include archived and superseded learnings
    #[arg(long)]
    archived: bool,
    /// Include results that are unlikely to help
    #[arg(long)]
    all: bool,
    /// Also search the used backends; this may start a program
    #[arg(long, conflicts_with_all = ["store", "scope", "category"])]
    backends: bool,
    /// Maximum number of results
    #[arg(long, default_value_t = LIMIT)]
    limit: usize,
    /// Search only this store, which `sprag memory load` made
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Read from stdin, one JSON object per line: `query_id`, `text`; optional `pool`, `files`, `tags`,
    /// `limit`
    #[arg(long, requires = "store", conflicts_with_all = ["query", "scope", "category", "tag", "file", "since", "archived"])]
    jsonl: bool,
    #[command(flatten)]
    format: OutputFormat,
}

const LIMIT: usize = 10;
/// Default influence of age and use on a score.
const WIDTHS: Widths = Widths { recency: 1.0, usage: 1.0 };
/// Longest line in bytes.
const LINE: usize = 16 * 1024 * 1024;

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    if args.jsonl {
        let dir = cx.cwd.join(args.store.unwrap_or_default());
        return answer_lines(&dir, if args.all { 0.0 } else { FLOOR }, args.limit, cx.now);
    }
    let question = question(&args, cx)?;
    // The directory with texts of backends exists until the end of this function.
    let foreign = args.store.is_none().then(tempfile::tempdir).transpose()?;
    let memory = memory(&args, foreign.as_ref().map_or(&cx.cwd, |dir| dir.path()), cx)?;
    let shown = if args.archived { DocumentFilter::All } else { DocumentFilter::InUse };
    let mut hits = memory.ask(&question, shown, WIDTHS, cx.now);
    if !args.all {
        hits.retain(|hit| hit.probability >= FLOOR);
    }
    let is_empty = hits.is_empty();
    show(
        args.format,
        || json!({ "hits": hits.iter().map(to_json).collect::<Vec<_>>() }),
        || hits.iter().for_each(tell),
    )?;
    if is_empty && !args.format.is_json() {
        output::note("no result is likely to help; `--all` prints the others");
    }
    Ok(if is_empty { CommandEnd::No } else { CommandEnd::Done })
}

fn question(args: &Args, cx: &CommandCx) -> Result<IndexQuery, Failure> {
    let named = |given: &Option<String>, option: &str, known: &[&str]| match given {
        Some(given) if !known.iter().any(|name| name.eq_ignore_ascii_case(given.trim())) => {
            Err(Failure::unknown_name(option, given, known, "search"))
        }
        _ => Ok(()),
    };
    named(&args.scope, "scope", &LearningScope::ALL.iter().map(|scope| scope.name()).collect::<Vec<_>>())?;
    named(
        &args.category,
        "category",
        &Category::ALL.iter().map(|category| category.name()).collect::<Vec<_>>(),
    )?;
    Ok(IndexQuery {
        text: args.query.clone().unwrap_or_default(),
        files: args.file.clone(),
        tags: Vec::new(),
        filter: Filter {
            scope: args.scope.as_deref().and_then(LearningScope::read),
            category: args.category.as_deref().and_then(Category::read),
            tag: args.tag.clone(),
            since: args.since.as_deref().map(|since| moment(since, cx.now)).transpose()?,
        },
        limit: args.limit,
    })
}

/// Parses a day, a time, or a duration before now.
fn moment(text: &str, now: Timestamp) -> Result<Timestamp, Failure> {
    let day = (text.len() == 10).then(|| Timestamp::parse(&format!("{text}T00:00:00Z"))).flatten();
    match day.or_else(|| Timestamp::parse(text)) {
        Some(moment) => Ok(moment),
        None => Ok(now.plus_seconds(-seconds(text)?)),
    }
}

/// Checks that a store exists. A mistyped name must not look like an empty store.
fn is_there(dir: PathBuf) -> Result<PathBuf, Failure> {
    if dir.is_dir() { Ok(dir) } else { Err(Failure::no_store(&dir)) }
}

/// Opens all stores that the search covers.
fn memory(args: &Args, foreign: &Path, cx: &CommandCx) -> Result<Memory, Failure> {
    if let Some(dir) = &args.store {
        return loaded(&is_there(cx.cwd.join(dir))?, None);
    }
    let places = cx.places()?;
    let project = open(&Store::at(&places.store), &[])?;
    let mut libraries = vec![(project, LearningOwner::Project)];
    if let Some(personal) = query::personal(&places) {
        libraries.push((open(&personal, &[])?, LearningOwner::Personal));
    }
    if args.backends {
        let (store, warnings) =
            mirrors::foreign(&cx.world()?, args.query.as_deref().unwrap_or_default(), foreign, cx.now)?;
        for warning in warnings.iter() {
            output::note(format!("sprag: warning: {warning}"));
        }
        libraries.push((IndexReader::open(&store, &[], TailRead::All)?, LearningOwner::Project));
    }
    Ok(Memory::from_libraries(libraries))
}

/// Opens one pool of a store that `sprag memory load` made.
fn loaded(dir: &Path, pool: Option<&str>) -> Result<Memory, Failure> {
    Ok(Memory::from_libraries(vec![(open(&pools::store(dir, pool), &[])?, LearningOwner::Project)]))
}

/// Opens a store. Updates its index first if it lags behind; a command has the time for this.
fn open(store: &Store, further: &[PathBuf]) -> Result<IndexReader, Failure> {
    let library = IndexReader::open(store, further, TailRead::Last(READ_AT_ONCE))?;
    if !maintain::is_due(&library.behind) && !library.behind.is_cut {
        return Ok(library);
    }
    // Another process may update the index, or the store may be read-only. Sprag reads it in any case.
    match maintain::renew(store, &RealDisk, further, IndexWork::All) {
        Ok(_) | Err(_) => Ok(IndexReader::open(store, further, TailRead::All)?),
    }
}

/// Bytes without an index that a search reads directly.
const READ_AT_ONCE: u64 = 1024 * 1024;

fn tell(hit: &MemoryHit) {
    let label = hit.label.map_or("text", |label| label.category.name());
    let status = hit.uses.status;
    let mark = if status == LearningStatus::Active { String::new() } else { format!(", {}", status.name()) };
    let summary = one_line(&hit.summary);
    output::line(format!("{}  {label}{mark}  {summary}", quoted(&hit.id)));
    output::line(format!("  {:.2}: {}", hit.probability, hit.signals.describe()));
}

fn to_json(hit: &MemoryHit) -> Value {
    let mut told = json!({
        "id": hit.id,
        "score": hit.probability,
        "why": hit.signals.describe(),
        "summary": hit.summary,
        "at": hit.at,
        "status": hit.uses.status.name(),
    });
    if let Some(label) = hit.label {
        told["category"] = json!(label.category.name());
        told["scope"] = json!(label.scope.name());
    }
    told
}

fn answer_lines(dir: &Path, floor: f32, limit: usize, now: Timestamp) -> CommandResult {
    let mut input = io::BufReader::new(io::stdin().lock());
    let mut stdout = io::stdout().lock();
    let mut pools: HashMap<Option<String>, Memory> = HashMap::new();
    let mut ending = CommandEnd::Done;
    while let Some(line) = next_line(&mut input, LINE)? {
        let asked = match &line {
            InputLine::Long => Err((None, "limit: the line is longer than 16 MB".to_owned())),
            InputLine::Whole(line) if line.trim_ascii().is_empty() => continue,
            InputLine::Whole(line) => asked(line, limit),
        };
        let answer = match asked {
            Err((id, what)) => {
                ending = CommandEnd::BadLines;
                let mut answer = json!({ "error": what });
                if let Some(id) = id {
                    answer["query_id"] = id;
                }
                answer
            }
            Ok(asked) => {
                if !pools.contains_key(&asked.pool) {
                    pools.insert(asked.pool.clone(), loaded(dir, asked.pool.as_deref())?);
                }
                answer(&asked, &pools[&asked.pool], floor, now)
            }
        };
        // The caller may wait for this line before it sends the next one.
        writeln!(stdout, "{answer}").and_then(|()| stdout.flush())?;
    }
    Ok(ending)
}

struct SearchQuery {
    id: Value,
    pool: Option<String>,
    question: IndexQuery,
}

fn answer(asked: &SearchQuery, memory: &Memory, floor: f32, now: Timestamp) -> Value {
    let mut hits = memory.ask(&asked.question, DocumentFilter::InUse, WIDTHS, now);
    hits.retain(|hit| hit.probability >= floor);
    let ids: Vec<&str> = hits.iter().map(|hit| hit.id.as_str()).collect();
    let told: Vec<Value> = hits
        .iter()
        .map(|hit| json!({"id": hit.id, "score": hit.probability, "why": hit.signals.describe()}))
        .collect();
    json!({"query_id": asked.id, "ids": ids, "hits": told})
}

fn asked(line: &[u8], limit: usize) -> Result<SearchQuery, (Option<Value>, String)> {
    let value: Value = serde_json::from_slice(line).map_err(|error| (None, format!("not JSON: {error}")))?;
    let id = value.get("query_id").cloned();
    let bad = |what: &str| (id.clone(), what.to_owned());
    if !value.is_object() {
        return Err(bad("not an object"));
    }
    let text = |name: &str| match value.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(Value::Number(number)) if name == "pool" => Ok(Some(number.to_string())),
        Some(_) => Err(bad(&format!("`{name}` is not a string"))),
    };
    let list = |name: &str| match value.get(name) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => {
            let texts: Option<Vec<String>> =
                items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
            texts.ok_or_else(|| bad(&format!("`{name}` has an item that is not a string")))
        }
        Some(_) => Err(bad(&format!("`{name}` is not a list"))),
    };
    let mut files = list("files")?;
    files.extend(text("file")?);
    let limit = match value.get("limit") {
        None | Some(Value::Null) => limit,
        Some(limit) => limit
            .as_u64()
            .and_then(|limit| usize::try_from(limit).ok())
            .ok_or_else(|| bad("`limit` is not a number"))?,
    };
    let question = IndexQuery {
        text: text("text")?.ok_or_else(|| bad("`text` is missing"))?,
        files,
        tags: list("tags")?,
        filter: Filter::default(),
        limit,
    };
    let pool = text("pool")?;
    Ok(SearchQuery { id: id.clone().ok_or_else(|| bad("`query_id` is missing"))?, pool, question })
}
