//! The surroundings of an agent: files that are not in any commit, caches of the user's checkout, and ports
//! that no other stage uses.

mod caches;
mod ports;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use sprag_base::result::Discard as _;
use sprag_host::git::refs::GitError;
use sprag_host::git::worktrees;
use sprag_host::sys::disk::{self, Disk};
use sprag_host::sys::env::Env;
use sprag_host::sys::locations::UserLocations;
use sprag_plan::ids::StageId;
use sprag_plan::sandbox::SandboxChoice;
use sprag_plan::spec::StageSpec;
use sprag_plan::spec::values::RelPath;
use sprag_plan::stage::StageFailure;

use super::layout::RunLayout;
use super::sandbox::stage_rules;
use crate::session_dir::{SessionDir, SpawnRequest};

/// The variable with the first of ten ports of the stage.
const VARIABLE: &str = "SPRAG_PORT";
/// Maximum size of a copied file.
const FILE: u64 = 10 * 1024 * 1024;

/// Prepares everything around an agent that is about to start, including its sandbox.
pub fn around(
    ground: &RunLayout,
    spec: &StageSpec,
    choice: &SandboxChoice,
    site: &SessionDir,
    mut spawn: SpawnRequest,
    disk: &dyn Disk,
) -> Result<SpawnRequest, (StageFailure, String)> {
    furnish(ground, spec, disk).map_err(|why| (StageFailure::Setup, why))?;
    let port = ports::lease(&leases(ground), &ground.worktree(&spec.id), disk);
    let port = port.map_err(|error| (StageFailure::Setup, format!("no free ports: {error}")))?;
    spawn.env.push((VARIABLE.to_owned(), port.to_string()));
    stage_rules::within(ground, spec, choice, site, spawn, disk).map_err(|why| (StageFailure::Sandbox, why))
}

/// Brings files and caches into the worktree; repeating it changes nothing.
pub fn furnish(ground: &RunLayout, spec: &StageSpec, disk: &dyn Disk) -> Result<(), String> {
    let worktree = ground.worktree(&spec.id);
    for path in &spec.copy {
        copy(&ground.root, &worktree, path, disk)?;
    }
    spec.caches.iter().try_for_each(|cached| caches::take_over(&ground.root, &worktree, cached))
}

/// Releases the ports of a finished stage.
pub fn leave(ground: &RunLayout, stage: &StageId, disk: &dyn Disk) {
    ports::release(&leases(ground), &ground.worktree(stage), disk)
        .discard("a leftover lease names a removed worktree");
}

/// Returns the folder of port leases. All clones of a user share it, because ports belong to the machine.
fn leases(ground: &RunLayout) -> std::path::PathBuf {
    UserLocations::find(&Env::Real).map_or_else(|| ground.run.join("ports"), |user| user.state.join("ports"))
}

fn copy(root: &Path, worktree: &Path, path: &RelPath, disk: &dyn Disk) -> Result<(), String> {
    let to = worktree.join(path.as_str());
    let told = |error: &dyn std::fmt::Display| format!("cannot copy `{path}`: {error}");
    if to.symlink_metadata().is_ok() {
        return Ok(());
    }
    let (bytes, mode) = read(root, path).map_err(|error| told(&error))?;
    let git = |GitError(why): GitError| told(&why);
    if !worktrees::is_ignored(worktree, path.as_str()).map_err(git)? {
        worktrees::leave_out(root, &pattern(path), disk).map_err(|error| told(&error))?;
    }
    let parent = to.parent().unwrap_or(worktree);
    disk::make_dirs_within(disk, worktree, parent).map_err(|error| told(&error))?;
    let made = File::options().write(true).create_new(true).mode(mode & 0o700).open(&to);
    made.and_then(|mut file| file.write_all(&bytes)).map_err(|error| told(&error))
}

/// Reads a file of the checkout; refuses links on the path.
fn read(root: &Path, path: &RelPath) -> io::Result<(Vec<u8>, u32)> {
    let from = root.join(path.as_str());
    if !is_straight(root, path) {
        return Err(io::Error::other("a link is on the path"));
    }
    let mode = fs::symlink_metadata(&from)?.permissions().mode();
    Ok((disk::read_regular(&from, FILE)?, mode))
}

/// Reports whether all folders from the root to a path exist and none is a link.
fn is_straight(root: &Path, path: &RelPath) -> bool {
    let mut at = root.to_path_buf();
    let mut names: Vec<&str> = path.as_str().split('/').collect();
    names.pop();
    names.into_iter().all(|name| {
        at.push(name);
        fs::symlink_metadata(&at).is_ok_and(|found| found.is_dir())
    })
}

/// Escapes a path as a `.gitignore` pattern that matches only this file.
fn pattern(path: &RelPath) -> String {
    let mut pattern = String::from("/");
    for sign in path.as_str().chars() {
        if "\\*?[ ".contains(sign) {
            pattern.push('\\');
        }
        pattern.push(sign);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use sprag_host::git::scratch::Scratch;
    use sprag_host::sys::disk::RealDisk;

    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::try_from(text.to_owned()).unwrap()
    }

    fn copied(git: &Scratch, name: &str) -> Result<(), String> {
        copy(git.dir(), &git.dir().join(".worktrees/one"), &path(name), &RealDisk)
    }

    fn scratch() -> Scratch {
        let git = Scratch::new();
        let base = git.commit("a", "1");
        worktrees::add(git.dir(), &git.dir().join(".worktrees/one"), "sprag/one/work", &base, "stage")
            .unwrap();
        git
    }

    #[test]
    fn a_file_that_no_commit_has_is_copied_once_and_git_takes_no_notice() {
        let git = scratch();
        let worktree = git.dir().join(".worktrees/one");
        fs::create_dir(git.dir().join("conf")).unwrap();
        fs::write(git.dir().join("conf/[a] *.env"), "KEY=1").unwrap();
        copied(&git, "conf/[a] *.env").unwrap();
        let to = worktree.join("conf/[a] *.env");
        assert_eq!(fs::read_to_string(&to).unwrap(), "KEY=1");
        assert!(worktrees::is_clean(&worktree).unwrap());
        fs::write(worktree.join("conf/xa y.env"), "seen").unwrap();
        assert!(!worktrees::is_clean(&worktree).unwrap(), "the pattern matches one file");
        fs::write(&to, "the agent's").unwrap();
        copied(&git, "conf/[a] *.env").unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "the agent's");
        assert!(copied(&git, "none.env").unwrap_err().starts_with("cannot copy `none.env`"));
    }

    #[test]
    fn no_link_is_followed_on_either_side() {
        let git = scratch();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("key"), "secret").unwrap();
        symlink(outside.path().join("key"), git.dir().join("link.env")).unwrap();
        symlink(outside.path(), git.dir().join("dir")).unwrap();
        assert!(copied(&git, "link.env").unwrap_err().contains("not a regular file"));
        assert!(copied(&git, "dir/key").unwrap_err().contains("a link is on the path"));
        fs::create_dir(git.dir().join("conf")).unwrap();
        fs::write(git.dir().join("conf/x"), "1").unwrap();
        symlink(outside.path(), git.dir().join(".worktrees/one/conf")).unwrap();
        assert!(copied(&git, "conf/x").is_err());
        assert!(!outside.path().join("x").exists());
    }
}
