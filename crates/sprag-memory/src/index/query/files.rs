//! The signal of shared files: a document names the same file or one in the same directory. A file that many
//! documents name counts little.

use super::{Corpus, RankWeights, chosen_places};
use crate::index::query::lexical::idf;
use crate::index::segment::bits::Bits;
use crate::index::segment::build;

/// The files of a query.
pub(crate) struct FileTerms {
    asked: Vec<FileTerm>,
}

struct FileTerm {
    /// The weight of the same file, and of a file in the same directory.
    same: f32,
    beside: f32,
    /// Sorted documents for each segment.
    has_file: Vec<Vec<u32>>,
    has_directory: Vec<Vec<u32>>,
}

/// The limit on files of one query.
const MOST: usize = 32;
/// The limit on files of a directory; 20 times as many documents end the search.
const DIRECTORY: usize = 10_000;

impl FileTerms {
    pub(super) fn new(corpus: &Corpus<'_>, files: &[String], weights: &RankWeights) -> FileTerms {
        let count: u64 = corpus.shelves.iter().map(|shelf| u64::from(shelf.segment.count())).sum();
        // The rarest possible file has weight 1.
        let most = idf(count, 1).max(f32::MIN_POSITIVE);
        let worth = |docs: &[Vec<u32>]| {
            let docs: usize = docs.iter().map(Vec::len).sum();
            (idf(count, docs.max(1) as u64) / most).min(1.0)
        };
        let asked = files.iter().take(MOST).map(|file| {
            let has_file: Vec<_> = corpus.shelves.iter().map(|shelf| of_file(&shelf.segment, file)).collect();
            let has_directory: Vec<_> =
                corpus.shelves.iter().map(|shelf| of_directory(&shelf.segment, file)).collect();
            let (same, beside) = (worth(&has_file), weights.same_directory * worth(&has_directory));
            FileTerm { same, beside, has_file, has_directory }
        });
        FileTerms { asked: asked.collect() }
    }

    /// Returns the combined signal. More matching files raise it, at most to 1.
    pub(super) fn signal(&self, shelf: usize, doc: u32) -> f32 {
        let mut none = 1.0;
        for asked in &self.asked {
            let has = |docs: &[Vec<u32>]| docs[shelf].binary_search(&doc).is_ok();
            let one = match (has(&asked.has_file), has(&asked.has_directory)) {
                (true, _) => asked.same.max(asked.beside),
                (false, true) => asked.beside,
                (false, false) => 0.0,
            };
            none *= 1.0 - one;
        }
        1.0 - none
    }

    /// Returns documents of the files, and of their directories if those are few.
    pub(super) fn candidates(
        &self,
        corpus: &Corpus<'_>,
        filtered: &[Bits],
        most: usize,
    ) -> Vec<(usize, u32)> {
        let places = |docs: &[Vec<u32>]| -> Vec<(usize, u32)> {
            let of_shelf = docs.iter().enumerate();
            of_shelf
                .flat_map(|(shelf, docs)| docs.iter().map(move |&doc| (shelf, doc)))
                .filter(|&(shelf, doc)| filtered[shelf].has(doc))
                .collect()
        };
        let mut candidates = Vec::new();
        for asked in &self.asked {
            candidates.extend(chosen_places(corpus, places(&asked.has_file), most));
            let beside = places(&asked.has_directory);
            if beside.len() <= most {
                candidates.extend(beside);
            }
        }
        candidates
    }
}

fn of_file(segment: &crate::index::segment::Segment<'_>, file: &str) -> Vec<u32> {
    let mut key = Vec::new();
    build::file_key(file, &mut key);
    segment.key(&key).iter().flat_map(|postings| postings.iter()).map(|posting| posting.doc).collect()
}

/// Returns documents about files in the same directory. Files at the root share it by chance, so they return
/// none.
fn of_directory(segment: &crate::index::segment::Segment<'_>, file: &str) -> Vec<u32> {
    let mut key = Vec::new();
    build::file_key(file, &mut key);
    let Some(end) = key.iter().rposition(|&byte| byte == b'/') else {
        return Vec::new();
    };
    key.truncate(end + 1);
    let mut docs: Vec<u32> = Vec::new();
    let mut left = DIRECTORY;
    segment.keys().from(&key, |known, entry| {
        let Some(name) = known.strip_prefix(key.as_slice()) else { return false };
        if !name.contains(&b'/') {
            let postings = segment.postings(crate::index::segment::SegmentSection::KeyPostings, entry);
            docs.extend(postings.iter().flat_map(|postings| postings.iter()).map(|posting| posting.doc));
        }
        left -= 1;
        left > 0 && docs.len() < 20 * DIRECTORY
    });
    docs.sort_unstable();
    docs.dedup();
    docs
}
