//! Loading and searching as programs do: in order, with any content in a line, killed at any moment, many at
//! once.

mod imports;
pub(crate) mod learnings;
mod lessons;
mod mcp;
mod recall;
mod upkeep;
mod write_gate;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use sprag_base::record::Record;
use sprag_base::result::Discard as _;
use sprag_base::time::Timestamp;
use sprag_host::memory::index::maintain::{IndexWork, renew};
use sprag_host::memory::index::{DocumentFilter, IndexReader, TailRead, manifest};
use sprag_host::store::{Store, new_record};
use sprag_host::sys::disk::RealDisk;
use sprag_memory::index::analysis::table;
use sprag_memory::index::query::{self, IndexQuery, WEIGHTS};

use crate::store::killed::{Dying, Torn};
use crate::support::{SPRAG, Sandbox};

fn lines(values: &[Value]) -> Vec<u8> {
    values.iter().flat_map(|value| format!("{value}\n").into_bytes()).collect()
}

fn answers(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn texts_are_loaded_searched_and_replaced() {
    let sandbox = Sandbox::without_git();
    let load = ["memory", "load", "--store", "texts", "--jsonl"];
    let search = ["search", "--store", "texts", "--jsonl", "--all"];
    let texts = lines(&[
        json!({"id": "a", "text": "The linker runs out of memory when LTO is on"}),
        json!({"id": "b", "summary": "Retry the upload", "detail": "S3 answers 503 under load", "tags": ["aws"], "files": ["src/up.rs"]}),
        json!({"id": "c", "pool": "../other", "text": "linker scripts of another pool"}),
    ]);
    let ran = sandbox.run_with(&load, &texts);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "{\"bad\":0,\"loaded\":3}\n"), "{}", ran.stderr);
    let questions = lines(&[
        json!({"query_id": 1, "text": "linker memory"}),
        json!({"query_id": 2, "text": "uploads", "file": "src/up.rs"}),
        json!({"query_id": 3, "text": "linker", "pool": "../other"}),
        json!({"query_id": 4, "text": "linker", "pool": "nobody"}),
    ]);
    let told = answers(&sandbox.run_with(&search, &questions).stdout);
    let first: Vec<(u64, &str)> = told
        .iter()
        .map(|answer| (answer["query_id"].as_u64().unwrap(), answer["ids"][0].as_str().unwrap_or("")))
        .collect();
    assert_eq!(first, [(1, "a"), (2, "b"), (3, "c"), (4, "")]);
    assert!(told[1]["hits"][0]["why"].as_str().unwrap().contains("files"), "{}", told[1]);

    sandbox.run_with(&load, &lines(&[json!({"id": "a", "text": "Pin the compiler"})]));
    let told = answers(&sandbox.run_with(&search, &questions).stdout);
    assert_eq!(
        told[0]["hits"][0]["why"].as_str().unwrap().split(',').next(),
        Some("words 0.00"),
        "{}",
        told[0]
    );
}

#[test]
fn a_bad_line_is_told_and_the_rest_goes_on() {
    let sandbox = Sandbox::without_git();
    let texts = b"{\"id\":\"a\",\"text\":\"one\"}\nnonsense\n\n{\"id\":\"x\",\"text\":5}\n{\"id\":\"b\",\"text\":\"two\"}\n";
    let ran = sandbox.run_with(&["memory", "load", "--store", "t", "--jsonl"], texts);
    assert_eq!(ran.code, 3);
    let told = answers(&ran.stdout);
    assert_eq!(told[1], json!({"error": "`text` is not a string", "id": "x"}));
    assert_eq!(told[2], json!({"loaded": 2, "bad": 2}));
    let questions = b"{\"query_id\":\"q\",\"text\":\"two\"}\n[]\n{\"query_id\":7}\n{\"query_id\":\"r\",\"text\":\"one\",\"limit\":1}";
    let ran = sandbox.run_with(&["search", "--store", "t", "--jsonl", "--all"], questions);
    assert_eq!(ran.code, 3);
    let told = answers(&ran.stdout);
    assert_eq!(told[0]["ids"][0], "b");
    assert_eq!(told[1], json!({"error": "not an object"}));
    assert_eq!(told[2], json!({"error": "`text` is missing", "query_id": 7}));
    assert_eq!(told[3]["ids"], json!(["a"]));
}

#[test]
fn a_person_is_told_what_is_known_and_when_nothing_is() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["search", "linker"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    let ran = sandbox.run(&["search", "linker", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap(), json!({"v": 1, "hits": []}));
    let ran = sandbox.run(&["search", "linker", "--category", "nonsense"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("unknown category `nonsense`"), "{}", ran.stderr);
}

fn loaded(id: &str, text: &str, second: i64) -> Record {
    let at = Timestamp::from_millis(1_794_733_261_000 + second * 1000);
    new_record::from_parts("document.loaded", at, None, None, json!({"id": id, "detail": text}))
}

/// Returns ids and texts of all results.
fn everything(store: &Store) -> Vec<(String, String)> {
    let library = IndexReader::open(store, &[], TailRead::All).unwrap();
    let corpus = library.corpus(DocumentFilter::InUse);
    let question = IndexQuery { text: "parser".to_owned(), limit: 1000, ..IndexQuery::default() };
    let hits = query::search(&corpus, &question, &table::built_in(), &WEIGHTS);
    hits.iter().map(|hit| (hit.card.id.as_str().to_owned(), hit.card.summary.to_owned())).collect()
}

fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        if entry.path().is_dir() {
            copied(&entry.path(), &to.join(entry.file_name()))
        } else {
            fs::copy(entry.path(), to.join(entry.file_name())).map(|_| ()).unwrap()
        }
    }
}

/// Returns the records to append and index, turn by turn; the first turn ends with a merge.
fn turns() -> Vec<Vec<Record>> {
    let about = |kind: &str, id: &str| {
        let at = Timestamp::from_millis(1_794_733_299_000);
        new_record::from_parts(kind, at, None, None, json!({"ids": [id]}))
    };
    vec![
        vec![loaded("new", "a parser that is new", 20)],
        vec![loaded("doc-1", "a parser said otherwise", 21), about("learning.archived", "doc-2")],
    ]
}

#[test]
fn killed_at_every_write_the_index_is_the_old_one_or_the_new_one() {
    let temp = tempfile::tempdir().unwrap();
    let start = Store::at(temp.path().join("start"));
    for turn in 0..8i64 {
        start.log(&RealDisk, &[loaded(&format!("doc-{turn}"), &format!("parser {turn}"), turn)]).unwrap();
        renew(&start, &RealDisk, &[], IndexWork::Hook).unwrap().unwrap();
    }
    assert_eq!(manifest::read(&start).unwrap().segments.len(), 8);
    let play = |name: &str, disk: &Dying| {
        let store = Store::at(temp.path().join(name));
        copied(&start.dir, &store.dir);
        for records in turns() {
            if store.log(disk, &records).is_err() {
                store.log(&RealDisk, &records).unwrap();
            }
            let before = everything(&store);
            renew(&store, disk, &[], IndexWork::Hook).discard("a failing index is the point of the test");
            assert_eq!(everything(&store), before, "{name}: an index changes no answer");
        }
        store
    };
    let whole = Dying::at(usize::MAX, Torn::Nothing);
    let wanted = everything(&play("whole", &whole));
    assert!(manifest::read(&Store::at(temp.path().join("whole"))).unwrap().segments.len() < 8);
    assert_eq!(wanted.len(), 8, "{wanted:?}");
    let operations = usize::MAX - whole.left();
    assert!(operations > 20, "{operations}");
    for at in 0..operations {
        for torn in [Torn::Nothing, Torn::Half, Torn::All] {
            let name = format!("{at}-{torn:?}");
            let store = play(&name, &Dying::at(at, torn));
            assert_eq!(everything(&store), wanted, "{name}");
            renew(&store, &RealDisk, &[], IndexWork::Hook).unwrap().unwrap();
            assert_eq!(everything(&store), wanted, "{name}, made whole again");
            fs::remove_dir_all(store.cache_dir()).unwrap();
            assert_eq!(everything(&store), wanted, "{name}, without an index");
            fs::remove_dir_all(&store.dir).unwrap();
        }
    }
}

/// Returns the number of rounds of eight parallel processes. `SPRAG_ROUNDS=200 cargo test -p sprag --test it
/// memory::` takes about a minute.
fn rounds() -> usize {
    std::env::var("SPRAG_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(3)
}

#[test]
fn eight_at_once_lose_nothing() {
    let sandbox = Sandbox::without_git();
    let start = |args: &[&str], stdin: &[u8]| -> Child {
        let file = sandbox.home.join(format!("in-{:x}", sprag_host::sys::disk::random().unwrap()));
        fs::write(&file, stdin).unwrap();
        let stdin = fs::File::open(&file).unwrap();
        sandbox
            .command(SPRAG)
            .args(args)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let mut wanted = BTreeSet::new();
    for round in 0..rounds() {
        let mut children = Vec::new();
        for process in 0..8 {
            let ids: Vec<String> = (0..40).map(|at| format!("{round}-{process}-{at}")).collect();
            let texts: Vec<Value> =
                ids.iter().map(|id| json!({"id": id, "text": format!("parser text {id}")})).collect();
            children.push(match process % 2 {
                0 => {
                    wanted.extend(ids);
                    start(&["memory", "load", "--store", "t", "--jsonl"], &lines(&texts))
                }
                _ => {
                    let question = json!({"query_id": 1, "text": "parser", "limit": 5});
                    start(&["search", "--store", "t", "--jsonl", "--all"], &lines(&vec![question; 5]))
                }
            });
        }
        for child in children {
            let output = child.wait_with_output().unwrap();
            let (told, fault) =
                (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(output.status.success(), "{told}{fault}");
            assert_eq!(fault, "");
        }
    }
    let store = Store::at(sandbox.project.join("t"));
    let found = |store: &Store| -> BTreeSet<String> {
        let library = IndexReader::open(store, &[], TailRead::All).unwrap();
        library.by_prefix("").iter().map(|(_, card)| card.id.as_str().to_owned()).collect()
    };
    assert_eq!(found(&store), wanted);
    let ranked = everything(&store);
    fs::remove_dir_all(store.cache_dir()).unwrap();
    assert_eq!(everything(&store), ranked, "the same as a fresh index");
}

#[test]
fn as_many_are_found_as_are_asked_for() {
    let sandbox = Sandbox::without_git();
    let texts: Vec<Value> = (0..900)
        .map(|at| json!({"id": format!("t{at}"), "text": format!("the linker of tenant {at} runs out of memory")}))
        .collect();
    sandbox.run_with(&["memory", "load", "--store", "texts", "--jsonl"], &lines(&texts));
    for limit in [700, 100_000] {
        let found = sandbox.json(&[
            "search",
            "linker",
            "--all",
            "--json",
            "--limit",
            &limit.to_string(),
            "--store",
            "texts",
        ]);
        assert_eq!(found["hits"].as_array().unwrap().len(), limit.min(900));
    }
}
