//! Decides whether Sprag may copy the content of a file. Files that git ignores and files that look secret
//! are known by their hash only.

use std::ffi::OsStr;
use std::path::Path;

use sprag_base::redact;

use super::run;
use crate::sys::exec::ProcessEnd;

/// Most bytes that are searched for secrets. Sprag copies no larger file.
const SEARCHED: usize = 1024 * 1024;

/// Reports whether Sprag may copy this content of a file. `path` is absolute.
pub(crate) fn may_copy(worktree: Option<&Path>, path: &Path, text: &[u8]) -> bool {
    text.len() <= SEARCHED
        && !redact::is_secret_name(&path.to_string_lossy())
        && redact::kind(&String::from_utf8_lossy(text)).is_none()
        && !is_ignored(worktree, path)
}

/// Reports whether git ignores a file, by the rules of the repository in which the file is. If git fails
/// below the worktree, the file counts as ignored.
fn is_ignored(worktree: Option<&Path>, path: &Path) -> bool {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name().and_then(OsStr::to_str)) else {
        return true;
    };
    let end = run(dir, &["check-ignore", "--quiet", "--", name], &[]).map(|ran| ran.ending);
    // Git reports 1 for a file that is not ignored, and counts a tracked file as one of these.
    match end {
        Some(ProcessEnd::Code(0)) => true,
        Some(ProcessEnd::Code(1)) => false,
        _ => worktree.is_some_and(|worktree| path.starts_with(worktree)),
    }
}
