//! The index agrees with its sources after any change to either.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use sprag_base::record::{self, Record};
use sprag_base::time::Timestamp;
use sprag_memory::index::analysis::table;
use sprag_memory::index::query::{self, IndexQuery, WEIGHTS};

use super::maintain::{IndexWork, renew};
use super::{DocumentFilter, IndexReader, TailRead, manifest};
use crate::store::{Store, new_record};
use crate::sys::disk::RealDisk;

fn loaded(id: &str, text: &str, second: i64) -> Record {
    let at = Timestamp::from_millis(1_794_733_261_000 + second * 1000);
    new_record::from_parts("document.loaded", at, None, None, json!({"id": id, "detail": text}))
}

fn about(kind: &str, id: &str, second: i64) -> Record {
    let at = Timestamp::from_millis(1_794_733_261_000 + second * 1000);
    new_record::from_parts(kind, at, None, None, json!({"ids": [id]}))
}

struct Place {
    _temp: tempfile::TempDir,
    store: Store,
    share: PathBuf,
}

impl Place {
    fn new() -> Place {
        let temp = tempfile::tempdir().unwrap();
        let store = Store::at(temp.path().join("store"));
        let share = temp.path().join("share.jsonl");
        Place { _temp: temp, store, share }
    }

    fn log(&self, records: &[Record]) {
        self.store.log(&RealDisk, records).unwrap();
    }

    fn share(&self, records: &[Record]) {
        fs::write(&self.share, record::lines(records)).unwrap();
    }

    fn renew(&self, work: IndexWork) {
        renew(&self.store, &RealDisk, std::slice::from_ref(&self.share), work).unwrap().unwrap();
    }

    fn library(&self) -> IndexReader {
        IndexReader::open(&self.store, std::slice::from_ref(&self.share), TailRead::All).unwrap()
    }

    /// Ids and texts that are found, by id.
    fn found(&self, text: &str) -> Vec<String> {
        let library = self.library();
        let corpus = library.corpus(DocumentFilter::InUse);
        let question = IndexQuery { text: text.to_owned(), limit: 100, ..IndexQuery::default() };
        let hits = query::search(&corpus, &question, &table::built_in(), &WEIGHTS);
        let mut found: Vec<String> = hits
            .iter()
            .filter(|hit| hit.signals.coverage > 0.0)
            .map(|hit| format!("{}: {}", hit.card.id.as_str(), hit.card.summary))
            .collect();
        found.sort();
        found
    }
}

#[test]
fn an_answer_is_as_new_as_the_log_with_and_without_an_index() {
    let place = Place::new();
    place.log(&[loaded("a", "the parser waits", 1), loaded("b", "the parser hurries", 2)]);
    let steps: &[&dyn Fn(&Place)] =
        &[&|_| {}, &|place| place.renew(IndexWork::Hook), &|place| place.renew(IndexWork::Rebuild)];
    for step in steps {
        step(&place);
        assert_eq!(place.found("parser"), ["a: the parser waits", "b: the parser hurries"]);
    }
    place.log(&[loaded("a", "the parser sleeps", 3), about("learning.archived", "b", 4)]);
    for step in steps {
        step(&place);
        assert_eq!(place.found("parser"), ["a: the parser sleeps"]);
    }
    place.log(&[about("learning.restored", "b", 5)]);
    for step in steps {
        step(&place);
        assert_eq!(place.found("parser"), ["a: the parser sleeps", "b: the parser hurries"]);
    }
    let library = place.library();
    let (_, card) = library.by_prefix("a").remove(0);
    assert_eq!(library.record(&card).unwrap().body["detail"], "the parser sleeps");
}

#[test]
fn what_is_said_before_its_text_comes_is_not_forgotten() {
    let place = Place::new();
    place.log(&[about("learning.archived", "late", 1)]);
    place.renew(IndexWork::Hook);
    place.log(&[loaded("late", "the parser waits", 2)]);
    assert_eq!(place.found("parser"), [""; 0]);
    place.renew(IndexWork::Hook);
    assert_eq!(place.found("parser"), [""; 0]);
}

#[test]
fn a_shared_file_may_become_another_at_any_time() {
    let place = Place::new();
    place.log(&[loaded("own", "the parser of ours", 1)]);
    place.share(&[loaded("x", "the parser of theirs", 1), loaded("y", "a parser", 2)]);
    place.renew(IndexWork::Hook);
    assert_eq!(place.found("parser").len(), 3);
    // Git restores an older state, then writes a longer one, then removes the file.
    place.share(&[loaded("z", "the parser of others, quite another content", 1)]);
    assert_eq!(
        place.found("parser"),
        ["own: the parser of ours", "z: the parser of others, quite another content"]
    );
    place.renew(IndexWork::Hook);
    assert_eq!(place.found("parser").len(), 2);
    // When a shared text that replaced a local one disappears, the local one returns.
    place.share(&[loaded("own", "the parser of ours, corrected by them", 9)]);
    assert_eq!(place.found("parser"), ["own: the parser of ours, corrected by them"]);
    place.renew(IndexWork::Hook);
    assert_eq!(place.found("parser"), ["own: the parser of ours, corrected by them"]);
    fs::remove_file(&place.share).unwrap();
    assert!(place.library().behind.is_broken);
    place.renew(IndexWork::Hook);
    assert_eq!(place.found("parser"), ["own: the parser of ours"]);
    let library = IndexReader::open(&place.store, &[], TailRead::All).unwrap();
    assert_eq!(
        library.corpus(DocumentFilter::InUse).shelves.iter().filter(|shelf| shelf.open.has(0)).count(),
        1
    );
}

#[test]
fn an_index_that_is_not_whole_counts_for_nothing() {
    let place = Place::new();
    place.log(&[loaded("a", "the parser waits", 1)]);
    place.renew(IndexWork::Hook);
    let cache = place.store.cache_dir();
    let files: Vec<PathBuf> = fs::read_dir(&cache).unwrap().flatten().map(|entry| entry.path()).collect();
    assert_eq!(files.len(), 3, "{files:?}");
    for path in files {
        let whole = fs::read(&path).unwrap();
        for damaged in [&b""[..], b"nonsense", &whole[..whole.len() / 2]] {
            fs::remove_file(&path).unwrap();
            fs::write(&path, damaged).unwrap();
            assert_eq!(place.found("parser"), ["a: the parser waits"], "{}", path.display());
        }
        fs::remove_file(&path).unwrap();
        assert_eq!(place.found("parser"), ["a: the parser waits"], "{}", path.display());
        fs::write(&path, whole).unwrap();
    }
    fs::remove_dir_all(&cache).unwrap();
    assert_eq!(place.found("parser"), ["a: the parser waits"]);
}

#[test]
fn many_small_segments_become_few_and_the_same_as_a_rebuild() {
    let place = Place::new();
    for turn in 0..10i64 {
        let other =
            new_record::from_parts("noted", Timestamp::from_millis(0), None, None, json!({"x": "parser"}));
        place.log(&[
            loaded(&format!("doc-{turn}"), &format!("parser number {turn}"), turn),
            other,
            loaded("same", &format!("the last parser is {turn}"), turn),
        ]);
        place.renew(IndexWork::Hook);
        assert!(manifest::read(&place.store).unwrap().segments.len() <= 8);
    }
    let found = place.found("parser");
    assert_eq!(found.len(), 11);
    assert_eq!(found[10], "same: the last parser is 9");
    place.renew(IndexWork::Rebuild);
    assert_eq!(manifest::read(&place.store).unwrap().segments.len(), 1);
    assert_eq!(place.found("parser"), found);
}

#[test]
fn half_a_line_waits_for_its_other_half() {
    let place = Place::new();
    place.log(&[loaded("a", "the parser waits", 1)]);
    let line = loaded("b", "the parser hurries", 2).line();
    let path = place.store.log_files().remove(0);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend(&line[..line.len() / 2]);
    fs::write(&path, &bytes).unwrap();
    place.renew(IndexWork::Hook);
    assert_eq!(place.found("parser"), ["a: the parser waits"]);
    bytes.extend(&line[line.len() / 2..]);
    fs::write(&path, &bytes).unwrap();
    assert_eq!(place.found("parser"), ["a: the parser waits", "b: the parser hurries"]);
}
