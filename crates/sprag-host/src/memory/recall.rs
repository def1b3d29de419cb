//! Finds learnings for the recall gate: adds the ticket and the branch to the question and queries the
//! memory. It leaves out duplicates, learnings that exclude this case, and learnings without their evidence.

use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_govern::gates::recall::{Question, Settings, ShownBefore, Strategy};
use sprag_memory::index::analysis::{table, tokens};
use sprag_memory::index::dedup::{PreparedStatement, SIMILAR};
use sprag_memory::index::query;
use sprag_memory::index::query::fuse::Widths;
use sprag_memory::index::query::select::{Contender, SelectionLimits, select};
use sprag_memory::learning::{Learning, LearningStatus};
use sprag_memory::learnings::{LearningEntry, Learnings};
use sprag_memory::lifecycle::negative;
use sprag_memory::recall::floor::{FloorAudience, FloorVersions};
use sprag_memory::recall::implicit_use::Terms;
use sprag_memory::recall::{LearningChange, Notice, RecallQuestion, Recalled, RecalledLearning};
use sprag_memory::write_gate::evidence::EvidenceState;

use crate::memory::evidence;
use crate::memory::index::{DocumentFilter, LearningOwner, Memory, MemoryHit, TailRead};
use crate::store::projections;
use crate::sys::locations::Locations;
use crate::trackers;
use crate::world::World;

/// Most bytes of the log that are read where the index is behind, because the session waits.
const READ: u64 = 512 * 1024;
/// Answers that are compared for each one that may be shown.
const CLOSELY: usize = 3;
/// With fewer learnings, a strict strategy would show none.
const FEW: u64 = 20;
/// Share of the `when_not` words that must occur in the question to exclude a learning.
const NOT_FOR: f32 = 0.6;

/// Finds learnings for a session. `None`: the memory cannot be read.
pub(crate) fn recall_learnings(world: &World<'_>, question: &Question, now: Timestamp) -> Option<Recalled> {
    let policy = &world.config.settings.govern.gates.recall;
    let shown = &question.shown;
    let question = completed(world, question);
    let memory = Memory::open(&world.places, TailRead::Last(READ)).ok()?;
    if memory.is_empty() {
        return Some(Recalled::default());
    }
    let notices = notices(world, &memory, shown);
    let found =
        if question.is_empty() { Vec::new() } else { found(world, &memory, &question, shown, policy, now) };
    Some(Recalled { found, notices, is_any: true })
}

/// Finds learnings for a caller without a session.
pub fn about(world: &World<'_>, text: String, files: Vec<String>, now: Timestamp) -> Vec<RecalledLearning> {
    let question = RecallQuestion { text, files };
    match Memory::open(&world.places, TailRead::Last(READ)) {
        Ok(memory) if !memory.is_empty() && !question.is_empty() => {
            found(world, &memory, &question, &[], &world.config.settings.govern.gates.recall, now)
        }
        Ok(_) | Err(_) => Vec::new(),
    }
}

/// Returns the question of the event, with the ticket and the branch added.
fn completed(world: &World<'_>, question: &Question) -> RecallQuestion {
    let mut query = question.query.clone();
    if question.occasion.looks_around() {
        let title = trackers::read_cached_ticket(&world.places).map(|item| item.title.to_string());
        let branch = branch_words(&world.places);
        query.text = [title, branch].into_iter().flatten().collect::<Vec<_>>().join(" ");
    }
    query
}

/// Returns the words of the branch name, which describe the work. A trunk has none.
fn branch_words(places: &Locations) -> Option<String> {
    const TRUNKS: &[&str] = &["main", "master", "trunk", "develop", "dev", "HEAD"];
    let branch = places.branch()?;
    (!TRUNKS.contains(&branch.as_str())).then(|| branch.replace(['/', '-', '_', '.'], " "))
}

fn found(
    world: &World<'_>,
    memory: &Memory,
    question: &RecallQuestion,
    shown: &[ShownBefore],
    policy: &Settings,
    now: Timestamp,
) -> Vec<RecalledLearning> {
    let strategy = match policy.strategy {
        Strategy::Conservative if memory.documents() < FEW => Strategy::Moderate,
        strategy => strategy,
    };
    let widths = Widths { recency: strategy.recency_width(), usage: strategy.use_width() };
    let asked = query::IndexQuery {
        text: question.text.clone(),
        files: question.files.clone(),
        limit: CLOSELY * policy.most() + shown.len(),
        ..query::IndexQuery::default()
    };
    let answers = memory.ask(&asked, DocumentFilter::InUse, widths, now);
    let floors = Floors::load(world, strategy);
    let is_fresh = |answer: &&MemoryHit| !shown.iter().any(|seen| seen.id.as_str() == answer.id);
    let asked_terms: Vec<String> =
        tokens::query_terms(&question.text).into_iter().map(|(term, _)| term).collect();
    let likely =
        answers.iter().filter(|answer| answer.probability >= floors.of_owner(answer.owner)).filter(is_fresh);
    let mut known: Vec<(&MemoryHit, Learning)> =
        likely.filter_map(|answer| Some((answer, memory.learning(answer)?))).collect();
    known.retain(|(_, learning)| !is_not_for(learning, &asked_terms));
    let table = table::built_in();
    let statements: Vec<PreparedStatement> =
        known.iter().map(|(_, it)| PreparedStatement::new(it.candidate.summary.as_str(), &table)).collect();
    let contenders: Vec<Contender> = known
        .iter()
        .map(|(answer, _)| Contender {
            probability: answer.probability,
            is_new: answer.uses.surfaced == 0,
            is_personal: answer.owner == LearningOwner::Personal,
        })
        .collect();
    // Each is already above the floor of its owner.
    let limits = SelectionLimits { floor: 0.0, most: policy.most() };
    let alike = |a: usize, b: usize| statements[a].compare(&statements[b], &table).score >= SIMILAR;
    let chosen = select(&contenders, limits, alike);
    chosen.into_iter().filter_map(|at| to_recalled(world, known[at].0, &known[at].1, now)).collect()
}

/// Recall floors of the strategy, adjusted by the ratings of earlier results.
struct Floors {
    project: f32,
    personal: f32,
}

impl Floors {
    fn load(world: &World<'_>, strategy: Strategy) -> Floors {
        let versions: FloorVersions = projections::kept(&world.store()).unwrap_or_default();
        let moved = |scope: &str| {
            let whom = FloorAudience { role: Text::from("main"), scope: Text::from(scope) };
            strategy.floor() * versions.floor(&whom)
        };
        Floors { project: moved("project"), personal: moved("personal") }
    }

    fn of_owner(&self, owner: LearningOwner) -> f32 {
        match owner {
            LearningOwner::Project => self.project,
            LearningOwner::Personal => self.personal,
        }
    }
}

/// Reports whether the `when_not` text of a learning excludes this question.
fn is_not_for(learning: &Learning, asked: &[String]) -> bool {
    let not: Vec<(String, u32)> = tokens::query_terms(learning.candidate.trigger.when_not.as_str());
    let said = not.iter().filter(|(term, _)| asked.contains(term)).count();
    !not.is_empty() && said as f32 >= NOT_FOR * not.len() as f32
}

/// Builds the learning to show. `None`: its evidence is gone.
fn to_recalled(
    world: &World<'_>,
    answer: &MemoryHit,
    learning: &Learning,
    now: Timestamp,
) -> Option<RecalledLearning> {
    let state = world.places.worktree.as_deref().map(|worktree| evidence::state(worktree, learning));
    let has_changed = match state {
        Some(EvidenceState::Gone) => return None,
        Some(EvidenceState::Changed) => true,
        Some(EvidenceState::Fresh | EvidenceState::Moved) | None => false,
    };
    let entry = LearningEntry { learning: learning.clone(), uses: answer.uses, superseded_by: None };
    Some(RecalledLearning {
        caveat: negative::standing(&entry, now).map(negative::caveat),
        id: learning.id.clone(),
        summary: learning.candidate.summary.clone(),
        detail: learning.candidate.detail.clone(),
        category: Some(learning.candidate.category),
        score: answer.probability,
        why: Text::new(answer.signals.describe()),
        is_stale: answer.is_stale() || has_changed,
        has_changed: has_changed && !answer.is_stale(),
        is_personal: answer.owner == LearningOwner::Personal,
        terms: Terms::from_learning(learning),
    })
}

/// Returns the changes to learnings that the session has seen.
fn notices(world: &World<'_>, memory: &Memory, shown: &[ShownBefore]) -> Vec<Notice> {
    shown
        .iter()
        .filter_map(|seen| {
            let (learning, uses, written) = memory.get(seen.id.as_str())?;
            let what = match uses.status {
                LearningStatus::Superseded | LearningStatus::Archived if seen.is_told => return None,
                LearningStatus::Superseded => superseded(world, memory, seen.id.as_str()),
                LearningStatus::Archived => LearningChange::Archived,
                LearningStatus::Active | LearningStatus::Stale if written > seen.at => {
                    LearningChange::Corrected { summary: learning.candidate.summary, at: written }
                }
                LearningStatus::Active | LearningStatus::Stale => return None,
            };
            Some(Notice { id: seen.id.clone(), what })
        })
        .collect()
}

/// Finds the learning that superseded this one. Reads the whole log, because this is rare.
fn superseded(world: &World<'_>, memory: &Memory, id: &str) -> LearningChange {
    let learnings =
        projections::load::<Learnings>(&world.store()).map(|folded| folded.state).unwrap_or_default();
    let by = learnings.get(id).and_then(|entry| entry.superseded_by.clone());
    let summary =
        by.as_ref().and_then(|by| memory.get(by.as_str())).map(|(learning, ..)| learning.candidate.summary);
    LearningChange::Superseded { by, summary }
}
