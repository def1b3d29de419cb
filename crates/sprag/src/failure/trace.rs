//! What can be wrong when somebody asks who wrote a line.

use std::path::Path;

use sprag_base::text::quoted;

use super::{ExitKind, Failure};

impl Failure {
    pub(crate) fn hook_taken(path: &Path) -> Failure {
        let message = format!("`{}` is somebody else's", path.display());
        Failure::new(ExitKind::No, "hook_taken", message)
            .next("let that hook run `sprag trace rewritten` with what it reads from its stdin")
    }

    pub(crate) fn no_such_file(file: &Path) -> Failure {
        let name = quoted(&file.display().to_string());
        Failure::new(ExitKind::No, "no_file", format!("there is no file `{name}` in this worktree"))
            .next("git ls-files")
    }

    pub(crate) fn not_blamed(file: &Path, why: &str) -> Failure {
        let name = quoted(&file.display().to_string());
        Failure::new(ExitKind::No, "not_blamed", format!("`{name}` {why}")).next("sprag trace blame FILE")
    }

    pub(crate) fn bad_lines(lines: &str, count: usize) -> Failure {
        let message = format!("`{}` names no lines of a file that has {count}", quoted(lines));
        Failure::new(ExitKind::Usage, "bad_lines", message).next("sprag trace blame FILE -L 1,10")
    }
}
