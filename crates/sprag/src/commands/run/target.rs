//! Why merged work does not reach the target, for people.

use sprag_plan::run::record::TargetHeld;

/// Why the target is not moved on, and what helps.
pub(crate) fn describe(why: &TargetHeld, branch: &str, trunk: &str) -> String {
    let what = match why {
        TargetHeld::Rewritten { .. } => {
            format!("`{branch}` does not have any more what it had when the run began, and is left as it is")
        }
        TargetHeld::Gone => format!("`{branch}` is gone, and is not made again"),
        TargetHeld::Conflicted { paths, .. } => {
            let paths: Vec<String> = paths.iter().take(5).map(|path| format!("`{path}`")).collect();
            format!("`{branch}` has commits that do not go with the trunk: {}", paths.join(", "))
        }
        TargetHeld::Red { report, .. } => {
            format!("`{branch}` has commits with which the gates of the plan fail: {report}")
        }
    };
    let next = match why {
        TargetHeld::Gone => format!("git branch {branch} {trunk}"),
        TargetHeld::Rewritten { .. } | TargetHeld::Conflicted { .. } | TargetHeld::Red { .. } => {
            format!("git switch {branch} && git merge {trunk}")
        }
    };
    format!("sprag: {what}\n  next: {next}")
}
