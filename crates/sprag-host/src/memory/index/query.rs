//! Asking the memory: the project's learnings, those that other clones share, and the user's own, as one.
//! Whoever asks, a hook, a command or an agent through the broker, asks here.

use std::io;

use sprag_base::time::Timestamp;
use sprag_memory::document::{Document, Label};
use sprag_memory::index::analysis::table;
use sprag_memory::index::query::fuse::{self, Widths};
use sprag_memory::index::query::{self, Corpus, Hit, Question, Signals, WEIGHTS, Weights};
use sprag_memory::index::segment::Card;
use sprag_memory::learning::{Learning, Status};
use sprag_memory::usage::Uses;

use super::reader::Place;
use super::{Library, Reach, Shown};
use crate::store::Store;
use crate::sys::locations::Places;

/// Hits that are looked at for every one that is wanted: age and use may change their order.
const SPARE: usize = 4;

pub struct Memory {
    libraries: Vec<(Library, Owner)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    Project,
    /// The user's own: no project sees it.
    Personal,
}

/// A hit, with what became of it since it was written.
#[derive(Clone, Debug)]
pub struct Answer {
    pub id: String,
    pub summary: String,
    pub label: Option<Label>,
    pub at: Timestamp,
    pub signals: Signals,
    pub probability: f32,
    pub uses: Uses,
    pub owner: Owner,
    spot: Spot,
}

/// Where to find it again.
#[derive(Clone, Copy, Debug)]
struct Spot {
    library: usize,
    place: Place,
}

impl Answer {
    pub fn is_stale(&self) -> bool {
        self.uses.status == Status::Stale
    }
}

/// The store of what is the user's own.
pub fn personal(places: &Places) -> Option<Store> {
    places.user.as_ref().map(|user| Store::at(user.state.join("personal")))
}

impl Memory {
    pub fn open(places: &Places, reach: Reach) -> io::Result<Memory> {
        // What other clones share is taken into the log, in form and in its order; see `learnings::share`.
        let project = Library::open(&Store::at(&places.store), &[], reach)?;
        let mut libraries = vec![(project, Owner::Project)];
        // What is the user's own is no reason to find nothing.
        let own = personal(places).and_then(|store| Library::open(&store, &[], reach).ok());
        libraries.extend(own.map(|own| (own, Owner::Personal)));
        Ok(Memory { libraries })
    }

    pub fn of(libraries: Vec<(Library, Owner)>) -> Memory {
        Memory { libraries }
    }

    pub fn is_empty(&self) -> bool {
        self.documents() == 0
    }

    pub fn documents(&self) -> u64 {
        self.libraries().map(Library::documents).sum()
    }

    pub fn libraries(&self) -> impl Iterator<Item = &Library> {
        self.libraries.iter().map(|(library, _)| library)
    }

    /// The best answers first.
    pub fn ask(&self, question: &Question, shown: Shown, widths: Widths, now: Timestamp) -> Vec<Answer> {
        self.ask_by(question, shown, widths, &WEIGHTS, now)
    }

    /// The same, with other weights than the usual: to see what each of them brings.
    pub fn ask_by(
        &self,
        question: &Question,
        shown: Shown,
        widths: Widths,
        weights: &Weights,
        now: Timestamp,
    ) -> Vec<Answer> {
        let mut corpus = Corpus::default();
        let mut spots = Vec::new();
        for (at, (library, _)) in self.libraries.iter().enumerate() {
            for (shelf, opened) in library.shelves(shown).into_iter().enumerate() {
                corpus.shelves.push(opened);
                spots.push((at, shelf));
            }
        }
        let wide = Question { limit: question.limit.saturating_mul(SPARE), ..question.clone() };
        // Whoever wants many looks at as many.
        let weights = Weights { candidates: weights.candidates.max(question.limit), ..*weights };
        let hits = query::search(&corpus, &wide, &table::built_in(), &weights);
        let mut answers: Vec<Answer> = hits
            .iter()
            .map(|hit| {
                let (library, shelf) = spots[hit.shelf];
                self.answer(hit, Spot { library, place: Place { shelf, doc: hit.doc } }, widths, now)
            })
            .collect();
        answers.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        answers.truncate(question.limit);
        answers
    }

    fn answer(&self, hit: &Hit<'_>, spot: Spot, widths: Widths, now: Timestamp) -> Answer {
        let (library, owner) = &self.libraries[spot.library];
        let uses = library.uses(spot.place);
        let category = hit.card.label.map(|label| label.category);
        let standing = fuse::standing(hit.card.at, category, &uses, now, widths);
        Answer {
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

    /// The whole of what was found.
    pub fn learning(&self, answer: &Answer) -> Option<Learning> {
        let (library, _) = &self.libraries[answer.spot.library];
        self.kept(library, &library.card(answer.spot.place)?)
    }

    /// The learning of this id with what became of it.
    pub fn get(&self, id: &str) -> Option<(Learning, Uses, Timestamp)> {
        self.libraries.iter().find_map(|(library, _)| {
            let (place, card) = library.by_prefix(id).into_iter().find(|(_, card)| card.id.as_str() == id)?;
            let record = library.record(&card).ok()?;
            let learning = serde_json::from_value(record.body).ok()?;
            Some((learning, library.uses(place), record.at))
        })
    }

    fn kept(&self, library: &Library, card: &Card<'_>) -> Option<Learning> {
        serde_json::from_value(library.record(card).ok()?.body).ok()
    }

    /// The text of what was found, also where it is no learning.
    pub fn document(&self, answer: &Answer) -> Option<Document> {
        let (library, _) = &self.libraries[answer.spot.library];
        Document::of(&library.record(&library.card(answer.spot.place)?).ok()?)
    }
}
