//! Checks whether the paths that a call would change are in the scope of an intent: as named, and with links
//! followed.

use sprag_base::glob::CaseFolding;
use sprag_base::path as base_path;
use sprag_base::text::Text;
use sprag_intent::{Intent, ScopeFacts, ScopedPath, WriteReach};

/// Paths relative to the worktree that are protected in every scope.
const PROTECTED: &[&str] = &[".sprag", ".orchestration", ".intentignore"];

/// Devices that a write does not change.
const SINKS: &[&str] =
    &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/full", "/dev/fd"];

/// Programs that may restore or remove stray files.
const UNDOING: &[&str] = &["git", "rm", "unlink"];

/// Programs that remove everything below a path.
const REMOVING: &[&str] = &["rm", "shred", "trash", "mv"];

/// Why a call is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ScopeViolation<'a> {
    Protected { named: &'a str },
    Outside { named: &'a str, at: ScopeLocation },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ScopeLocation {
    /// Relative to the worktree.
    Here(String),
    /// A path outside the repository.
    Elsewhere(String),
    /// The path exists and is not a regular file.
    Special,
}

/// Returns the first path that a call must not change. Protected paths come first.
pub(crate) fn first<'a>(
    intent: &Intent,
    intents: &'a ScopeFacts,
    strays: &[Text<200>],
) -> Option<ScopeViolation<'a>> {
    let protected = intents.targets.iter().find(|target| {
        target.paths.iter().any(|path| {
            relative(path, intents).is_some_and(|path| is_protected(&path, target, intents.folding))
        })
    });
    if let Some(target) = protected {
        return Some(ScopeViolation::Protected { named: &target.named });
    }
    intents.targets.iter().find_map(|target| outside(target, intent, intents, strays))
}

fn outside<'a>(
    target: &'a ScopedPath,
    intent: &Intent,
    intents: &ScopeFacts,
    strays: &[Text<200>],
) -> Option<ScopeViolation<'a>> {
    let named = target.named.as_str();
    // Such a path leads to the output of the hook itself, not of the call.
    if is_sink(&target.paths[0]) {
        return None;
    }
    for path in &target.paths {
        let at = match relative(path, intents) {
            Some(_) if target.reach == WriteReach::Special => ScopeLocation::Special,
            Some(path) => {
                let is_undone = UNDOING.contains(&target.by.as_str())
                    && strays.iter().any(|stray| stray.as_str() == path);
                if is_undone || intent.owned.holds(&path, target.reach, intents.folding) {
                    continue;
                }
                ScopeLocation::Here(path)
            }
            None if is_scratch(path, intents) => continue,
            None => ScopeLocation::Elsewhere(path.clone()),
        };
        return Some(ScopeViolation::Outside { named, at });
    }
    None
}

/// Returns the paths that a call would change, relative to the worktree.
pub(crate) fn named(intents: &ScopeFacts) -> Vec<String> {
    intents.targets.iter().filter_map(|target| relative(&target.paths[0], intents)).collect()
}

/// Returns a path relative to the worktree, or `None` if it is outside.
pub fn relative(path: &str, intents: &ScopeFacts) -> Option<String> {
    let mut roots = intents.roots.iter().filter(|root| !root.is_empty());
    let below = roots.find_map(|root| base_path::relative(path, root, intents.folding));
    below.map(str::to_owned)
}

fn is_protected(path: &str, target: &ScopedPath, folding: CaseFolding) -> bool {
    // A removal of the whole worktree removes the protected paths too.
    let takes_all = target.reach == WriteReach::Tree && REMOVING.contains(&target.by.as_str());
    is_ours(path, folding) || path.is_empty() && takes_all
}

/// Reports whether a path of the worktree is protected in every scope.
pub(crate) fn is_ours(path: &str, folding: CaseFolding) -> bool {
    let first = path.split('/').next().unwrap_or_default();
    let is_it = |name: &&str| match folding {
        CaseFolding::Exact => first == *name,
        CaseFolding::Folded => first.to_lowercase() == **name,
    };
    PROTECTED.iter().any(is_it)
}

fn is_sink(path: &str) -> bool {
    SINKS.iter().any(|sink| base_path::is_below(path, sink, CaseFolding::Exact))
}

/// Reports whether a path is in the system's temporary directory. If the repository is there too, the
/// top-level directory that contains it does not count.
fn is_scratch(path: &str, intents: &ScopeFacts) -> bool {
    let below = |path: &'_ str, dir: &str| {
        let rest = base_path::relative(path, dir, CaseFolding::Exact)?;
        rest.split('/').next().filter(|first| !first.is_empty()).map(str::to_owned)
    };
    intents.temp.iter().any(|dir| {
        let Some(first) = below(path, dir) else { return false };
        !intents.roots.iter().any(|root| below(root, dir).as_ref() == Some(&first))
    })
}
