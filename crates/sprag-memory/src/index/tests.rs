//! Laws of the index: the storage position changes no answer, a merge equals a build, and damaged bytes are
//! refused or read within bounds.

use proptest::prelude::*;

use sprag_base::time::Timestamp;

use crate::document::{Document, DocumentLabel};
use crate::index::analysis::table::built_in;
use crate::index::query::{Corpus, Filter, IndexHit, IndexQuery, SegmentShelf, WEIGHTS, search};
use crate::index::segment::build::{DocumentDraft, build};
use crate::index::segment::merge::merge;
use crate::index::segment::{DocumentOrigin, Segment};
use crate::learning::{Category, LearningKind, LearningReaders, LearningScope};

const WORDS: [&str; 24] = [
    "parser",
    "lock",
    "retry",
    "cargo",
    "deadline",
    "stage",
    "merge",
    "retry_budget",
    "flaky",
    "http",
    "cache",
    "token",
    "schema",
    "index",
    "journal",
    "hook",
    "release",
    "build",
    "wait_for",
    "timeout",
    "linker",
    "config",
    "branch",
    "test",
];

fn words(count: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    proptest::collection::vec(prop::sample::select(&WORDS[..]), count).prop_map(|words| words.join(" "))
}

/// Fields: summary, detail, tags, when, files, label, day.
type Drawn = (String, String, String, String, Vec<&'static str>, usize, i64);

fn drafts(most: usize) -> impl Strategy<Value = Vec<DocumentDraft>> {
    let file = prop::sample::select(&["src/a.rs", "src/b.rs", "src/deep/c.rs", "README.md", "docs/x.md"][..]);
    let one = (
        words(1..6),
        words(0..30),
        words(0..3),
        words(0..4),
        proptest::collection::vec(file, 0..3),
        0..4usize,
        0i64..5,
    );
    proptest::collection::vec(one, 0..most).prop_map(|all| {
        let draft = |(at, one): (usize, Drawn)| {
            let (summary, detail, tags, when, files, label, day) = one;
            let id = match at % 3 {
                0 => format!("0192f0c1-7e4b-7000-8000-{at:012x}"),
                1 => format!("doc-{at}"),
                _ => format!("{at}-ü"),
            };
            let label = (label > 0).then(|| DocumentLabel {
                category: Category::ALL[label],
                scope: LearningScope::ALL[label],
                kind: LearningKind::Fact,
                readers: LearningReaders::Project,
            });
            let at_time = Timestamp::from_millis(1_794_733_261_000 + day * 86_400_000);
            DocumentDraft {
                document: Document {
                    id,
                    summary,
                    detail,
                    when,
                    when_not: if day == 1 { "never on Sundays".to_owned() } else { String::new() },
                    tags: tags.split_whitespace().map(str::to_owned).collect(),
                    files: files.into_iter().map(str::to_owned).collect(),
                    at: at_time,
                    label,
                },
                origin: DocumentOrigin {
                    source: (at % 2) as u16,
                    offset: at as u64 * 100,
                    length: 99,
                    version: at_time,
                },
            }
        };
        all.into_iter().enumerate().map(draft).collect()
    })
}

fn question() -> impl Strategy<Value = IndexQuery> {
    let file = prop::sample::select(&["src/a.rs", "src/z.rs", "README.md"][..]);
    (words(0..6), proptest::collection::vec(file, 0..2), any::<bool>(), 1..20usize).prop_map(
        |(text, files, by_tag, limit)| IndexQuery {
            text,
            files: files.into_iter().map(str::to_owned).collect(),
            tags: Vec::new(),
            filter: Filter { tag: by_tag.then(|| "retry".to_owned()), ..Filter::default() },
            limit,
        },
    )
}

fn corpus(segments: &[Vec<u8>]) -> Corpus<'_> {
    Corpus {
        shelves: segments.iter().map(|bytes| SegmentShelf::new(Segment::open(bytes).unwrap())).collect(),
    }
}

fn told(hits: &[IndexHit<'_>]) -> Vec<(String, String)> {
    hits.iter()
        .map(|hit| (hit.card.id.as_str().to_owned(), format!("{:?} {}", hit.signals, hit.probability)))
        .collect()
}

fn split(drafts: &[DocumentDraft], pieces: usize) -> Vec<Vec<u8>> {
    let mut parts: Vec<Vec<DocumentDraft>> = vec![Vec::new(); pieces];
    for (at, draft) in drafts.iter().enumerate() {
        parts[at * 7 % pieces].push(draft.clone());
    }
    parts.into_iter().map(|part| build(part, &built_in())).collect()
}

/// A small number of candidates, so that the choice matters.
const FEW: crate::index::query::RankWeights =
    crate::index::query::RankWeights { candidates: 5, postings: 20, ..WEIGHTS };

proptest! {
    #[test]
    fn where_a_document_is_stored_changes_no_answer(drafts in drafts(60), question in question(), pieces in 2..6usize) {
        let whole = [build(drafts.clone(), &built_in())];
        let parts = split(&drafts, pieces);
        for weights in [WEIGHTS, FEW] {
            let one = search(&corpus(&whole), &question, &built_in(), &weights);
            let many = search(&corpus(&parts), &question, &built_in(), &weights);
            prop_assert_eq!(told(&one), told(&many));
        }
    }

    #[test]
    fn a_merge_is_a_build(drafts in drafts(60), pieces in 1..6usize, again in proptest::collection::vec(any::<prop::sample::Index>(), 0..4)) {
        let mut drafts = drafts;
        // Some documents get a later text.
        let again = if drafts.is_empty() { Vec::new() } else { again };
        for (at, index) in again.into_iter().enumerate() {
            let mut later = drafts[index.index(drafts.len())].clone();
            later.document.detail = "something else".to_owned();
            later.origin.offset = 1_000_000 + at as u64;
            later.origin.version = later.origin.version.plus_seconds(at as i64);
            drafts.push(later);
        }
        let parts = split(&drafts, pieces);
        let segments: Vec<Segment<'_>> = parts.iter().map(|bytes| Segment::open(bytes).unwrap()).collect();
        let merged = merge(&segments, built_in().id());
        prop_assert!(merged == build(drafts.clone(), &built_in()));
        let segment = Segment::open(&merged).unwrap();
        prop_assert!(segment.is_whole());
        for draft in &drafts {
            let doc = segment.by_id(&draft.document.id).unwrap();
            let card = segment.card(doc).unwrap();
            prop_assert_eq!(card.id.as_str(), draft.document.id.as_str());
        }
        prop_assert_eq!(segment.by_prefix("doc-").count(), (0..segment.count()).filter(|&doc| segment.id(doc).unwrap().as_str().starts_with("doc-")).count());
    }

    #[test]
    fn damaged_bytes_never_end_the_program(drafts in drafts(20), question in question(), changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40), end in any::<prop::sample::Index>()) {
        let mut bytes = build(drafts, &built_in());
        let head = crate::index::segment::HEAD;
        for (at, byte) in changes {
            // The header has a checksum; the rest is read unchecked.
            let at = head + at.index(bytes.len() - head + 1);
            if at < bytes.len() { bytes[at] = byte; }
        }
        let cut = end.index(bytes.len() * 4 + 1);
        if cut < bytes.len() { bytes.truncate(cut); }
        if let Ok(segment) = Segment::open(&bytes) {
            let _hits = search(&Corpus { shelves: vec![SegmentShelf::new(segment.clone())] }, &question, &built_in(), &WEIGHTS);
            let _bytes = merge(&[segment.clone(), segment.clone()], built_in().id());
            let _doc = (segment.by_id("doc-1"), segment.by_prefix("d").count());
        }
    }

    #[test]
    fn a_damaged_head_is_refused(drafts in drafts(5), at in 0..crate::index::segment::HEAD, byte in any::<u8>()) {
        let mut bytes = build(drafts, &built_in());
        prop_assume!(bytes[at] != byte);
        bytes[at] = byte;
        prop_assert!(Segment::open(&bytes).is_err());
    }
}

#[test]
fn the_latest_text_of_an_id_counts_wherever_it_is() {
    let draft = |detail: &str, version: i64| DocumentDraft {
        document: Document {
            id: "same".to_owned(),
            summary: "the parser waits".to_owned(),
            detail: detail.to_owned(),
            ..Document::default()
        },
        origin: DocumentOrigin {
            version: Timestamp::from_millis(version),
            offset: version as u64,
            ..DocumentOrigin::default()
        },
    };
    let parts =
        [build(vec![draft("new words", 2)], &built_in()), build(vec![draft("old words", 1)], &built_in())];
    let question = IndexQuery { text: "parser old".to_owned(), limit: 5, ..IndexQuery::default() };
    let corpus = corpus(&parts);
    let hits = search(&corpus, &question, &built_in(), &WEIGHTS);
    assert_eq!(hits.iter().map(|hit| hit.shelf).collect::<Vec<_>>(), [0]);
}
