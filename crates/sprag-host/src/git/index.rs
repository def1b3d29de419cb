//! Reads from the bytes of an index whether it contains only files and links. Sprag asks this several times
//! for each worktree of an agent, so it avoids a git process. For an unusual index the caller asks git.

/// Bytes of an entry: times, device, mode, owner and size of a file, its object name and flags.
const ENTRY: usize = 40 + HASH + 2;
const MODE: usize = 24;
const HASH: usize = 20;
/// Git reads a longer index in several threads, at offsets that an extension names.
const MOST: u32 = 10_000;
/// Extensions after the entries that do not change the list of entries.
const HARMLESS: [&[u8]; 4] = [b"TREE", b"REUC", b"UNTR", b"FSMN"];

/// Reports whether the index contains only files and links. False may also mean unknown. The repository must
/// use SHA-1 names.
pub(crate) fn holds_files_alone(index: &[u8]) -> bool {
    read(index).is_some()
}

fn read(index: &[u8]) -> Option<()> {
    let count = number(index, 8)?;
    // Version 4 shortens each name by the name before it.
    if index.get(..4)? != b"DIRC" || !matches!(number(index, 4)?, 2 | 3) || count > MOST {
        return None;
    }
    let mut at = 12;
    for _ in 0..count {
        let entry = index.get(at..at + ENTRY)?;
        // Compare the whole mode, because git checks only some of its bits.
        if !matches!(number(entry, MODE)?, 0o100_644 | 0o100_755 | 0o120_000) {
            return None;
        }
        let flags = u16::from_be_bytes(entry[ENTRY - 2..].try_into().ok()?);
        let more = if flags & 0x4000 == 0 { 0 } else { 2 };
        let name = usize::from(flags & 0xfff);
        if name == 0xfff {
            return None;
        }
        at += (ENTRY + more + name + 8) & !7;
    }
    let end = index.len().checked_sub(HASH)?;
    while at < end {
        let size = usize::try_from(number(index, at + 4)?).ok()?;
        if !HARMLESS.contains(&index.get(at..at + 4)?) {
            return None;
        }
        at = at.checked_add(8)?.checked_add(size)?;
    }
    (at == end).then_some(())
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::git::scratch::Scratch;

    fn index(git: &Scratch) -> Vec<u8> {
        fs::read(git.dir().join(".git/index")).unwrap()
    }

    /// Creates a repository with all kinds of files, in directories, staged, and with extended flags.
    fn mixed() -> Scratch {
        let git = Scratch::new();
        git.commit("a", "1");
        fs::create_dir_all(git.dir().join("deep/er")).unwrap();
        for length in 1..40 {
            fs::write(git.dir().join("deep/er").join("x".repeat(length)), "x").unwrap();
        }
        symlink("a", git.dir().join("link")).unwrap();
        git.run(&["add", "-A"]);
        git.run(&["update-index", "--chmod=+x", "a"]);
        fs::write(git.dir().join("later"), "x").unwrap();
        git.run(&["add", "--intent-to-add", "later"]);
        git
    }

    #[test]
    fn files_and_links_are_told_without_git() {
        let git = mixed();
        assert!(holds_files_alone(&index(&git)));
        git.run(&["status"]);
        git.run(&["commit", "-q", "-m", "all"]);
        assert!(holds_files_alone(&index(&git)), "with cached trees");
    }

    #[test]
    fn a_repository_within_is_left_for_git_to_say() {
        let git = mixed();
        git.run(&["init", "-q", "inner"]);
        fs::write(git.dir().join("inner/x"), "work").unwrap();
        git.run_in(&git.dir().join("inner"), &["add", "-A"]);
        git.run_in(&git.dir().join("inner"), &["commit", "-q", "-m", "inner"]);
        git.run(&["-c", "advice.addEmbeddedRepo=false", "add", "inner"]);
        assert!(!holds_files_alone(&index(&git)));
    }

    /// An attacker may write an index that hides entries from Sprag but not from git.
    #[test]
    fn an_index_that_was_tampered_with_is_left_for_git_to_say() {
        let git = mixed();
        let whole = index(&git);
        for mode in [0o160_000, 0o160_644, 0o1_160_000, 0o040_000] {
            let mut odd = whole.clone();
            odd[12 + MODE..12 + MODE + 4].copy_from_slice(&u32::to_be_bytes(mode));
            assert!(!holds_files_alone(&odd), "{mode:o}");
        }
        let mut fewer = whole.clone();
        let count = number(&whole, 8).unwrap();
        fewer[8..12].copy_from_slice(&u32::to_be_bytes(count - 1));
        assert!(!holds_files_alone(&fewer), "an entry is not an extension");
        assert!((0..whole.len() / 2).all(|length| !holds_files_alone(&whole[..length])), "half of one");
        let mut more = whole;
        more.extend_from_slice(b"link\0\0\0\0");
        assert!(!holds_files_alone(&more), "the rest is in another file");
    }

    #[test]
    fn other_forms_are_left_for_git_to_say() {
        let git = mixed();
        git.run(&["update-index", "--index-version", "4"]);
        assert!(!holds_files_alone(&index(&git)));
        let git = mixed();
        git.run(&["update-index", "--split-index"]);
        assert!(!holds_files_alone(&index(&git)));
    }
}
