//! Failures of the commands of `sprag trace`.

use std::path::Path;

use sprag_base::text::quoted;

use super::{ExitKind, Failure};

impl Failure {
    pub(crate) fn hook_taken(path: &Path) -> Failure {
        let message = format!("git hook `{}` exists already, and Sprag did not write it", path.display());
        Failure::new(ExitKind::No, "hook_taken", message)
            .next("let that hook also pass its stdin to `sprag trace rewritten`")
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
        let message = format!("`{}` is not a range of lines; the file has {count} lines", quoted(lines));
        Failure::new(ExitKind::Usage, "bad_lines", message).next("sprag trace blame FILE -L 1,10")
    }
}
