//! Classifies the syntax of a change: whether behaviour changed, and in which functions.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use sprag_base::redact;
use sprag_base::text::Text;
use sprag_govern::gates::trace::Settings;
use sprag_syntax::{ChangeJudgement, ChangeSet, Claims, Lang, NodeBudget};
use sprag_trace::{BehaviourWitness, FilePosition, RecordedClassification, TracedFile, TracedUnit, UNITS};

use super::comments;
use crate::git::name_search::{self, SearchTree};

/// One file of a change, on both sides.
pub struct FileSides<'a> {
    pub path_before: Option<&'a str>,
    pub path_after: Option<&'a str>,
    pub before: Option<&'a [u8]>,
    pub after: Option<&'a [u8]>,
}

/// Most bytes that are parsed after a write; a limit on nodes does not bound the parsing.
const WRITE_BYTES: usize = 256 * 1024;
/// Most bytes of a whole change.
const CHANGE_BYTES: usize = 32 * 1024 * 1024;
/// Most bytes of a file that is parsed for its functions.
const UNIT_BYTES: usize = 128 * 1024;

/// Classifies a single write.
pub fn write(sides: &[FileSides<'_>], policy: &Settings) -> RecordedClassification {
    with_docs(judge(sides, NodeBudget::WRITE, WRITE_BYTES, None), sides, policy)
}

/// Classifies a whole change, with the tree around it.
pub fn whole(
    sides: &[FileSides<'_>],
    around: Option<&TreeAfter<'_>>,
    policy: &Settings,
) -> RecordedClassification {
    with_docs(judge(sides, NodeBudget::COMMIT, CHANGE_BYTES, around), sides, policy)
}

/// The tree after a change.
pub struct TreeAfter<'a> {
    pub worktree: &'a Path,
    pub tree: SearchTree<'a>,
}

impl TreeAfter<'_> {
    /// Confirms a proof only if no other file uses the names that the proof claims.
    pub fn settle(&self, judgement: ChangeJudgement, paths: &[&str]) -> ChangeJudgement {
        let is_alone = self.stranger(&judgement.claims, paths).is_ok_and(|file| file.is_none());
        if is_alone { judgement.confirmed_in_tree() } else { judgement.refuted_in_tree() }
    }

    /// Returns a file outside `paths` that uses one of the names.
    pub fn stranger(&self, claims: &Claims, paths: &[&str]) -> Result<Option<String>, Unasked> {
        let files = name_search::files_with(self.worktree, self.tree, claims).ok_or(Unasked)?;
        let is_stranger = |file: &String| {
            !paths.contains(&file.as_str()) && !is_document(file) && !file.starts_with(".sprag/")
        };
        Ok(files.into_iter().find(is_stranger))
    }
}

/// Error: git could not search the names.
#[derive(Debug)]
pub struct Unasked;

/// Reports whether a file is a document; its text counts like comments.
pub fn is_document(path: &str) -> bool {
    [".md", ".rst", ".adoc"].iter().any(|ending| path.ends_with(ending))
}

/// Returns a change instead of a proof if comments differ and count as behaviour.
fn with_docs(
    verdict: RecordedClassification,
    sides: &[FileSides<'_>],
    policy: &Settings,
) -> RecordedClassification {
    match verdict {
        RecordedClassification::Proved { .. } if policy.docs_are_behaviour => {
            match comments::difference(sides) {
                Some(witness) => RecordedClassification::Changed { witness },
                None => verdict,
            }
        }
        verdict => verdict,
    }
}

fn judge(
    sides: &[FileSides<'_>],
    budget: NodeBudget,
    most: usize,
    around: Option<&TreeAfter<'_>>,
) -> RecordedClassification {
    let bytes: usize =
        sides.iter().flat_map(|side| [side.before, side.after]).flatten().map(<[u8]>::len).sum();
    if sides.is_empty() {
        return RecordedClassification::unproven("bad_input");
    }
    if bytes > most {
        return RecordedClassification::unproven("too_large");
    }
    // A lost record of a change would be worse than an unknown classification.
    let judged = catch_unwind(AssertUnwindSafe(|| sprag_syntax::classify(&change(sides), budget)));
    let Ok(judged) = judged else { return RecordedClassification::unproven("bad_input") };
    to_recorded(match around {
        Some(around) => around.settle(judged, &paths(sides)),
        None => judged,
    })
}

/// Returns the old and new paths of the files.
pub fn paths<'a>(sides: &[FileSides<'a>]) -> Vec<&'a str> {
    sides.iter().flat_map(|side| [side.path_before, side.path_after]).flatten().collect()
}

pub fn change<'a>(sides: &[FileSides<'a>]) -> ChangeSet<'a> {
    let files = sides.iter().map(|side| sprag_syntax::ChangedFile {
        path_before: side.path_before,
        path_after: side.path_after,
        before: side.before,
        after: side.after,
    });
    ChangeSet { files: files.collect() }
}

fn to_recorded(judgement: ChangeJudgement) -> RecordedClassification {
    match judgement.verdict {
        sprag_syntax::Classification::Proved(proof) => {
            let value = serde_json::to_value(&proof).unwrap_or_default();
            // Records are redacted. A proof that redaction changes could not be checked again.
            if redact::value(value.clone()).into_inner() != value {
                return RecordedClassification::unproven("bad_input");
            }
            let level = judgement.level.map_or("", sprag_syntax::ProofLevel::name);
            RecordedClassification::Proved { level: Text::from(level), proof: value }
        }
        sprag_syntax::Classification::Changed(witness) => {
            let spot = |excerpt: sprag_syntax::Excerpt| FilePosition {
                line: excerpt.line,
                text: redact::short(&excerpt.text),
            };
            RecordedClassification::Changed {
                witness: BehaviourWitness {
                    path: Text::from(witness.path.as_str()),
                    unit: Some(witness.unit).filter(|unit| !unit.is_empty()).map(|unit| redact::short(&unit)),
                    before: witness.before.map(spot),
                    after: witness.after.map(spot),
                },
            }
        }
        sprag_syntax::Classification::Unproven(reason) => RecordedClassification::unproven(reason.name()),
    }
}

/// Names the functions and types that contain the new lines of a file, the innermost ones.
pub fn name_units(file: &mut TracedFile, text: &[u8]) {
    let Some(lang) = Lang::of_path(&file.path).filter(|_| text.len() <= UNIT_BYTES) else {
        return;
    };
    let units = catch_unwind(|| sprag_syntax::units(lang, text)).unwrap_or_default();
    file.units = touched(&units, &file.ranges);
}

fn touched(units: &[sprag_syntax::Unit], ranges: &[sprag_trace::LineRange]) -> Vec<TracedUnit> {
    let mut found: Vec<&sprag_syntax::Unit> = Vec::new();
    for range in ranges {
        let meets =
            |unit: &&sprag_syntax::Unit| *unit.lines.start() <= range.end && range.start <= *unit.lines.end();
        let meeting: Vec<&sprag_syntax::Unit> = units.iter().filter(meets).collect();
        let has_inner = |outer: &sprag_syntax::Unit| {
            let is_within = |inner: &&sprag_syntax::Unit| {
                inner.lines != outer.lines
                    && outer.lines.contains(inner.lines.start())
                    && outer.lines.contains(inner.lines.end())
            };
            // A range inside an inner unit belongs to that unit.
            meeting.iter().filter(|it| is_within(it)).any(|inner| {
                inner.lines.contains(&range.start.max(*outer.lines.start()))
                    && inner.lines.contains(&range.end.min(*outer.lines.end()))
            })
        };
        for unit in &meeting {
            if !has_inner(unit) && !found.iter().any(|known| std::ptr::eq(*known, *unit)) {
                found.push(unit);
            }
        }
        if found.len() >= UNITS {
            break;
        }
    }
    found.into_iter().take(UNITS).map(unit).collect()
}

fn unit(unit: &sprag_syntax::Unit) -> TracedUnit {
    let kind = match unit.kind {
        sprag_syntax::UnitKind::Function => "fn",
        sprag_syntax::UnitKind::Type => "type",
    };
    TracedUnit {
        unit: redact::short(&format!("{kind} {}", unit.name)),
        start: *unit.lines.start(),
        end: *unit.lines.end(),
        hash: Text::from(unit.hash.as_str()),
    }
}
