//! Finds changes to protected files: Sprag's files in the repository, and files with a protection mark on the
//! first line. Sprag checks claimed work and, again, each merge candidate.

use std::collections::BTreeSet;
use std::path::Path;

use sprag_host::git::protected_marks::{self, Touched};
use sprag_host::git::refs::GitError;
use sprag_plan::sentences::protected_files_changed;
use sprag_plan::spec::StageKind;

/// Sprag's folder in a repository.
const OURS: &str = ".sprag/";
/// Generated from learnings; a knowledge stage may regenerate them.
const MADE: [&str; 3] = [".sprag/knowledge/", ".sprag/share/", ".sprag/learnings.md"];

/// The exceptions of a stage.
pub(crate) struct ProtectedException<'a> {
    pub kind: StageKind,
    /// A commit of people that the head merges; their changes are allowed.
    pub theirs: Option<&'a str>,
}

/// A head, and the trunk it merges into.
pub(crate) struct MergeSides<'a> {
    /// The last commit of the trunk.
    pub tip: &'a str,
    pub head: &'a str,
    /// The merge base.
    pub base: &'a str,
    /// The files that the head changed since the base.
    pub touched: &'a [Touched],
}

/// Returns a report about changed protected files, with commands that restore them.
pub(crate) fn damage(
    dir: &Path,
    sides: &MergeSides<'_>,
    right: &ProtectedException<'_>,
) -> Result<Option<String>, GitError> {
    let mut all = sides.touched.to_vec();
    if let Some(theirs) = right.theirs {
        let other: BTreeSet<Vec<u8>> =
            protected_marks::touched(dir, theirs, sides.head)?.into_iter().map(|it| it.path).collect();
        all.retain(|it| other.contains(&it.path));
    }
    let is_made = |it: &Touched| {
        right.kind == StageKind::KnowledgeDistill
            && MADE.iter().any(|made| it.path.starts_with(made.as_bytes()))
    };
    let (ours, others): (Vec<Touched>, Vec<Touched>) =
        all.into_iter().filter(|it| !is_made(it)).partition(|it| is_ours(&it.path));
    if ours.is_empty() && others.is_empty() {
        return Ok(None);
    }
    let mut damaged = ours;
    // Marks are read at the merge base and at the tip, because a mark may have been added in between. A new
    // file had none.
    let before: Vec<Touched> = others.iter().filter(|it| it.before.is_some()).cloned().collect();
    damaged.extend(protected_marks::marked(dir, sides.base, &before)?);
    if sides.tip != sides.base {
        let known: Vec<Vec<u8>> = damaged.iter().map(|it| it.path.clone()).collect();
        let more: Vec<Touched> = others.into_iter().filter(|it| !known.contains(&it.path)).collect();
        damaged.extend(protected_marks::marked(dir, sides.tip, &more)?);
    }
    let changes: Vec<_> = damaged.iter().map(|it| (it.path.as_slice(), it.before.as_deref())).collect();
    Ok((!changes.is_empty()).then(|| protected_files_changed(&changes, sides.base)))
}

/// Reports whether a path is Sprag's folder or inside it. The folder name counts too, because it could become
/// a link.
fn is_ours(path: &[u8]) -> bool {
    path.starts_with(OURS.as_bytes()) || path == OURS.trim_end_matches('/').as_bytes()
}
