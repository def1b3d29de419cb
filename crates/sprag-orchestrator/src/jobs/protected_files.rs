//! Finds changes to protected files: Sprag's files in the repository, and files with a protection mark on the
//! first line. Sprag checks claimed work and, again, each merge candidate.

use std::collections::BTreeSet;
use std::path::Path;

use sprag_base::text::quoted;
use sprag_host::git::protected_marks::{self, Touched};
use sprag_host::git::refs::GitError;
use sprag_plan::spec::StageKind;

/// Sprag's folder in a repository.
const OURS: &str = ".sprag/";
/// Generated from learnings; a knowledge stage may regenerate them.
const MADE: [&str; 3] = [".sprag/knowledge/", ".sprag/share/", ".sprag/learnings.md"];
/// Maximum number of files in the report.
const SHOWN: usize = 10;

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
    Ok((!damaged.is_empty()).then(|| describe(&damaged, sides.base)))
}

/// Reports whether a path is Sprag's folder or inside it. The folder name counts too, because it could become
/// a link.
fn is_ours(path: &[u8]) -> bool {
    path.starts_with(OURS.as_bytes()) || path == OURS.trim_end_matches('/').as_bytes()
}

fn describe(damaged: &[Touched], base: &str) -> String {
    let mut text = format!("{} protected files changed; no stage may change them", damaged.len());
    for it in damaged.iter().take(SHOWN) {
        let (path, word) = (quoted(&String::from_utf8_lossy(&it.path)), word(&it.path));
        match &it.before {
            Some(blob) => text.push_str(&format!(
                "\n- `{path}` was `{blob}`; restore it with: git checkout {base} -- {word}"
            )),
            None => {
                text.push_str(&format!("\n- `{path}` was newly added; remove it with: git rm -f -- {word}"))
            }
        }
    }
    if damaged.len() > SHOWN {
        text.push_str(&format!("\n- and {} more", damaged.len() - SHOWN));
    }
    text
}

/// Quotes a path for a shell command; encodes its bytes if quotes are not enough.
fn word(path: &[u8]) -> String {
    let is_plain = |text: &&str| !text.contains(['\'', '`']) && !text.contains(char::is_control);
    match std::str::from_utf8(path).ok().filter(is_plain) {
        Some(text) => format!("'{text}'"),
        None => {
            let bytes: String = path.iter().map(|byte| format!("\\{byte:03o}")).collect();
            format!("\"$(printf '{bytes}')\"")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_brings_a_file_back_names_it_by_its_bytes() {
        assert_eq!(word(b"docs/a b.md"), "'docs/a b.md'");
        assert_eq!(word(b"a\xff"), "\"$(printf '\\141\\377')\"");
        assert_eq!(word(b"it's"), "\"$(printf '\\151\\164\\047\\163')\"");
    }
}
