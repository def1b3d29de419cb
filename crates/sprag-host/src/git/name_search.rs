//! Finds files of a repository that contain a name.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use super::{GitQuery, ask, is_object_name};
use crate::sys::exec::ProcessEnd;

/// A large tree takes long to read, and the verdict waits for this.
const DEADLINE: Duration = Duration::from_secs(10);
/// Maximum bytes of listed file names.
const CAP: usize = 1024 * 1024;
/// Maximum names in one query.
const MOST: usize = 200;

/// The files to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchTree<'a> {
    /// Files of a commit or tree, by its full name.
    Of(&'a str),
    /// Files of the index.
    Staged,
    /// Files of the worktree, tracked or not.
    Worktree,
}

/// Returns files that contain one of `names` as a word. `None` if git failed or was too late.
pub fn files_with(worktree: &Path, tree: SearchTree<'_>, names: &BTreeSet<String>) -> Option<Vec<String>> {
    if names.is_empty() {
        return Some(Vec::new());
    }
    if names.len() > MOST || names.iter().any(|name| name.is_empty() || name.contains('\n')) {
        return None;
    }
    // The search includes files that attributes mark as binary.
    let mut args =
        vec!["grep", "-l", "-z", "-a", "-w", "-F", "--full-name", "--no-color", "--no-recurse-submodules"];
    args.extend(match tree {
        SearchTree::Worktree => Some("--untracked"),
        SearchTree::Staged => Some("--cached"),
        SearchTree::Of(_) => None,
    });
    args.extend(names.iter().flat_map(|name| ["-e", name.as_str()]));
    if let SearchTree::Of(name) = tree {
        args.push(Some(name).filter(|name| is_object_name(name))?);
    }
    args.push("--");
    let question = GitQuery { args: &args, env: &[], stdin: b"", deadline: DEADLINE, cap: CAP };
    let ran = ask(worktree, &question)?;
    match ran.ending {
        ProcessEnd::Code(0) if ran.stdout.len() < CAP => Some(listed(&ran.stdout, tree)),
        // Exit code 1: no file matches.
        ProcessEnd::Code(1) if ran.stdout.is_empty() => Some(Vec::new()),
        _ => None,
    }
}

/// Parses the list of files. In a tree git puts the tree's name before each path.
fn listed(stdout: &[u8], tree: SearchTree<'_>) -> Vec<String> {
    let entries = stdout.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    entries
        .map(|entry| String::from_utf8_lossy(entry).into_owned())
        .map(|entry| match tree {
            SearchTree::Of(name) => {
                entry.strip_prefix(&format!("{name}:")).map(str::to_owned).unwrap_or(entry)
            }
            SearchTree::Staged | SearchTree::Worktree => entry,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::scratch::Scratch;

    #[test]
    fn a_name_is_found_as_a_word_wherever_it_lies() {
        let scratch = Scratch::new();
        scratch.commit("a.py", "def load(): pass\n");
        let commit = scratch.commit("b.py", "from a import load\nreload = 1\n");
        let find = |tree: SearchTree<'_>, names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            files_with(scratch.dir(), tree, &names)
        };
        let both = Some(vec!["a.py".to_owned(), "b.py".to_owned()]);
        assert_eq!(find(SearchTree::Of(&commit), &["load"]), both);
        assert_eq!(find(SearchTree::Of(&commit), &["loa", "oad"]), Some(Vec::new()));
        assert_eq!(find(SearchTree::Of(&commit), &["reload", "-e"]), Some(vec!["b.py".to_owned()]));
        std::fs::write(scratch.dir().join("new.py"), "import reload\n").unwrap();
        assert_eq!(find(SearchTree::Staged, &["reload"]), Some(vec!["b.py".to_owned()]));
        let with_new = Some(vec!["b.py".to_owned(), "new.py".to_owned()]);
        assert_eq!(find(SearchTree::Worktree, &["reload"]), with_new);
        assert_eq!(find(SearchTree::Of("HEAD"), &["load"]), None, "a name that may become another commit's");
        assert_eq!(find(SearchTree::Of(&commit), &[]), Some(Vec::new()));
        assert_eq!(find(SearchTree::Of(&commit), &["a\nb"]), None);
    }
}
