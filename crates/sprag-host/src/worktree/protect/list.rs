//! Lists protected paths and the paths that a call would change, both with links resolved.

use std::fs;
use std::path::{Path, PathBuf};

use sprag_base::path::absolute;
use sprag_govern::event::Input;
use sprag_govern::facts::{WriteEffect, WrittenPath};
use sprag_shell::{Command, Script, Word, WorkingDir};

use crate::sys::links::{LinkResolver, expanded, real, walked};
use crate::sys::locations::Locations;
use crate::world::World;

/// Programs that remove everything below a path.
const REMOVING: &[&str] = &["find", "mv", "rm", "rmdir", "shred", "trash", "unlink"];

/// Most written paths for which Sprag follows the links that the line itself makes.
const THROUGH_LINKS: usize = 200;

/// Paths in a project that start Sprag or other guards, relative to its root.
const IN_PROJECT: &[&str] = &[
    ".sprag",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/hooks",
    ".claude/agents/sprag-reviewer.md",
    ".codex",
    ".gemini/settings.json",
    ".cursor/hooks.json",
    ".github/hooks",
    ".opencode/plugin",
];

/// Such paths in a git directory, and files that hide other files from a review.
const IN_GIT: &[&str] = &["hooks", "config", "info/exclude"];

/// Such paths in the user's home.
const IN_HOME: &[&str] = &[
    ".claude/settings.json",
    ".claude/hooks",
    ".claude/agents/sprag-reviewer.md",
    ".config/git/ignore",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".codex/rules",
    ".gemini/settings.json",
    ".cursor/hooks.json",
    ".copilot/hooks",
];

/// Such paths in a configured settings directory of the client.
const IN_CLAUDE: &[&str] = &["settings.json", "hooks", "agents/sprag-reviewer.md"];

/// Returns the records and settings of Sprag.
pub fn ours(places: &Locations) -> Vec<String> {
    let user = places.user.iter().flat_map(|user| [&user.state, &user.config]);
    std::iter::once(&places.store).chain(user).flat_map(|path| both_ways(path, &[""])).collect()
}

/// Returns these paths and the paths that start Sprag and other guards.
pub fn places(world: &World<'_>, input: &Input, ours: &[String]) -> Vec<String> {
    let Locations { worktree, git_dir, common, .. } = &world.places;
    let mut all = ours.to_vec();
    all.extend(worktree.iter().flat_map(|root| both_ways(root, IN_PROJECT)));
    if !input.home.is_empty() {
        all.extend(both_ways(Path::new(&input.home), IN_HOME));
    }
    all.extend(git_dir.iter().flat_map(|dir| both_ways(dir, IN_GIT)));
    if common != git_dir {
        all.extend(common.iter().flat_map(|dir| both_ways(dir, IN_GIT)));
    }
    all.extend(claude_dir(world).iter().flat_map(|dir| both_ways(dir, IN_CLAUDE)));
    all.extend(std::env::current_exe().ok().map(|program| program.to_string_lossy().into_owned()));
    all
}

/// Returns the directories in which a client searches for agents.
pub fn agents(world: &World<'_>, input: &Input) -> Vec<String> {
    let home = Some(Path::new(&input.home)).filter(|_| !input.home.is_empty());
    let roots = world.places.worktree.as_deref().into_iter().chain(home);
    let mut all: Vec<String> = roots.flat_map(|root| both_ways(root, &[".claude/agents"])).collect();
    all.extend(claude_dir(world).iter().flat_map(|dir| both_ways(dir, &["agents"])));
    all
}

fn claude_dir(world: &World<'_>) -> Option<PathBuf> {
    world.env.get("CLAUDE_CONFIG_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute())
}

/// Returns the paths that a call changes, as far as its text shows.
pub fn written(input: &Input) -> Vec<WrittenPath> {
    let Some(call) = input.event.call() else {
        return Vec::new();
    };
    let named: Vec<(String, String, WriteEffect)> = match input.script() {
        None => {
            call.paths.iter().map(|path| (path.clone(), input.cwd.clone(), WriteEffect::Written)).collect()
        }
        Some(script) => {
            let uses = script.writes.iter().filter_map(|used| match (&used.path, &used.cwd) {
                (Word::Known(path), WorkingDir::At(dir)) => {
                    let how = if REMOVING.contains(&used.by.as_str()) {
                        WriteEffect::Removed
                    } else {
                        WriteEffect::Written
                    };
                    Some((path.clone(), absolute(&input.cwd, dir), how))
                }
                _ => None,
            });
            uses.collect()
        }
    };
    let links = input.script().map(|script| new_links(script, &input.cwd)).unwrap_or_default();
    let mut named = named;
    let mut at = 0;
    // A link may lead to another one, or to itself.
    while at < named.len() && named.len() < THROUGH_LINKS && !links.is_empty() {
        let (path, dir, how) = &named[at];
        let plain = absolute(dir, &expanded(path, &input.home));
        let through = links.iter().find_map(|(link, target)| {
            let rest = plain.strip_prefix(link.as_str()).filter(|rest| rest.starts_with('/'))?;
            Some((format!("{target}{rest}"), dir.clone(), *how))
        });
        named.extend(through);
        at += 1;
    }
    let mut followed = LinkResolver::default();
    let mut written: Vec<WrittenPath> = Vec::new();
    for (named, dir, how) in named {
        if let Some(walked) = walked(&dir, &expanded(&named, &input.home)) {
            written.push(WrittenPath { named: named.clone(), paths: [walked.clone(), walked], how });
        }
        let plain = absolute(&dir, &expanded(&named, &input.home));
        if !written.iter().any(|known| known.paths[0] == plain && known.how == how) {
            let real = followed.path(&plain);
            written.push(WrittenPath { named, paths: [plain, real], how });
        }
    }
    written
}

fn known(word: &Word) -> Option<&str> {
    match word {
        Word::Known(text) => Some(text),
        Word::Partly(_) | Word::Many => None,
    }
}

/// Returns the symbolic links that the line itself makes, each with its target. The disk does not have them yet.
fn new_links(script: &Script, cwd: &str) -> Vec<(String, String)> {
    let of_command = |command: &Command| {
        let WorkingDir::At(dir) = &command.cwd else { return None };
        let words: Option<Vec<&str>> = command.argv.iter().map(known).collect();
        let (options, operands): (Vec<&str>, Vec<&str>) =
            words?.into_iter().skip(1).partition(|word| word.starts_with('-'));
        let is_symbolic =
            options.iter().any(|word| *word == "--symbolic" || !word.starts_with("--") && word.contains('s'));
        let [target, link] = operands.as_slice() else { return None };
        let dir = absolute(cwd, dir);
        let link = absolute(&dir, link);
        let parent = Path::new(&link).parent()?.to_str()?.to_owned();
        is_symbolic.then(|| (link, absolute(&parent, target)))
    };
    let made = script.commands.iter().filter(|command| command.program() == Some("ln"));
    made.filter_map(of_command).collect()
}

/// Returns paths below a root, as named and with links resolved.
fn both_ways(root: &Path, names: &[&str]) -> Vec<String> {
    let followed = real(root);
    let mut all = Vec::new();
    let mut add = |path: &Path| all.push(path.to_string_lossy().into_owned());
    for name in names {
        let path = if name.is_empty() { root.to_path_buf() } else { root.join(name) };
        let place = if name.is_empty() { followed.clone() } else { followed.join(name) };
        // Checked one by one: resolving all of them would take longer than the rest of a call.
        let is_link = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
        if is_link(&place) || place.parent().is_some_and(is_link) {
            add(&real(&place));
        }
        add(&path);
        if place != path {
            add(&place);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_also_where_they_lead_nowhere_yet() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir(root.join("hooks")).unwrap();
        symlink("hooks", root.join("a")).unwrap();
        symlink("a/new", root.join("b")).unwrap();
        symlink(root.join("b"), root.join("c")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        assert_eq!(real(&root.join("a/x")), root.join("hooks/x"));
        assert_eq!(real(&root.join("c")), root.join("hooks/new"));
        assert_eq!(real(&root.join("none/x")), root.join("none/x"));
        assert!(real(&root.join("loop/x")).starts_with(&root));
    }
}
