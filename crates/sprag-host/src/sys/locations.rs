//! Finds the directories of a project and a user from a few directory entries. It does not start git, because
//! it runs in every hook call.

use std::fs;
use std::path::{Path, PathBuf};

use sprag_base::digest::Digest;

use crate::sys::disk::read_small;
use crate::sys::env::Env;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locations {
    /// Root of the worktree, if there is one.
    pub worktree: Option<PathBuf>,
    /// Git directory of this worktree.
    pub git_dir: Option<PathBuf>,
    /// Git directory that all worktrees of a clone share.
    pub common: Option<PathBuf>,
    /// Records of this clone or, outside git, of this directory.
    pub store: PathBuf,
    pub user: Option<UserLocations>,
}

/// Directories of the user, outside any project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserLocations {
    pub config: PathBuf,
    pub state: PathBuf,
}

/// Error: no home directory is set, and one is needed.
#[derive(Debug, PartialEq, Eq)]
pub struct NoHome;

impl Locations {
    pub fn find(cwd: &Path, env: &Env) -> Result<Locations, NoHome> {
        let user = UserLocations::find(env);
        if let Some(Git { worktree, git_dir, common }) = find_git(cwd) {
            return Ok(Locations {
                store: common.join("sprag"),
                worktree: Some(worktree),
                git_dir: Some(git_dir),
                common: Some(common),
                user,
            });
        }
        let user = user.ok_or(NoHome)?;
        let store = user.state.join("projects").join(outside_git(cwd));
        Ok(Locations { worktree: None, git_dir: None, common: None, store, user: Some(user) })
    }

    /// Returns the checked-out commit, read without git. `None`: there is none, or its storage format needs
    /// git.
    pub fn head(&self) -> Option<String> {
        let head = read_small(&self.git_dir.as_ref()?.join("HEAD"), SMALL).ok()?;
        let Some(name) = head.trim_end().strip_prefix("ref: ") else {
            return Some(head.trim_end().to_owned());
        };
        self.reference(name)
    }

    /// Returns the checked-out branch. `None`: a commit is checked out.
    pub fn branch(&self) -> Option<String> {
        branch_in(self.git_dir.as_ref()?)
    }

    /// Returns the commit of a reference, read without git.
    pub fn reference(&self, name: &str) -> Option<String> {
        let (git_dir, common) = (self.git_dir.as_ref()?, self.common.as_ref()?);
        if !name.starts_with("refs/") || name.contains("..") {
            return None;
        }
        let loose = [git_dir, common].into_iter().find_map(|dir| read_small(&dir.join(name), SMALL).ok());
        let packed = || {
            let all = read_small(&common.join("packed-refs"), 16 * 1024 * 1024).ok()?;
            let line =
                all.lines().find(|line| line.split_once(' ').is_some_and(|(_, found)| found == name))?;
            line.split(' ').next().map(str::to_owned)
        };
        loose.map(|text| text.trim_end().to_owned()).or_else(packed)
    }

    /// Returns the directory of project files in the worktree.
    pub fn project(&self) -> Option<PathBuf> {
        self.worktree.as_ref().map(|worktree| worktree.join(".sprag"))
    }
}

impl UserLocations {
    pub fn find(env: &Env) -> Option<UserLocations> {
        // A relative path would put the user's records into any current directory.
        let absolute = |name: &str| env.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        if let Some(home) = absolute("SPRAG_HOME") {
            return Some(UserLocations { config: home.clone(), state: home });
        }
        let home = absolute("HOME");
        let place = |name: &str, below: &str| {
            absolute(name)
                .or_else(|| home.as_ref().map(|home| home.join(below)))
                .map(|base| base.join("sprag"))
        };
        Some(UserLocations {
            config: place("XDG_CONFIG_HOME", ".config")?,
            state: place("XDG_STATE_HOME", ".local/state")?,
        })
    }
}

/// Returns the git directory that all worktrees of the clone around `dir` share.
pub fn common_dir(dir: &Path) -> Option<PathBuf> {
    find_git(dir).map(|git| git.common)
}

/// Returns the git directory of the worktree around `dir`.
pub fn git_dir(dir: &Path) -> Option<PathBuf> {
    find_git(dir).map(|git| git.git_dir)
}

/// Returns the checked-out branch of the worktree around `dir`.
pub fn branch_of(dir: &Path) -> Option<String> {
    branch_in(&git_dir(dir)?)
}

fn branch_in(git_dir: &Path) -> Option<String> {
    let head = read_small(&git_dir.join("HEAD"), SMALL).ok()?;
    head.trim_end().strip_prefix("ref: refs/heads/").map(str::to_owned)
}

/// Returns the worktree around `dir`, and the shared git directory.
pub fn worktree_of(dir: &Path) -> Option<(PathBuf, PathBuf)> {
    find_git(dir).map(|git| (git.worktree, git.common))
}

/// Returns the user's home directory, for the settings of clients.
pub fn home(env: &Env) -> Option<PathBuf> {
    env.get("HOME").map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Returns the current directory. Falls back to `PWD` and `/` if it was deleted.
#[expect(clippy::disallowed_methods, reason = "the one place that handles a deleted directory")]
pub fn current_dir(env: &Env) -> PathBuf {
    std::env::current_dir()
        .ok()
        .or_else(|| env.get("PWD").map(PathBuf::from))
        .unwrap_or_else(|| PathBuf::from("/"))
}

struct Git {
    worktree: PathBuf,
    git_dir: PathBuf,
    common: PathBuf,
}

/// Most bytes of a `.git` file or `commondir`, which have one line.
const SMALL: u64 = 4096;

/// Searches upwards for a worktree. Inside `.git` itself there is none.
fn find_git(cwd: &Path) -> Option<Git> {
    for dir in cwd.ancestors().filter(|dir| dir.is_absolute()) {
        let entry = dir.join(".git");
        let Ok(found) = fs::metadata(&entry) else {
            continue;
        };
        let git_dir = if found.is_dir() { entry } else { linked(dir, &entry)? };
        let common = match read_small(&git_dir.join("commondir"), SMALL) {
            Ok(text) => tidy(&git_dir.join(text.trim_end_matches('\n'))),
            Err(_) => git_dir.clone(),
        };
        // A directory that is not a repository must not become a store, even if a file points to it. Git also
        // continues the search.
        let is_repository = common.join("objects").is_dir() && git_dir.join("HEAD").is_file();
        if is_repository {
            return Some(Git { worktree: dir.to_path_buf(), git_dir, common });
        }
    }
    None
}

/// Returns the git directory that the `.git` file of a linked worktree or submodule names.
fn linked(dir: &Path, entry: &Path) -> Option<PathBuf> {
    let text = read_small(entry, SMALL).ok()?;
    let path = text.strip_prefix("gitdir:")?.trim();
    (!path.is_empty()).then(|| tidy(&dir.join(path)))
}

/// Removes `.` and `..` by name: `commondir` says `../..`.
pub fn tidy(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                out.pop();
            }
            std::path::Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

fn outside_git(cwd: &Path) -> String {
    let name = cwd.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let name: String =
        name.chars().filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).take(40).collect();
    format!("{name}-{}", Digest::hash_parts([cwd.as_os_str().as_encoded_bytes()]).short())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn env(vars: &[(&str, &str)]) -> Env {
        Env::Given(vars.iter().map(|&(name, value)| (name.to_owned(), value.into())).collect())
    }

    #[test]
    fn one_store_for_all_worktrees_of_a_clone() {
        let temp = tempfile::tempdir().unwrap();
        let main = temp.path().join("main");
        let linked_dir = main.join(".git/worktrees/other");
        fs::create_dir_all(&linked_dir).unwrap();
        fs::create_dir_all(main.join("src/deep")).unwrap();
        fs::create_dir_all(main.join(".git/objects")).unwrap();
        fs::write(main.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(linked_dir.join("HEAD"), "ref: refs/heads/other\n").unwrap();
        fs::write(linked_dir.join("commondir"), "../..\n").unwrap();
        let other = temp.path().join("other");
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join(".git"), format!("gitdir: {}\n", linked_dir.display())).unwrap();

        let none = Env::Given(BTreeMap::new());
        let from_main = Locations::find(&main.join("src/deep"), &none).unwrap();
        let from_other = Locations::find(&other, &none).unwrap();
        assert_eq!(from_main.store, main.join(".git/sprag"));
        assert_eq!(from_other.store, from_main.store);
        assert_eq!(from_other.worktree, Some(other));
    }

    #[test]
    fn what_only_claims_to_be_a_repository_is_none() {
        let temp = tempfile::tempdir().unwrap();
        let (repo, victim) = (temp.path().join("repo"), temp.path().join("victim"));
        fs::create_dir_all(repo.join("evil")).unwrap();
        fs::create_dir_all(&victim).unwrap();
        fs::write(repo.join(".git"), "gitdir: evil\n").unwrap();
        fs::write(repo.join("evil/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(repo.join("evil/commondir"), victim.display().to_string()).unwrap();
        let places = Locations::find(&repo, &env(&[("SPRAG_HOME", "/s")])).unwrap();
        assert!(places.store.starts_with("/s"), "{places:?}");
    }

    #[test]
    fn outside_git_the_state_directory_is_used() {
        let temp = tempfile::tempdir().unwrap();
        let env = env(&[("HOME", "/home/me")]);
        let places = Locations::find(temp.path(), &env).unwrap();
        assert!(places.store.starts_with("/home/me/.local/state/sprag/projects"), "{places:?}");
        assert_ne!(places.store, Locations::find(&temp.path().join("x"), &env).unwrap().store);
    }

    #[test]
    fn no_home_is_an_error_and_never_a_relative_path() {
        let temp = tempfile::tempdir().unwrap();
        assert_eq!(Locations::find(temp.path(), &env(&[])), Err(NoHome));
        assert_eq!(Locations::find(temp.path(), &env(&[("HOME", "here")])), Err(NoHome));
        let places = Locations::find(temp.path(), &env(&[("SPRAG_HOME", "/s")])).unwrap();
        assert_eq!(places.user.unwrap(), UserLocations { config: "/s".into(), state: "/s".into() });
    }
}
