//! Finds the facts that the write gate needs about candidates: which named files exist, which statements are
//! similar, and the state of the evidence. Limits on files and learnings bound the work, not a deadline.

use std::collections::BTreeSet;
use std::path::Path;

use sprag_base::ids::SessionId;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_govern::event::{Event, Input};
use sprag_govern::gates::reflection::Candidates;
use sprag_memory::destination::{Destination, place};
use sprag_memory::index::analysis::table;
use sprag_memory::index::dedup::PreparedStatement;
use sprag_memory::index::query::IndexQuery;
use sprag_memory::index::query::fuse::Widths;
use sprag_memory::learning::{Candidate, Learning, LearningStatus};
use sprag_memory::records::Rejection;
use sprag_memory::write_gate::rejected::RecentRejections;
use sprag_memory::write_gate::{
    CandidateFacts, CandidateFate, GateRequest, SimilarScore, SimilarTo, SimilarityKind, WriteGateStep,
    judge, specificity,
};

use crate::git;
use crate::memory::index::{DocumentFilter, LearningOwner, Memory, MemoryHit, TailRead};
use crate::memory::{self, evidence};
use crate::store::{Store, projections};
use crate::sys::disk::open_regular;
use crate::sys::exec::read_capped;
use crate::world::World;

/// Learnings that each candidate is compared with, best first.
const HITS: usize = 20;
/// Files that are searched for identifiers.
const FILES: usize = 20;
/// Bytes that are searched in each file.
const FILE_BYTES: u64 = 256 * 1024;

/// Finds the facts about the candidates of a report.
pub(crate) fn gather_candidate_facts(
    world: &World<'_>,
    input: &Input,
    handed_in: &Candidates,
) -> CandidateFacts {
    let candidates = &handed_in.list;
    let remembered = KnownStatements::open(world);
    let mut around = CandidateFacts { has_home: world.places.user.is_some(), ..CandidateFacts::default() };
    if let Some(worktree) = &world.places.worktree {
        around.known = known(worktree, candidates);
        around.seen = candidates
            .iter()
            .map(|(index, candidate)| (*index, evidence::see(worktree, candidate)))
            .collect();
    }
    around.named = handed_in.named.as_ref().and_then(|name| remembered.named(name.as_str()));
    around.alike = remembered.alike(candidates, input);
    around
}

/// Result of moving a learning to another scope.
pub enum PromotionResult {
    Kept(Box<Candidate>),
    Refused(Text<1000>),
}

/// Runs the write gate for one statement, without comparing it to the learning it comes from.
pub fn judge_alone(world: &World<'_>, candidate: Candidate, from: &str) -> PromotionResult {
    let candidates = vec![(0, candidate)];
    let input = Input::new(Timestamp::from_millis(0), SessionId::new(""), Event::Tick);
    let is_other =
        |alike: &SimilarScore| !matches!(&alike.to, SimilarTo::Learning { id, .. } if id.as_str() == from);
    let worktree = world.places.worktree.as_deref();
    let around = CandidateFacts {
        known: worktree.map(|worktree| known(worktree, &candidates)).unwrap_or_default(),
        alike: KnownStatements::open(world).alike(&candidates, &input).into_iter().filter(is_other).collect(),
        has_home: world.places.user.is_some(),
        ..CandidateFacts::default()
    };
    let policy = world.config.settings.govern.gates.reflection.write_gate;
    // Sprag asked for this learning when it was first kept. Now the gate only checks whether it is valid in
    // the other scope.
    let asked = GateRequest { policy, was_asked_for: true, resolution: None, around: &around };
    let Some(judged) = judge(candidates, &asked).into_iter().next() else {
        return PromotionResult::Refused(Text::default());
    };
    match judged.fate {
        CandidateFate::Kept { .. } | CandidateFate::Merged { .. } => {
            PromotionResult::Kept(Box::new(judged.candidate))
        }
        CandidateFate::Duplicate { reason, .. }
        | CandidateFate::Similar { reason, .. }
        | CandidateFate::Rejected { reason, .. } => PromotionResult::Refused(reason),
    }
}

/// Returns the files of this worktree that a statement names.
pub fn paths_here(world: &World<'_>, candidate: &Candidate) -> Vec<String> {
    let Some(worktree) = &world.places.worktree else {
        return Vec::new();
    };
    let mut bare = candidate.clone();
    bare.context_files.clear();
    let known = known(worktree, &[(0, bare)]);
    known.into_iter().filter(|name| name.contains('/') || name.contains('.')).collect()
}

/// Returns the names in the candidates that exist in the worktree.
pub fn known(worktree: &Path, candidates: &[(usize, Candidate)]) -> BTreeSet<String> {
    let names: BTreeSet<String> =
        candidates.iter().flat_map(|(_, candidate)| specificity::names(candidate)).collect();
    let mut known = BTreeSet::new();
    let mut note = |name: &str| {
        let name = name.to_lowercase();
        if names.contains(&name) {
            known.insert(name);
        }
    };
    for path in git::all_paths(worktree).unwrap_or_default() {
        note(&path);
        let mut from = 0;
        for part in path.split('/') {
            note(part);
            note(part.split('.').find(|stem| !stem.is_empty()).unwrap_or(part));
            from += part.len() + 1;
            note(&path[..from - 1]);
            note(&path[..from.min(path.len())]);
        }
    }
    for name in &names {
        let path = name.split(':').next().unwrap_or(name);
        if path.contains(['/', '.']) && evidence::inside(worktree, path.trim_end_matches('/')).is_some() {
            known.insert(name.clone());
        }
    }
    let cited = candidates.iter().flat_map(|(_, candidate)| &candidate.context_files);
    let texts: Vec<String> =
        cited.take(FILES).filter_map(|file| lower_text(worktree, file.as_str())).collect();
    let is_in_text = |name: &&String| {
        texts.iter().any(|text| memchr::memmem::find(text.as_bytes(), name.as_bytes()).is_some())
    };
    known.extend(names.iter().filter(is_in_text).cloned());
    known
}

fn lower_text(worktree: &Path, path: &str) -> Option<String> {
    let bytes = read_capped(open_regular(&evidence::inside(worktree, path)?).ok()?, FILE_BYTES).ok()?;
    Some(String::from_utf8_lossy(&bytes).to_lowercase())
}

/// Statements that candidates are compared with.
struct KnownStatements {
    /// `None`: the memory cannot be read, so nothing is similar.
    memory: Option<Memory>,
    project: RecentRejections,
    personal: RecentRejections,
}

impl KnownStatements {
    fn open(world: &World<'_>) -> KnownStatements {
        let fold = |store: &Store| {
            projections::load::<RecentRejections>(store).map(|it| it.state).unwrap_or_default()
        };
        KnownStatements {
            memory: Memory::open(&world.places, TailRead::All).ok(),
            project: fold(&world.store()),
            personal: memory::personal(&world.places).as_ref().map(fold).unwrap_or_default(),
        }
    }

    /// Returns the only learning whose id equals this prefix or starts with it.
    fn named(&self, prefix: &str) -> Option<Learning> {
        let memory = self.memory.as_ref()?;
        let found = memory.libraries().flat_map(|library| library.by_prefix(prefix));
        let ids: BTreeSet<String> = found.map(|(_, card)| card.id.as_str().to_owned()).collect();
        let id = match (ids.contains(prefix), ids.len()) {
            (true, _) => prefix,
            (false, 1) if prefix.len() >= memory::PREFIX => ids.first()?,
            _ => return None,
        };
        memory.get(id).map(|(learning, _, _)| learning)
    }

    /// Returns similar statements: kept learnings, other candidates, and rejections of other sessions.
    fn alike(&self, candidates: &[(usize, Candidate)], input: &Input) -> Vec<SimilarScore> {
        let table = table::built_in();
        let said: Vec<(usize, &Candidate, PreparedStatement)> = candidates
            .iter()
            .map(|(index, candidate)| {
                (*index, candidate, PreparedStatement::new(candidate.summary.as_str(), &table))
            })
            .collect();
        let mut found = Vec::new();
        for (at, (index, candidate, mine)) in said.iter().enumerate() {
            let mut add = |to: SimilarTo, summary: &str, theirs: &PreparedStatement| {
                let similarity = mine.compare(theirs, &table);
                if let Some(likeness) = SimilarityKind::from_score(similarity.score)
                    .map(|kind| if similarity.differs.is_some() { SimilarityKind::Guarded } else { kind })
                {
                    let (summary, score) = (Text::from(summary), similarity.score);
                    found.push(SimilarScore { candidate: *index, to, summary, score, likeness });
                }
            };
            // A project statement is not compared with the personal learnings of a user.
            let is_personal = place(candidate.scope) == Destination::Personal;
            for answer in self.near(candidate, input.at) {
                let at = if answer.owner == LearningOwner::Personal {
                    Destination::Personal
                } else {
                    Destination::Project
                };
                if at == Destination::Project || is_personal {
                    let to = SimilarTo::Learning {
                        id: Text::new(answer.id),
                        status: answer.uses.status,
                        place: at,
                    };
                    add(to, &answer.summary, &PreparedStatement::new(&answer.summary, &table));
                }
            }
            for (earlier, other, theirs) in &said[..at] {
                add(SimilarTo::Candidate(*earlier), other.summary.as_str(), theirs);
            }
            let rejected = if is_personal { &self.personal } else { &self.project };
            for rejection in rejected.all().iter().filter(|it| is_counted(it, input)) {
                let summary = rejection.summary.as_str();
                add(
                    SimilarTo::Rejection { stage: rejection.stage.clone() },
                    summary,
                    &PreparedStatement::new(summary, &table),
                );
            }
        }
        found
    }

    /// Returns the learnings that the memory ranks first.
    fn near(&self, candidate: &Candidate, now: Timestamp) -> Vec<MemoryHit> {
        let Some(memory) = &self.memory else {
            return Vec::new();
        };
        let question = IndexQuery {
            text: format!("{} {}", candidate.summary, candidate.detail),
            // Superseded learnings and other documents take up places.
            limit: 2 * HITS,
            ..IndexQuery::default()
        };
        let answers =
            memory.ask(&question, DocumentFilter::All, Widths { recency: 0.0, usage: 0.0 }, now).into_iter();
        let is_learning = |it: &MemoryHit| it.label.is_some() && it.uses.status != LearningStatus::Superseded;
        answers.filter(is_learning).take(HITS).collect()
    }
}

/// Reports whether a rejection counts. Malformed candidates and rejections of the current session do not
/// count.
fn is_counted(rejection: &Rejection, input: &Input) -> bool {
    rejection.stage.as_str() != WriteGateStep::Schema.name()
        && rejection.session.as_ref() != Some(&input.session)
}
