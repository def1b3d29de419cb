//! `sprag memory eval`: measures search and deduplication on labelled data.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use sprag_base::time::Timestamp;
use sprag_host::memory::index::load::Loader;
use sprag_host::memory::index::{DocumentFilter, IndexReader, LearningOwner, Memory, TailRead, pools};
use sprag_host::sys::disk::RealDisk;
use sprag_memory::index::analysis::table;
use sprag_memory::index::dedup;
use sprag_memory::index::measure::{Rank, Separation, at_threshold, interval, mean};
use sprag_memory::index::query::fuse::Widths;
use sprag_memory::index::query::{FLOOR, IndexQuery, RankWeights, WEIGHTS};

use crate::commands::{CommandCx, CommandResult, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Measure the memory on labelled data
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Measure how well the search finds texts
    ///
    /// The directory has `corpus.jsonl`, `queries.jsonl` and `qrels.jsonl`. Prints figures with 95% bootstrap
    /// intervals, and again without each signal. `negatives.jsonl` may hold questions without an answer.
    Retrieval(EvalSet),
    /// Measure how well duplicates are detected
    ///
    /// Every `.jsonl` file of the directory has lines with `a`, `b` and `dup`.
    Dedup(EvalSet),
}

#[derive(clap::Args)]
struct EvalSet {
    /// Directory with the data
    dir: PathBuf,
    /// Number of bootstrap samples for an interval
    #[arg(long, default_value_t = 1000)]
    boot: usize,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    match args.command {
        Command::Retrieval(of) => retrieval(&of, cx),
        Command::Dedup(of) => duplicates(&of, cx),
    }
}

/// Removes one signal from the weights.
type Without = fn(&mut RankWeights);

/// Variants without one signal, which show the effect of the signal.
const VARIANTS: &[(&str, Without)] = &[
    ("all", |_| {}),
    ("no meaning", |weights| {
        weights.fusion.cosine = 0.0;
        weights.fusion.thin = 0.0;
    }),
    ("no words", |weights| weights.fusion.coverage = 0.0),
    ("no names", |weights| weights.fusion.names = 0.0),
    ("no crowd, no unknown", |weights| {
        weights.fusion.crowd = 0.0;
        weights.fusion.unknown = 0.0;
    }),
    ("beginning as the rest", |weights| weights.fields[0] = weights.fields[3]),
];

fn retrieval(of: &EvalSet, cx: &CommandCx) -> CommandResult {
    let data = Data::read(&cx.cwd.join(&of.dir))?;
    let scratch = tempfile::tempdir()?;
    let pools = data.load(scratch.path(), cx.now)?;
    let mut rows = Vec::new();
    for (name, change) in VARIANTS {
        let mut weights = WEIGHTS;
        change(&mut weights);
        rows.push(data.row(name, &pools, &weights, With::TextAlone, of.boot, cx.now));
        if *name == "all" && data.has_files() {
            rows.push(data.row("all, with a file", &pools, &weights, With::File, of.boot, cx.now));
        }
    }
    show(
        of.format,
        || json!({"v": 1, "queries": data.queries.len(), "rows": rows}),
        || {
            output::line(format!("{} queries, {} texts", data.queries.len(), data.texts));
            rows.iter().for_each(tell_row);
        },
    )
}

/// The parts of a question that the search gets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum With {
    TextAlone,
    File,
}

struct Data {
    corpus: Vec<Vec<u8>>,
    texts: usize,
    queries: Vec<EvalQuery>,
    negatives: Vec<EvalQuery>,
    key: HashMap<String, HashSet<String>>,
}

struct EvalQuery {
    id: String,
    pool: Option<String>,
    text: String,
    file: Option<String>,
}

impl Data {
    fn read(dir: &Path) -> Result<Data, Failure> {
        let corpus: Vec<Vec<u8>> =
            lines(&dir.join("corpus.jsonl"))?.into_iter().map(String::into_bytes).collect();
        let key = values(&dir.join("qrels.jsonl"))?
            .iter()
            .map(|row| {
                let ids = row["ids"].as_array().into_iter().flatten().filter_map(Value::as_str);
                (string(row, "query_id"), ids.map(str::to_owned).collect())
            })
            .collect();
        let negatives = dir.join("negatives.jsonl");
        Ok(Data {
            texts: corpus.len(),
            corpus,
            queries: asked(&dir.join("queries.jsonl"))?,
            negatives: if negatives.exists() { asked(&negatives)? } else { Vec::new() },
            key,
        })
    }

    fn has_files(&self) -> bool {
        self.queries.iter().any(|asked| asked.file.is_some())
    }

    fn load(&self, dir: &Path, now: Timestamp) -> Result<HashMap<Option<String>, Memory>, Failure> {
        let mut loader = Loader::new(dir, &RealDisk, now);
        loader.load_lines(&self.corpus)?;
        loader.finish()?;
        let names = self.queries.iter().chain(&self.negatives).map(|asked| asked.pool.clone());
        let names: HashSet<Option<String>> = names.collect();
        let mut found = HashMap::new();
        for name in names {
            let library = IndexReader::open(&pools::store(dir, name.as_deref()), &[], TailRead::All)?;
            found.insert(name, Memory::from_libraries(vec![(library, LearningOwner::Project)]));
        }
        Ok(found)
    }

    fn row(
        &self,
        name: &str,
        pools: &HashMap<Option<String>, Memory>,
        weights: &RankWeights,
        with: With,
        boot: usize,
        now: Timestamp,
    ) -> Value {
        let ask = |asked: &EvalQuery| {
            let question = IndexQuery {
                text: asked.text.clone(),
                files: asked.file.iter().filter(|_| with == With::File).cloned().collect(),
                limit: 10,
                ..IndexQuery::default()
            };
            let widths = Widths { recency: 1.0, usage: 1.0 };
            pools
                .get(&asked.pool)
                .map(|memory| memory.ask_by(&question, DocumentFilter::InUse, widths, weights, now))
        };
        let mut ranks: Vec<Rank> = Vec::new();
        let mut answered = Vec::new();
        for asked in &self.queries {
            let hits = ask(asked).unwrap_or_default();
            let ids: Vec<String> = hits.iter().map(|hit| hit.id.clone()).collect();
            let key = self.key.get(&asked.id).cloned().unwrap_or_default();
            ranks.extend(Rank::measure(&ids, &key));
            answered.push(f64::from(u8::from(hits.first().is_some_and(|hit| hit.probability >= FLOOR))));
        }
        let of_ranks = |of: fn(&Rank) -> f64| figure(&ranks.iter().map(of).collect::<Vec<f64>>(), boot);
        let mut row = json!({
            "name": name,
            "recall_5": of_ranks(|rank| rank.recall_5),
            "recall_10": of_ranks(|rank| rank.recall_10),
            "mrr": of_ranks(|rank| rank.reciprocal),
            "ndcg_10": of_ranks(|rank| rank.ndcg_10),
            "answered": mean(&answered),
        });
        if !self.negatives.is_empty() {
            let silent = self.negatives.iter().map(|asked| {
                let hits = ask(asked).unwrap_or_default();
                f64::from(u8::from(!hits.first().is_some_and(|hit| hit.probability >= FLOOR)))
            });
            row["abstained"] = figure(&silent.collect::<Vec<f64>>(), boot);
        }
        row
    }
}

fn figure(values: &[f64], boot: usize) -> Value {
    let (low, high) = interval(values, boot);
    json!({"value": mean(values), "low": low, "high": high})
}

fn tell_row(row: &Value) {
    let name = row["name"].as_str().unwrap_or_default();
    let mut line = format!("{name:22}");
    let figures = [
        ("R@5", "recall_5"),
        ("R@10", "recall_10"),
        ("MRR", "mrr"),
        ("nDCG@10", "ndcg_10"),
        ("silent", "abstained"),
    ];
    for (label, key) in figures {
        if let Some(value) = row[key]["value"].as_f64() {
            let bound = |end: &str| row[key][end].as_f64().unwrap_or_default();
            line.push_str(&format!("  {label} {value:.3} [{:.3} {:.3}]", bound("low"), bound("high")));
        }
    }
    line.push_str(&format!("  answered {:.3}", row["answered"].as_f64().unwrap_or_default()));
    output::line(line);
}

fn duplicates(of: &EvalSet, cx: &CommandCx) -> CommandResult {
    let dir = cx.cwd.join(&of.dir);
    let table = table::built_in();
    let mut rows = Vec::new();
    for path in sprag_host::store::files_with_ending(&dir, "jsonl") {
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let (mut pairs, mut rejected) = (Vec::new(), 0);
        for row in values(&path)? {
            let Some(is_same) = row["dup"].as_bool() else { continue };
            let found = dedup::similar(&string(&row, "a"), &string(&row, "b"), &table);
            rejected += usize::from(!is_same && found.verdict == dedup::Duplication::Reject);
            pairs.push((f64::from(found.score), is_same));
        }
        let (precision, recall) = at_threshold(&pairs, f64::from(dedup::REJECT));
        let mut row = json!({
            "name": name, "pairs": pairs.len(), "wrongly_rejected": rejected,
            "reject": {"precision": precision, "recall": recall},
        });
        if let Some(found) = Separation::measure(pairs) {
            row["auc"] = json!(found.auc);
            row["recall_at_90"] = json!(found.recall_at_90);
            row["recall_at_95"] = json!(found.recall_at_95);
        }
        rows.push(row);
    }
    if rows.is_empty() {
        return Err(Failure::no_data(&dir));
    }
    show(of.format, || json!({"v": 1, "rows": rows}), || rows.iter().for_each(tell_pairs))
}

fn tell_pairs(row: &Value) {
    let of = |key: &str| row[key].as_f64().map_or("-".to_owned(), |value| format!("{value:.3}"));
    output::line(format!(
        "{:12}  {} pairs  AUC {}  recall at precision .90 {}, .95 {}  wrongly rejected {}",
        row["name"].as_str().unwrap_or_default(),
        row["pairs"],
        of("auc"),
        of("recall_at_90"),
        of("recall_at_95"),
        row["wrongly_rejected"],
    ));
}

fn lines(path: &Path) -> Result<Vec<String>, Failure> {
    let text = fs::read_to_string(path).map_err(|_| Failure::no_data(path))?;
    Ok(text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect())
}

fn values(path: &Path) -> Result<Vec<Value>, Failure> {
    lines(path)?.iter().map(|line| serde_json::from_str(line).map_err(|_| Failure::no_data(path))).collect()
}

fn asked(path: &Path) -> Result<Vec<EvalQuery>, Failure> {
    let text = |row: &Value, name: &str| row[name].as_str().map(str::to_owned);
    Ok(values(path)?
        .iter()
        .map(|row| EvalQuery {
            id: string(row, "query_id"),
            pool: text(row, "pool"),
            text: string(row, "text"),
            file: text(row, "file"),
        })
        .collect())
}

fn string(row: &Value, name: &str) -> String {
    row[name].as_str().unwrap_or_default().to_owned()
}
