//! Whether what a call would change is in the scope of an intent: as it is named, and where links lead.

use sprag_base::glob::CaseFolding;
use sprag_base::path as base_path;
use sprag_base::text::Text;
use sprag_intent::{Intent, ScopeFacts, ScopedPath, WriteReach};

/// What is protected whatever a scope says, relative to the worktree.
const PROTECTED: &[&str] = &[".sprag", ".orchestration", ".intentignore"];

/// Written to without anything being changed.
const SINKS: &[&str] =
    &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/full", "/dev/fd"];

/// Programs that put back or take away what should not be there.
const UNDOING: &[&str] = &["git", "rm", "unlink"];

/// Programs that leave nothing of what is below a place.
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
    /// By this path, out of the repository.
    Elsewhere(String),
    /// It is there, and no file.
    Special,
}

/// The first thing that a call would change and must not. What is protected goes before all else.
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
    // Where such a name leads is the hook's own output, not the call's.
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

/// Paths a call would change, relative to the worktree.
pub(crate) fn named(intents: &ScopeFacts) -> Vec<String> {
    intents.targets.iter().filter_map(|target| relative(&target.paths[0], intents)).collect()
}

/// A path seen from the worktree; none if it is out of it.
pub fn relative(path: &str, intents: &ScopeFacts) -> Option<String> {
    let mut roots = intents.roots.iter().filter(|root| !root.is_empty());
    let below = roots.find_map(|root| base_path::relative(path, root, intents.folding));
    below.map(str::to_owned)
}

fn is_protected(path: &str, target: &ScopedPath, folding: CaseFolding) -> bool {
    // Whoever takes away the whole worktree takes them, too.
    let takes_all = target.reach == WriteReach::Tree && REMOVING.contains(&target.by.as_str());
    is_ours(path, folding) || path.is_empty() && takes_all
}

/// Whether a path of the worktree is protected whatever a scope says.
pub(crate) fn is_ours(path: &str, folding: CaseFolding) -> bool {
    let first = path.split('/').next().unwrap_or_default();
    let is_it = |name: &&str| match folding {
        CaseFolding::Exact => first == *name,
        CaseFolding::Folded => first.to_lowercase() == **name,
    };
    PROTECTED.iter().any(is_it)
}

fn is_sink(path: &str) -> bool {
    SINKS
        .iter()
        .any(|sink| path == *sink || path.strip_prefix(sink).is_some_and(|rest| rest.starts_with('/')))
}

/// Below the system's place for temporary files. A repository that lies there itself does not make its
/// neighbours scratch.
fn is_scratch(path: &str, intents: &ScopeFacts) -> bool {
    let below = |path: &'_ str, dir: &str| {
        let rest = path.strip_prefix(dir.trim_end_matches('/'))?.strip_prefix('/')?;
        (!rest.is_empty()).then(|| rest.split('/').next().unwrap_or_default().to_owned())
    };
    intents.temp.iter().any(|dir| {
        let Some(first) = below(path, dir) else { return false };
        !intents.roots.iter().any(|root| below(root, dir).as_ref() == Some(&first))
    })
}
