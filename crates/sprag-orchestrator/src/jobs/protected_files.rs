//! Files that no agent of a plan may change: what Sprag keeps in the repository, and what says so on its first line.
//! Looked for where work is claimed to be done, and again in what would land, whoever let it come so far.

use std::collections::BTreeSet;
use std::path::Path;

use sprag_base::text::quoted;
use sprag_host::git::protected_marks::{self, Touched};
use sprag_host::git::refs::GitError;
use sprag_plan::spec::StageKind;

/// Our own place in a repository.
const OURS: &str = ".sprag/";
/// What is made of learnings, which a stage for that makes anew.
const MADE: [&str; 3] = [".sprag/knowledge/", ".sprag/share/", ".sprag/learnings.md"];
/// Files that are named.
const SHOWN: usize = 10;

/// Who may change some of them after all.
pub(crate) struct ProtectedException<'a> {
    pub kind: StageKind,
    /// A commit of people that the head is there to merge: what they changed is theirs.
    pub theirs: Option<&'a str>,
}

/// A head, and the trunk it is to go to.
pub(crate) struct MergeSides<'a> {
    /// The last commit of the trunk.
    pub tip: &'a str,
    pub head: &'a str,
    /// Where they parted.
    pub base: &'a str,
    /// What the head has changed since.
    pub touched: &'a [Touched],
}

/// What was damaged on the way to a head, in words for whoever has to mend it.
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
    // As it was when both parted, and as it is where it is to go: a mark may have come in between. What was not there had
    // none.
    let before: Vec<Touched> = others.iter().filter(|it| it.before.is_some()).cloned().collect();
    damaged.extend(protected_marks::marked(dir, sides.base, &before)?);
    if sides.tip != sides.base {
        let known: Vec<Vec<u8>> = damaged.iter().map(|it| it.path.clone()).collect();
        let more: Vec<Touched> = others.into_iter().filter(|it| !known.contains(&it.path)).collect();
        damaged.extend(protected_marks::marked(dir, sides.tip, &more)?);
    }
    Ok((!damaged.is_empty()).then(|| describe(&damaged, sides.base)))
}

/// Also the place itself, which could be a link to another one.
fn is_ours(path: &[u8]) -> bool {
    path.starts_with(OURS.as_bytes()) || path == OURS.trim_end_matches('/').as_bytes()
}

fn describe(damaged: &[Touched], base: &str) -> String {
    let mut text = format!("{} protected files were changed, which no stage may do", damaged.len());
    for it in damaged.iter().take(SHOWN) {
        let (path, word) = (quoted(&String::from_utf8_lossy(&it.path)), word(&it.path));
        match &it.before {
            Some(blob) => text.push_str(&format!(
                "\n- `{path}` was `{blob}`; to bring it back: git checkout {base} -- {word}"
            )),
            None => {
                text.push_str(&format!("\n- `{path}` was not there; to take it away: git rm -f -- {word}"))
            }
        }
    }
    if damaged.len() > SHOWN {
        text.push_str(&format!("\n- and {} more", damaged.len() - SHOWN));
    }
    text
}

/// A path as a word of a command line: in quotes, or by its bytes where those would not come through as they are.
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
