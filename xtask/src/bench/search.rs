//! The cost of a search: a new process opens the index, answers one query and ends. The same run measures the
//! empty program and the full-text search of SQLite over the same texts.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde::Serialize;

use super::stats::Spread;
use super::texts::Texts;
use super::{latency, memory};

#[derive(Serialize)]
pub struct Row {
    pub case: String,
    #[serde(flatten)]
    pub spread: Spread,
    pub to_empty: f64,
    /// The limit on `to_empty`.
    pub contract: f64,
    /// The time with no part of the index in memory.
    pub cold_us: f64,
    pub peak_bytes: u64,
    /// SQLite's FTS5, if `sqlite3` is installed.
    pub peer_to_empty: Option<f64>,
    pub load_ms: f64,
    pub build_ms: f64,
    pub bytes_per_text: f64,
}

impl Row {
    pub fn broken(&self) -> Option<String> {
        let is_slow = self.to_empty > self.contract;
        is_slow.then(|| {
            format!(
                "`{}` takes {:.2} times the empty program (limit {:.1})",
                self.case, self.to_empty, self.contract
            )
        })
    }
}

/// The case, the number of texts, and the limit on a search in them.
pub const SIZES: &[(&str, usize, f64)] =
    &[("search.10k", 10_000, 4.0), ("search.100k", 100_000, 8.0), ("search.1m", 1_000_000, 25.0)];
/// The number of different queries, which take turns.
const QUESTIONS: usize = 50;
/// The limit on rounds: a search takes longer than a hook, so fewer rounds are enough.
const MOST_ROUNDS: usize = 200;
const COLD_ROUNDS: usize = 5;

struct Set {
    store: PathBuf,
    questions: Vec<String>,
    peer: Option<PathBuf>,
    load: Duration,
    build: Duration,
}

pub fn measure(
    program: &Path,
    empty: &Path,
    folder: &Path,
    rounds: usize,
    sizes: usize,
) -> anyhow::Result<Vec<Row>> {
    let rounds = rounds.min(MOST_ROUNDS);
    let mut rows = Vec::new();
    for &(case, count, contract) in SIZES.iter().take(sizes) {
        let place = folder.join(case);
        fs::create_dir_all(&place)?;
        let set = prepare(program, &place, count)?;
        let (mut of_empty, mut of_search, mut of_peer) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..rounds {
            let question = &set.questions[round % set.questions.len()];
            of_empty.push(latency::time(&mut quiet(empty))?);
            of_search.push(latency::time(&mut search(program, &set.store, question))?);
            if let Some(peer) = &set.peer {
                of_peer.push(latency::time(&mut ask_peer(peer, question))?);
            }
        }
        let cold = (0..COLD_ROUNDS).map(|round| {
            forget(&set.store)?;
            latency::time(&mut search(program, &set.store, &set.questions[round]))
        });
        let cold = cold.collect::<anyhow::Result<Vec<Duration>>>()?;
        let peak_bytes = memory::peak_of_command(&search(program, &set.store, &set.questions[0]))?;
        let (empty, spread) = (Spread::of(&of_empty), Spread::of(&of_search));
        rows.push(Row {
            case: case.to_owned(),
            spread,
            to_empty: spread.median_us / empty.median_us,
            contract,
            cold_us: Spread::of(&cold).median_us,
            peak_bytes,
            peer_to_empty: (!of_peer.is_empty()).then(|| Spread::of(&of_peer).median_us / empty.median_us),
            load_ms: set.load.as_secs_f64() * 1e3,
            build_ms: set.build.as_secs_f64() * 1e3,
            bytes_per_text: size_of(&set.store.join("cache"))? as f64 / count as f64,
        });
        fs::remove_dir_all(&place)?;
    }
    Ok(rows)
}

/// Returns the profile of a search in the format of callgrind.
pub fn profile(valgrind: &Path, program: &Path, folder: &Path) -> anyhow::Result<String> {
    let (place, out) = (folder.join("profiled"), folder.join("search.out"));
    fs::create_dir_all(&place)?;
    let set = prepare(program, &place, PROFILED)?;
    let search = search(program, &set.store, &set.questions[0]);
    let mut command = quiet(valgrind);
    command
        .args(["--tool=callgrind", "--demangle=no"])
        .arg(format!("--callgrind-out-file={}", out.display()));
    let status = command.arg(search.get_program()).args(search.get_args()).status()?;
    ensure!(status.success(), "valgrind ended with {status}");
    fs::remove_dir_all(&place)?;
    fs::read_to_string(&out).context("valgrind left no profile")
}

/// The number of texts in the profiled store; they fill a segment of every kind.
const PROFILED: usize = 5000;

fn prepare(program: &Path, place: &Path, count: usize) -> anyhow::Result<Set> {
    let (lines, sql) = (place.join("texts.jsonl"), place.join("peer.sql"));
    let questions = write_texts(&lines, &sql, count)?;
    let store = place.join("store");
    let mut load = quiet(program);
    load.args(["memory", "load", "--jsonl", "--store"]).arg(&store).stdin(File::open(&lines)?);
    let load = latency::time(&mut load)?;
    // This measures the index alone: a search builds a missing index again.
    fs::remove_dir_all(store.join("cache"))?;
    let build = latency::time(&mut search(program, &store, &questions[0]))?;
    let peer = prepare_peer(place, &sql)?;
    fs::remove_file(lines)?;
    fs::remove_file(sql)?;
    Ok(Set { store, questions, peer, load, build })
}

fn write_texts(lines: &Path, sql: &Path, count: usize) -> anyhow::Result<Vec<String>> {
    let (mut lines, mut sql) = (BufWriter::new(File::create(lines)?), BufWriter::new(File::create(sql)?));
    let mut texts = Texts::new();
    let mut questions = Vec::new();
    writeln!(sql, "CREATE VIRTUAL TABLE texts USING fts5(id UNINDEXED, summary, detail, tags);\nBEGIN;")?;
    for number in 0..count {
        let made = texts.next(number);
        writeln!(lines, "{}", made.line)?;
        let part = |name: &str| made.line[name].as_str().unwrap_or_default().to_owned();
        let tags: Vec<&str> =
            made.line["tags"].as_array().into_iter().flatten().filter_map(|tag| tag.as_str()).collect();
        let (id, summary, detail) = (part("id"), part("summary"), part("detail"));
        writeln!(sql, "INSERT INTO texts VALUES ('{id}', '{summary}', '{detail}', '{}');", tags.join(" "))?;
        if number % (count / QUESTIONS).max(1) == 0 {
            questions.push(made.question);
        }
    }
    writeln!(sql, "COMMIT;\nINSERT INTO texts(texts) VALUES ('optimize');")?;
    lines.flush()?;
    sql.flush()?;
    Ok(questions)
}

const PEER: &str = "/usr/bin/sqlite3";

fn prepare_peer(place: &Path, sql: &Path) -> anyhow::Result<Option<PathBuf>> {
    if !Path::new(PEER).exists() {
        return Ok(None);
    }
    let database = place.join("peer.db");
    let mut command = quiet(Path::new(PEER));
    let status = command.arg(&database).stdin(File::open(sql)?).status().context("cannot start `sqlite3`")?;
    Ok(status.success().then_some(database))
}

/// Returns a query for SQLite. Words contain only letters and underscores, so none of them ends a string.
fn ask_peer(database: &Path, question: &str) -> Command {
    let words: Vec<String> = question.split(' ').map(|word| format!("\"{word}\"")).collect();
    let words = words.join(" OR ");
    let mut command = quiet(Path::new(PEER));
    command.arg("-readonly").arg(database).arg(format!(
        "SELECT id, summary FROM texts WHERE texts MATCH '{words}' ORDER BY bm25(texts, 0, 2, 1, 2) LIMIT 10;"
    ));
    command
}

fn search(program: &Path, store: &Path, question: &str) -> Command {
    let mut command = quiet(program);
    command.args(["search", question, "--all", "--json", "--store"]).arg(store);
    command
}

fn quiet(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Removes files from the page cache, as far as the system allows.
fn forget(store: &Path) -> anyhow::Result<()> {
    for dir in ["cache", "log"] {
        for entry in fs::read_dir(store.join(dir))? {
            let of = format!("of={}", entry?.path().display());
            let status = quiet(Path::new("/bin/dd"))
                .args([&of, "oflag=nocache", "conv=notrunc,fdatasync", "count=0"])
                .status()?;
            ensure!(status.success(), "dd cannot remove `{of}` from the page cache");
        }
    }
    Ok(())
}

fn size_of(dir: &Path) -> anyhow::Result<u64> {
    let mut size = 0;
    for entry in fs::read_dir(dir)? {
        size += entry?.metadata()?.len();
    }
    Ok(size)
}
