//! Lists the protected files of a worktree and a home.

use std::fs;
use std::path::{Path, PathBuf};

use crate::config::rule_layers;
use crate::sys::locations::Locations;
use crate::worktree::protect::intent_files;

const FILES: usize = 100;
const AGENT_DIRS: usize = 20;
const AGENTS: &str = ".claude/agents";
const REVIEWER_FILE: &str = ".claude/agents/sprag-reviewer.md";

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
    /// A file in which a client looks for agents. Sprag undoes a change that brings in the name of the reviewer.
    Agent,
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
        add(root.join(REVIEWER_FILE), GuardedPart::Whole);
        for name in [".claude/settings.json", ".claude/settings.local.json", ".gemini/settings.json"] {
            add(root.join(name), GuardedPart::Members);
        }
    }
    if let Some(home) = home {
        add(home.join(".gitconfig"), GuardedPart::GitKeys);
        add(home.join(".config/git/config"), GuardedPart::GitKeys);
    }
    found.truncate(FILES);
    found.extend(agents(places, home).1.into_iter().map(|path| (path, GuardedPart::Agent)));
    found.extend(intent_files::all(places).into_iter().map(|path| (path, GuardedPart::Intents)));
    found
}

/// Returns the directories in which every new file of a known name is protected.
pub(crate) fn dirs(places: &Locations, home: &str) -> Vec<PathBuf> {
    let hooks = places.common.iter().map(|common| common.join("hooks"));
    let rules = rule_layers::dirs(places).into_iter().map(|(_, dir)| dir);
    let home = Some(Path::new(home)).filter(|home| !home.as_os_str().is_empty());
    hooks.chain(config_dirs(places)).chain(rules).chain(agents(places, home).0).collect()
}

/// Reports whether a client looks for agents here.
pub(crate) fn is_agent(path: &Path) -> bool {
    path.ancestors().skip(1).any(|dir| dir.ends_with(AGENTS)) && !path.ends_with(REVIEWER_FILE)
}

/// Returns the directories in which a client looks for agents, and the files there. The file of the reviewer
/// is listed elsewhere. Directories come first, also those that do not exist yet.
fn agents(places: &Locations, home: Option<&Path>) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let roots = places.worktree.as_deref().into_iter().chain(home);
    let mut dirs: Vec<PathBuf> = roots.map(|root| root.join(AGENTS)).collect();
    let mut files = Vec::new();
    let mut at = 0;
    while at < dirs.len() {
        for entry in fs::read_dir(&dirs[at]).into_iter().flatten().flatten() {
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_dir && dirs.len() < AGENT_DIRS {
                dirs.push(entry.path());
            } else if !is_dir && is_agent(&entry.path()) && files.len() < FILES {
                files.push(entry.path());
            }
        }
        at += 1;
    }
    (dirs, files)
}

fn config_dirs(places: &Locations) -> impl Iterator<Item = PathBuf> {
    places.project().into_iter().chain(places.user.as_ref().map(|user| user.config.clone()))
}
