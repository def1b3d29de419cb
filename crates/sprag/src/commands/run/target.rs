//! Explains why the target branch does not move to the merged work.

use sprag_base::text::quoted_list;
use sprag_plan::run::record::TargetHeld;

/// Returns the reason why the target does not move, and the command to run next.
pub(crate) fn describe(why: &TargetHeld, branch: &str, trunk: &str) -> String {
    let what = match why {
        TargetHeld::Rewritten { .. } => {
            format!("`{branch}` lost commits that it had when the run started; Sprag does not move it")
        }
        TargetHeld::Gone => format!("`{branch}` was deleted; Sprag does not create it again"),
        TargetHeld::Conflicted { paths, .. } => {
            let paths = quoted_list(paths.iter().take(5));
            format!("`{branch}` has commits that conflict with the trunk: {paths}")
        }
        TargetHeld::Red { report, .. } => {
            format!("the merge checks of the plan fail with commits of `{branch}`: {report}")
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
