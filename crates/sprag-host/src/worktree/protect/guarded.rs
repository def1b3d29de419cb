//! Lists the protected files of a worktree and a home.

use std::path::{Path, PathBuf};

use crate::config::rule_layers;
use crate::sys::locations::Locations;
use crate::worktree::protect::intent_files;

const FILES: usize = 100;

/// Hooks of git.
const GIT_HOOKS: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// Guarded part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuardedPart {
    Whole,
    /// A hook of git. Sprag reports a new one and leaves it, because it weakens no guard.
    GitHook,
    /// Some members of a client's settings in JSON.
    Members,
    /// Some tables of a client's settings in TOML.
    Tables,
    /// The keys of git's configuration that redirect hooks.
    GitKeys,
    /// The file decides what agents may change: Sprag always restores it, and removes a new one.
    Intents,
}

/// Returns the protected files, existing or not.
pub(crate) fn all(places: &Locations, home: &str) -> Vec<(PathBuf, GuardedPart)> {
    let mut found = Vec::new();
    let mut add = |path: PathBuf, guard: GuardedPart| found.push((path, guard));
    if let Some(common) = &places.common {
        for name in GIT_HOOKS {
            add(common.join("hooks").join(name), GuardedPart::GitHook);
        }
        add(common.join("info/exclude"), GuardedPart::Whole);
        add(common.join("config"), GuardedPart::GitKeys);
    }
    if let Some(git_dir) = &places.git_dir {
        add(git_dir.join("config.worktree"), GuardedPart::GitKeys);
    }
    for config in config_dirs(places) {
        for name in ["config.toml", "local.toml", "role"] {
            add(config.join(name), GuardedPart::Whole);
        }
    }
    for (_, path) in rule_layers::files(places) {
        add(path, GuardedPart::Whole);
    }
    let home = Some(Path::new(home)).filter(|home| !home.as_os_str().is_empty());
    let roots = places.worktree.as_deref().into_iter().chain(home);
    for root in roots {
        add(root.join(".codex/hooks.json"), GuardedPart::Whole);
        add(root.join(".codex/config.toml"), GuardedPart::Tables);
        add(root.join(".claude/agents/sprag-reviewer.md"), GuardedPart::Whole);
        for name in [".claude/settings.json", ".claude/settings.local.json", ".gemini/settings.json"] {
            add(root.join(name), GuardedPart::Members);
        }
    }
    if let Some(home) = home {
        add(home.join(".gitconfig"), GuardedPart::GitKeys);
        add(home.join(".config/git/config"), GuardedPart::GitKeys);
    }
    found.truncate(FILES);
    found.extend(intent_files::all(places).into_iter().map(|path| (path, GuardedPart::Intents)));
    found
}

/// Returns the directories in which every new file of a known name is protected.
pub(crate) fn dirs(places: &Locations) -> Vec<PathBuf> {
    let hooks = places.common.iter().map(|common| common.join("hooks"));
    let rules = rule_layers::dirs(places).into_iter().map(|(_, dir)| dir);
    hooks.chain(config_dirs(places)).chain(rules).collect()
}

fn config_dirs(places: &Locations) -> impl Iterator<Item = PathBuf> {
    places.project().into_iter().chain(places.user.as_ref().map(|user| user.config.clone()))
}
