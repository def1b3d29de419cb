//! Checks that a file has at most 500 lines. A longer file is a table with a reason here, or needs a split.

use crate::tidy::source::Source;
use crate::tidy::tree::Tree;
use crate::tidy::{Check, Finding};

pub const CHECK: Check =
    Check { name: "length", about: "no Rust file over 500 lines, imports aside, without a reason", find };

const MOST: usize = 500;

struct Long {
    path: &'static str,
    /// The reason why it stays one file.
    reason: &'static str,
}

const LONG: &[Long] = &[
    Long {
        path: "crates/sprag-plan/src/sentences.rs",
        reason: "a table with a sentence for each fact of a run",
    },
    Long {
        path: "crates/sprag-host/src/worktree/protect/snapshot.rs",
        reason: "one walk over the sealed files: compare, undo and seal share their stamps",
    },
    Long {
        path: "crates/sprag-policy/src/pattern/subject.rs",
        reason: "one match of patterns against a call",
    },
];

/// Counts the lines of a file without its imports, because one `use` for each module takes many lines.
fn lines(source: &Source) -> usize {
    let imports = source.find("use").into_iter().filter_map(|rest| {
        let end = rest.iter().find(|token| token.text == ";")?;
        Some(end.line + 1 - rest[0].line)
    });
    source.lines.saturating_sub(imports.sum())
}

fn find(tree: &Tree) -> Vec<Finding> {
    let long = tree.rust.iter().filter(|source| lines(source) > MOST);
    let unlisted = long.filter(|source| !LONG.iter().any(|long| long.path == source.path));
    let too_long = unlisted.map(|source| {
        Finding::new(
            &source.path,
            MOST + 1,
            format!("{} lines: split the file, or list it with a reason", lines(source)),
        )
    });
    // A reason without its file would apply to the next file of that name.
    let stale = LONG
        .iter()
        .filter(|long| !tree.rust.iter().any(|source| source.path == long.path && source.lines > MOST));
    let stale = stale.map(|long| {
        Finding::new(long.path, 1, format!("listed as long ({}), but the file is not long", long.reason))
    });
    too_long.chain(stale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_to_five_hundred() {
        let (fine, long) = ("// x\n".repeat(500), "// x\n".repeat(501));
        let found = find(&Tree::of(&[("xtask/src/a.rs", &fine), ("xtask/src/b.rs", &long)]));
        assert_eq!(found.len(), 1 + LONG.len(), "a reason without its file is a finding too");
        assert_eq!(
            found[0].to_string(),
            "xtask/src/b.rs:501: 501 lines: split the file, or list it with a reason"
        );
    }
}
