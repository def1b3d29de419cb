//! What no agent may change, and what a call would change, both as they are once links are followed.

use std::fs;
use std::path::{Path, PathBuf};

use sprag_core::event::{Event, Input};
use sprag_core::fact::{How, Written};
use sprag_core::gates::protection::absolute;
use sprag_core::shell::{Place, Word};

use crate::places::Places;
use crate::walk::World;

/// Paths of one call that are looked at.
const MOST: usize = 64;

/// Links in a row, as the system has it.
const LINKS: usize = 40;

/// Programs after which nothing is left below a path.
const REMOVING: &[&str] = &["find", "mv", "rm", "rmdir", "shred", "trash", "unlink"];

/// What starts us or other guards in a project, relative to its root.
const IN_PROJECT: &[&str] = &[
    ".sprag",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/hooks",
    ".codex",
    ".gemini/settings.json",
    ".cursor/hooks.json",
    ".github/hooks",
    ".opencode/plugin",
];

/// The same in the user's home.
const IN_HOME: &[&str] = &[
    ".claude/settings.json",
    ".claude/hooks",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".codex/rules",
    ".gemini/settings.json",
    ".cursor/hooks.json",
    ".copilot/hooks",
];

/// Our own records and settings.
pub fn ours(places: &Places) -> Vec<String> {
    let user = places.user.iter().flat_map(|user| [&user.state, &user.config]);
    both_ways(std::iter::once(&places.store).chain(user).cloned())
}

/// Those, and what starts us and other guards.
pub fn places(world: &World<'_>, input: &Input, ours: &[String]) -> Vec<String> {
    let Places { worktree, git_dir, common, .. } = &world.places;
    let in_project = worktree.iter().flat_map(|root| IN_PROJECT.iter().map(|path| root.join(path)));
    let home = Some(&input.home).filter(|home| !home.is_empty()).map(Path::new);
    let in_home = home.into_iter().flat_map(|home| IN_HOME.iter().map(|path| home.join(path)));
    let git = git_dir.iter().chain(common).flat_map(|dir| [dir.join("hooks"), dir.join("config")]);
    let program = std::env::current_exe().ok();
    let mut all = both_ways(in_project.chain(in_home).chain(git).chain(program));
    all.extend(ours.iter().cloned());
    all.sort();
    all.dedup();
    all
}

/// What a call would change, as far as it is known before it runs.
pub fn written(input: &Input) -> Vec<Written> {
    let (Event::ToolRequested { call } | Event::PermissionAsked { call }) = &input.event else {
        return Vec::new();
    };
    let named: Vec<(String, String, How)> = match call.script(&input.start()) {
        None => call.paths.iter().map(|path| (path.clone(), input.cwd.clone(), How::Written)).collect(),
        Some(script) => {
            let uses = script.writes.iter().filter_map(|used| match (&used.path, &used.cwd) {
                (Word::Known(path), Place::At(dir)) => {
                    let how = if REMOVING.contains(&used.by.as_str()) { How::Removed } else { How::Written };
                    Some((path.clone(), absolute(&input.cwd, dir), how))
                }
                _ => None,
            });
            uses.collect()
        }
    };
    named
        .into_iter()
        .take(MOST)
        .map(|(named, dir, how)| {
            let plain = absolute(&dir, &expanded(&named, &input.home));
            let real = real(Path::new(&plain)).to_string_lossy().into_owned();
            Written { named, paths: [plain, real], how }
        })
        .collect()
}

fn expanded(path: &str, home: &str) -> String {
    match path.strip_prefix("~/") {
        Some(rest) if !home.is_empty() => format!("{home}/{rest}"),
        _ => path.to_owned(),
    }
}

/// A path with its links followed, as far as it exists. A link that leads nowhere yet is followed
/// too: what is written through it will be there.
fn real(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        match followed(&path) {
            Followed::To(found) => return found,
            Followed::Through(next) => path = next,
        }
    }
    path
}

enum Followed {
    To(PathBuf),
    Through(PathBuf),
}

fn followed(path: &Path) -> Followed {
    for at in path.ancestors() {
        let rest = path.strip_prefix(at).ok().filter(|rest| !rest.as_os_str().is_empty());
        let whole = |found: PathBuf| rest.map_or(found.clone(), |rest| found.join(rest));
        if let Ok(found) = fs::canonicalize(at) {
            return Followed::To(whole(found));
        }
        if let (Ok(target), Some(parent)) = (fs::read_link(at), at.parent()) {
            let target = absolute(&parent.to_string_lossy(), &target.to_string_lossy());
            return Followed::Through(whole(PathBuf::from(target)));
        }
    }
    Followed::To(path.to_path_buf())
}

/// Places as they are named, and as they are once links are followed.
fn both_ways(named: impl Iterator<Item = PathBuf>) -> Vec<String> {
    let mut all = Vec::new();
    for path in named {
        let followed = real(&path);
        all.push(path.to_string_lossy().into_owned());
        if followed != path {
            all.push(followed.to_string_lossy().into_owned());
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
