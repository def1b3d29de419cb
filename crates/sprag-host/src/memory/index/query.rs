//! Queries the memory: learnings of the project, of other clones and of the user, in one result. Hooks,
//! commands and the MCP server all query here.

use std::io;

use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::time::Timestamp;
use sprag_memory::document::{Document, DocumentLabel};
use sprag_memory::index::analysis::table;
use sprag_memory::index::query::fuse::{self, Widths};
use sprag_memory::index::query::{self, Corpus, IndexHit, IndexQuery, RankWeights, Signals, WEIGHTS};
use sprag_memory::index::segment::DocumentCard;
use sprag_memory::learning::{Learning, LearningStatus};
use sprag_memory::records::MemoryRecord;
use sprag_memory::usage::Uses;

use super::reader::DocumentRef;
use super::{DocumentFilter, IndexReader, TailRead};
use crate::store::Store;
use crate::sys::locations::Locations;

/// Hits that are read for each requested one, because age and use may change their order.
const SPARE: usize = 4;

pub struct Memory {
    libraries: Vec<(IndexReader, LearningOwner)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LearningOwner {
    Project,
    /// Personal: no project sees it.
    Personal,
}

/// A hit with its use counts.
#[derive(Clone, Debug)]
pub struct MemoryHit {
    pub id: String,
    pub summary: String,
    pub label: Option<DocumentLabel>,
    pub at: Timestamp,
    pub signals: Signals,
    pub probability: f32,
    pub uses: Uses,
    pub owner: LearningOwner,
    spot: HitPosition,
}

/// Position of a hit.
#[derive(Clone, Copy, Debug)]
struct HitPosition {
    library: usize,
    place: DocumentRef,
}

impl MemoryHit {
    pub fn is_stale(&self) -> bool {
        self.uses.status == LearningStatus::Stale
    }
}

/// Returns the store of the user's personal learnings.
pub fn personal(places: &Locations) -> Option<Store> {
    places.user.as_ref().map(|user| Store::at(user.state.join("personal")))
}

impl Memory {
    pub fn open(places: &Locations, reach: TailRead) -> io::Result<Memory> {
        // `memory::share` takes the learnings of other clones into the log, in a valid form and in their
        // order.
        let project = IndexReader::open(&Store::at(&places.store), &[], reach)?;
        let mut libraries = vec![(project, LearningOwner::Project)];
        // Unreadable personal learnings must not hide the learnings of the project.
        let own = personal(places).and_then(|store| IndexReader::open(&store, &[], reach).ok());
        libraries.extend(own.map(|own| (own, LearningOwner::Personal)));
        Ok(Memory { libraries })
    }

    pub fn from_libraries(libraries: Vec<(IndexReader, LearningOwner)>) -> Memory {
        Memory { libraries }
    }

    pub fn is_empty(&self) -> bool {
        self.documents() == 0
    }

    pub fn documents(&self) -> u64 {
        self.libraries().map(IndexReader::documents).sum()
    }

    pub fn libraries(&self) -> impl Iterator<Item = &IndexReader> {
        self.libraries.iter().map(|(library, _)| library)
    }

    /// Returns the best answers first.
    pub fn ask(
        &self,
        question: &IndexQuery,
        shown: DocumentFilter,
        widths: Widths,
        now: Timestamp,
    ) -> Vec<MemoryHit> {
        self.ask_by(question, shown, widths, &WEIGHTS, now)
    }

    /// Queries with other weights, to measure the effect of each.
    pub fn ask_by(
        &self,
        question: &IndexQuery,
        shown: DocumentFilter,
        widths: Widths,
        weights: &RankWeights,
        now: Timestamp,
    ) -> Vec<MemoryHit> {
        let mut corpus = Corpus::default();
        let mut spots = Vec::new();
        for (at, (library, _)) in self.libraries.iter().enumerate() {
            for (shelf, opened) in library.shelves(shown).into_iter().enumerate() {
                corpus.shelves.push(opened);
                spots.push((at, shelf));
            }
        }
        let wide = IndexQuery { limit: question.limit.saturating_mul(SPARE), ..question.clone() };
        // A large limit needs as many candidates.
        let weights = RankWeights { candidates: weights.candidates.max(question.limit), ..*weights };
        let hits = query::search(&corpus, &wide, &table::built_in(), &weights);
        let mut answers: Vec<MemoryHit> = hits
            .iter()
            .map(|hit| {
                let (library, shelf) = spots[hit.shelf];
                self.answer(
                    hit,
                    HitPosition { library, place: DocumentRef { shelf, doc: hit.doc } },
                    widths,
                    now,
                )
            })
            .collect();
        answers.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        answers.truncate(question.limit);
        answers
    }

    fn answer(&self, hit: &IndexHit<'_>, spot: HitPosition, widths: Widths, now: Timestamp) -> MemoryHit {
        let (library, owner) = &self.libraries[spot.library];
        let uses = library.uses(spot.place);
        let category = hit.card.label.map(|label| label.category);
        let standing = fuse::standing(hit.card.at, category, &uses, now, widths);
        MemoryHit {
            id: hit.card.id.as_str().to_owned(),
            summary: hit.card.summary.to_owned(),
            label: hit.card.label,
            at: hit.card.at,
            signals: hit.signals,
            probability: fuse::probability(hit.score + standing),
            uses,
            owner: *owner,
            spot,
        }
    }

    /// Returns the whole learning of a hit.
    pub fn learning(&self, answer: &MemoryHit) -> Option<Learning> {
        let (library, _) = &self.libraries[answer.spot.library];
        self.kept(library, &library.card(answer.spot.place)?)
    }

    /// Returns the learning of this id with its use counts.
    pub fn get(&self, id: &str) -> Option<(Learning, Uses, Timestamp)> {
        self.libraries.iter().find_map(|(library, _)| {
            let (place, card) = library.by_prefix(id).into_iter().find(|(_, card)| card.id.as_str() == id)?;
            let record = library.record(&card).ok()?;
            let learning = MemoryRecord::read(&record)?.into_learning()?;
            Some((learning, library.uses(place), record.at))
        })
    }

    fn kept(&self, library: &IndexReader, card: &DocumentCard<'_>) -> Option<Learning> {
        MemoryRecord::read(&library.record(card).ok()?)?.into_learning()
    }

    /// Returns the text of a hit, even if the hit is not a learning.
    pub fn document(&self, answer: &MemoryHit) -> Option<Document> {
        let (library, _) = &self.libraries[answer.spot.library];
        Document::from_record(&library.record(&library.card(answer.spot.place)?).ok()?)
    }
}
