//! The write gate: decides about well-formed candidates. It checks in order whether the text supports the
//! claimed criteria, whether it is about this project, and whether it is new. Each reason says how to fix the
//! candidate. All facts come from the caller.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use sprag_base::settings::{SettingKey, SettingSection, Tighten};
use sprag_base::text::{Text, quoted};

use crate::destination::{Destination, place};
use crate::learning::{Candidate, Confidence, Evidence, KeepReason, Learning, LearningKind, LearningStatus};
use crate::write_gate::plausibility::plausibility;
use crate::write_gate::specificity::specificity;

/// The settings of the write gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteGate {
    pub mode: WriteGateMode,
    pub quality_check: QualityCheck,
}

/// The handling of a candidate whose text supports no criterion, from loose to strict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WriteGateMode {
    Disabled,
    /// Stores the candidate with low confidence.
    Lenient,
    Strict,
}

/// The handling of a candidate that fits any project, from loose to strict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QualityCheck {
    Disabled,
    /// Stores the candidate with less confidence and a warning.
    Warn,
    Enforce,
}

impl Default for WriteGate {
    fn default() -> WriteGate {
        WriteGate { mode: WriteGateMode::Strict, quality_check: QualityCheck::Enforce }
    }
}

pub const SECTION: SettingSection = SettingSection {
    name: "gate.write_gate",
    defaults: "\
# The write gate: decides which submitted candidates become learnings.
[gate.write_gate]
# Candidates whose text does not support the claimed criteria: `strict` rejects them, `lenient` keeps them
# with low confidence, `disabled` does not check.
mode = \"strict\"
# Candidates that fit any project: `enforce` rejects them, `warn` keeps them with a warning, `disabled`
# does not check.
quality_check = \"enforce\"
",
    keys: &[
        SettingKey { name: "mode", tighten: Tighten::Ranked(&["disabled", "lenient", "strict"]) },
        SettingKey { name: "quality_check", tighten: Tighten::Ranked(&["disabled", "warn", "enforce"]) },
    ],
};

/// Scores from which two statements are the same, or similar enough to ask.
pub const SAME: f32 = 0.72;
pub const SIMILAR: f32 = 0.49;

/// The facts needed to judge candidates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CandidateFacts {
    /// Names in the candidates that exist in the project.
    pub known: BTreeSet<String>,
    pub alike: Vec<SimilarScore>,
    /// The current state of each candidate's evidence.
    pub seen: BTreeMap<usize, Vec<Evidence>>,
    /// The learning that a [`SimilarResolution`] names.
    pub named: Option<Learning>,
    /// A directory for personal learnings exists.
    pub has_home: bool,
}

/// A candidate, and a statement that it resembles.
#[derive(Clone, Debug, PartialEq)]
pub struct SimilarScore {
    pub candidate: usize,
    pub to: SimilarTo,
    pub summary: Text<200>,
    pub score: f32,
    pub likeness: SimilarityKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SimilarTo {
    Learning {
        id: Text<64>,
        status: LearningStatus,
        place: Destination,
    },
    /// An earlier candidate of the same submission.
    Candidate(usize),
    /// A candidate rejected in another session.
    Rejection {
        stage: Text<32>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimilarityKind {
    Same,
    Similar,
    /// A high score, but a number, a name, a path or a `not` differs.
    Guarded,
}

impl SimilarityKind {
    /// Classifies a score. `None`: not similar.
    pub fn from_score(score: f32) -> Option<SimilarityKind> {
        match score {
            score if score < SIMILAR => None,
            score if score < SAME => Some(SimilarityKind::Similar),
            _ => Some(SimilarityKind::Same),
        }
    }
}

/// The author's decision about candidates that resemble a learning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SimilarResolution {
    /// The candidate says the same in better words.
    Merge(Text<64>),
    /// The candidate replaces this learning.
    Supersede(Text<64>),
    /// The candidate is different, for this reason.
    Distinct(Text<500>),
}

impl SimilarResolution {
    /// Returns the learning that the decision names.
    pub fn names(&self) -> Option<&str> {
        match self {
            SimilarResolution::Merge(id) | SimilarResolution::Supersede(id) => Some(id.as_str()),
            SimilarResolution::Distinct(_) => None,
        }
    }
}

/// The request of a submission.
pub struct GateRequest<'a> {
    pub policy: WriteGate,
    /// The user of this session asked to remember something.
    pub was_asked_for: bool,
    pub resolution: Option<&'a SimilarResolution>,
    pub around: &'a CandidateFacts,
}

#[derive(Clone, Debug, PartialEq)]
pub struct JudgedCandidate {
    pub index: usize,
    /// The candidate with its final confidence.
    pub candidate: Candidate,
    pub fate: CandidateFate,
    /// A fault that did not reject the candidate.
    pub warning: Option<Text<500>>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum CandidateFate {
    Kept {
        /// Steps that rejected a similar candidate before.
        misses: Vec<(Text<32>, f32)>,
        supersedes: Option<Text<64>>,
    },
    /// The candidate replaces the text of an existing learning.
    Merged {
        into: Box<Learning>,
    },
    /// The statement is known.
    Duplicate {
        of: DuplicateOf,
        reason: Text<1000>,
    },
    /// The statement may be known: its author must decide.
    Similar {
        to: Vec<(Text<64>, f32)>,
        reason: Text<1000>,
    },
    Rejected {
        stage: WriteGateStep,
        reason: Text<1000>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DuplicateOf {
    Learning { id: Text<64>, status: LearningStatus, place: Destination },
    Candidate(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WriteGateStep {
    Schema,
    Plausibility,
    Specificity,
    Scope,
    Duplicate,
    Similar,
}

sprag_base::names! {
    pub fn name(WriteGateStep):
    Schema = "schema", Plausibility = "plausibility", Specificity = "specificity", Scope = "scope",
    Duplicate = "duplicate", Similar = "similar"
}

/// Judges candidates in order: stored candidates count for later ones.
pub fn judge(candidates: Vec<(usize, Candidate)>, asked: &GateRequest<'_>) -> Vec<JudgedCandidate> {
    let count = candidates.len();
    let mut judged: Vec<JudgedCandidate> = Vec::with_capacity(count);
    for (index, candidate) in candidates {
        let mut one = JudgedCandidate { index, candidate, fate: kept(), warning: None };
        one.fate = one
            .place(asked)
            .or_else(|| one.plausible(asked))
            .or_else(|| one.specific(asked))
            .unwrap_or_else(|| one.compare(asked, &judged, count));
        judged.push(one);
    }
    judged
}

fn kept() -> CandidateFate {
    CandidateFate::Kept { misses: Vec::new(), supersedes: None }
}

impl JudgedCandidate {
    fn place(&self, asked: &GateRequest<'_>) -> Option<CandidateFate> {
        let is_homeless = place(self.candidate.scope) == Destination::Personal && !asked.around.has_home;
        let reason = "no home directory for personal learnings: give another scope";
        is_homeless
            .then(|| CandidateFate::Rejected { stage: WriteGateStep::Scope, reason: Text::from(reason) })
    }

    fn plausible(&mut self, asked: &GateRequest<'_>) -> Option<CandidateFate> {
        if asked.policy.mode == WriteGateMode::Disabled {
            return None;
        }
        let found = plausibility(&self.candidate, asked);
        let most = match (found.borne_out.is_empty(), found.doubtful.is_empty()) {
            (_, true) => Confidence::High,
            (false, false) => Confidence::Medium,
            (true, false) if asked.policy.mode == WriteGateMode::Strict => {
                let wanted: Vec<String> =
                    found.doubtful.iter().map(|&criterion| describe(criterion)).collect();
                let reason = format!("the text does not support the claimed criteria: {}", wanted.join("; "));
                return Some(CandidateFate::Rejected {
                    stage: WriteGateStep::Plausibility,
                    reason: Text::new(reason),
                });
            }
            (true, false) => Confidence::Low,
        };
        self.candidate.confidence = at_most(self.candidate.confidence, most);
        None
    }

    fn specific(&mut self, asked: &GateRequest<'_>) -> Option<CandidateFate> {
        if asked.policy.quality_check == QualityCheck::Disabled || self.is_users_own(asked) {
            return None;
        }
        let score = specificity(&self.candidate, &asked.around.known);
        let reason = format!(
            "the statement fits any project (specificity {score:.1}, at least {:.1} is needed): \
             name files, identifiers, versions or numbers",
            specificity::REJECTED
        );
        if score < specificity::REJECTED {
            if asked.policy.quality_check == QualityCheck::Enforce {
                return Some(CandidateFate::Rejected {
                    stage: WriteGateStep::Specificity,
                    reason: Text::new(reason),
                });
            }
            self.warning = Some(Text::new(reason));
        }
        if score < specificity::LOWERED {
            self.candidate.confidence = lower(self.candidate.confidence);
        }
        None
    }

    /// Reports whether the user prefers this or asked to remember it. Such a statement need not be about the
    /// project.
    fn is_users_own(&self, asked: &GateRequest<'_>) -> bool {
        let is_request = self.candidate.criteria_met.contains(&KeepReason::ExplicitRequest);
        self.candidate.kind == LearningKind::Preference || (is_request && asked.was_asked_for)
    }

    fn compare(&self, asked: &GateRequest<'_>, before: &[JudgedCandidate], count: usize) -> CandidateFate {
        let mine: Vec<&SimilarScore> = asked
            .around
            .alike
            .iter()
            .filter(|alike| alike.candidate == self.index && alike.counts(before))
            .collect();
        if let Some(fate) = self.resolve(asked, &mine, count) {
            return fate;
        }
        let known = || mine.iter().filter(|alike| !matches!(alike.to, SimilarTo::Rejection { .. }));
        let best = |likeness| {
            known().filter(|alike| alike.likeness == likeness).max_by(|a, b| a.score.total_cmp(&b.score))
        };
        if let Some(same) = best(SimilarityKind::Same) {
            let of = match &same.to {
                SimilarTo::Learning { id, status, place } => {
                    DuplicateOf::Learning { id: id.clone(), status: *status, place: *place }
                }
                SimilarTo::Candidate(index) => DuplicateOf::Candidate(*index),
                SimilarTo::Rejection { .. } => return kept(),
            };
            let name = match &of {
                DuplicateOf::Learning { id, .. } => format!("learning `{}`", quoted(id.as_str())),
                DuplicateOf::Candidate(index) => format!("candidate {index}"),
            };
            let reason = format!("already known as {name}: {}", quoted(same.summary.as_str()));
            return CandidateFate::Duplicate { of, reason: Text::new(reason) };
        }
        let is_distinct = matches!(asked.resolution, Some(SimilarResolution::Distinct(_)));
        let mut similar: Vec<&&SimilarScore> =
            known().filter(|alike| matches!(alike.to, SimilarTo::Learning { .. }) && !is_distinct).collect();
        similar.sort_by(|a, b| b.score.total_cmp(&a.score));
        let to: Vec<(Text<64>, f32)> =
            similar.iter().filter_map(|alike| Some((alike.learning()?.clone(), alike.score))).collect();
        if to.is_empty() {
            return CandidateFate::Kept { misses: misses(&mine), supersedes: None };
        }
        let names: Vec<String> = similar
            .iter()
            .take(3)
            .filter_map(|alike| {
                Some(format!("`{}` ({})", quoted(alike.learning()?.as_str()), quoted(alike.summary.as_str())))
            })
            .collect();
        CandidateFate::Similar { to, reason: Text::new(format!("similar to {}", names.join(", "))) }
    }

    /// Applies the author's decision.
    fn resolve(
        &self,
        asked: &GateRequest<'_>,
        mine: &[&SimilarScore],
        count: usize,
    ) -> Option<CandidateFate> {
        let resolution = asked.resolution?;
        let named = asked.around.named.as_ref().filter(|_| resolution.names().is_some())?;
        // A submission with a single candidate means that candidate, whatever its words.
        let is_meant = count == 1 || mine.iter().any(|alike| alike.learning() == Some(&named.id));
        if !is_meant {
            return None;
        }
        if place(named.candidate.scope) != place(self.candidate.scope) {
            let reason =
                format!("`{}` has another scope: a learning cannot replace one of another scope", named.id);
            return Some(CandidateFate::Rejected { stage: WriteGateStep::Scope, reason: Text::new(reason) });
        }
        Some(match resolution {
            SimilarResolution::Merge(_) => {
                CandidateFate::Merged { into: Box::new(merged(named, &self.candidate)) }
            }
            SimilarResolution::Supersede(_) => {
                CandidateFate::Kept { misses: misses(mine), supersedes: Some(named.id.clone()) }
            }
            SimilarResolution::Distinct(_) => return None,
        })
    }
}

impl SimilarScore {
    fn learning(&self) -> Option<&Text<64>> {
        match &self.to {
            SimilarTo::Learning { id, .. } => Some(id),
            SimilarTo::Candidate(_) | SimilarTo::Rejection { .. } => None,
        }
    }

    /// Reports whether the similarity counts. A candidate that was not stored does not.
    fn counts(&self, before: &[JudgedCandidate]) -> bool {
        match self.to {
            SimilarTo::Candidate(index) => before.iter().any(|judged| {
                judged.index == index
                    && matches!(judged.fate, CandidateFate::Kept { .. } | CandidateFate::Merged { .. })
            }),
            SimilarTo::Learning { .. } | SimilarTo::Rejection { .. } => true,
        }
    }
}

fn misses(mine: &[&SimilarScore]) -> Vec<(Text<32>, f32)> {
    let stage = |alike: &&SimilarScore| match &alike.to {
        SimilarTo::Rejection { stage } => Some((stage.clone(), alike.score)),
        SimilarTo::Learning { .. } | SimilarTo::Candidate(_) => None,
    };
    mine.iter().filter_map(stage).collect()
}

/// Returns the old learning with the new text, and the tags, files, evidence and criteria of both.
fn merged(old: &Learning, new: &Candidate) -> Learning {
    let mut merged = old.clone();
    let old = &old.candidate;
    let mut candidate = Candidate { scope: old.scope, ..new.clone() };
    extend(&mut candidate.tags, &old.tags, crate::learning::TAGS_MOST);
    extend(&mut candidate.context_files, &old.context_files, crate::learning::FILES_MOST);
    extend(&mut candidate.evidence, &old.evidence, crate::learning::EVIDENCE_MOST);
    extend(&mut candidate.criteria_met, &old.criteria_met, KeepReason::ALL.len());
    candidate.confidence = if old.confidence < new.confidence { old.confidence } else { new.confidence };
    merged.candidate = candidate;
    merged
}

fn extend<T: Clone + PartialEq>(items: &mut Vec<T>, more: &[T], most: usize) {
    for item in more {
        if items.len() < most && !items.contains(item) {
            items.push(item.clone());
        }
    }
}

fn describe(criterion: KeepReason) -> String {
    format!("`{}`: {}", criterion.name(), plausibility::wanted(criterion))
}

/// Returns the lower confidence. High comes first in the order of the enum.
fn at_most(given: Confidence, most: Confidence) -> Confidence {
    given.max(most)
}

fn lower(given: Confidence) -> Confidence {
    match given {
        Confidence::High => Confidence::Medium,
        Confidence::Medium | Confidence::Low => Confidence::Low,
    }
}

pub mod evidence;
pub mod plausibility;
pub mod rejected;
pub mod specificity;
#[cfg(test)]
mod tests;
