//! Brings caches of the user's checkout into a worktree. A cache only saves time: it is left out if copying
//! would cost space, or if a link leads out of it.

use std::fs::{self, File, FileTimes};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Component, Path, PathBuf};

use rustix::io::Errno;

use sprag_host::git::refs::GitError;
use sprag_host::git::worktrees;
use sprag_host::sys::disk;
use sprag_plan::spec::values::RelPath;
use sprag_plan::spec::{CacheSpec, Caching};

use super::is_straight;

/// Maximum number of files and folders in one cache.
const ENTRIES: usize = 1_000_000;

/// Brings one cache into the worktree. Does nothing if the target exists or the source is missing.
pub(crate) fn take_over(root: &Path, worktree: &Path, cached: &CacheSpec) -> Result<(), String> {
    let path = &cached.path;
    let (from, to) = (root.join(path.as_str()), worktree.join(path.as_str()));
    let is_there = fs::symlink_metadata(&from).is_ok_and(|found| found.is_dir());
    let is_free = fs::symlink_metadata(&to).is_err();
    if !is_there || !is_free || !is_straight(root, path) || !is_straight(worktree, path) {
        return Ok(());
    }
    let told = |why: &dyn std::fmt::Display| format!("cache `{path}`: {why}");
    match cached.how {
        Caching::None => Ok(()),
        Caching::Share => share(worktree, &to, path).map_err(|why| told(&why)),
        Caching::Reflink => clone(&from, &to).or_else(|error| {
            // A partial cache is worse than none.
            fs::remove_dir_all(&to).map_err(|error| told(&error))?;
            match error.kind() {
                io::ErrorKind::Unsupported => Ok(()),
                _ => Err(told(&error)),
            }
        }),
    }
}

/// Links to the cache. From `.worktrees/STAGE/` the path goes two levels up, plus one for each folder within.
fn share(worktree: &Path, to: &Path, path: &RelPath) -> Result<(), String> {
    let up = "../".repeat(path.as_str().split('/').count() + 1);
    symlink(format!("{up}{path}"), to).map_err(|error| error.to_string())?;
    let why = match worktrees::is_ignored(worktree, path.as_str()) {
        Ok(true) => return Ok(()),
        // A pattern with `/` at its end matches folders, not links.
        Ok(false) => "git does not ignore the link; write its pattern without a `/` at the end".to_owned(),
        Err(GitError(why)) => why,
    };
    fs::remove_file(to).map_err(|error| error.to_string())?;
    Err(why)
}

/// Copies a folder by reflinks. The error `Unsupported` means that the file system has none.
fn clone(from: &Path, to: &Path) -> io::Result<()> {
    let mut open = vec![PathBuf::new()];
    let mut seen = 0;
    while let Some(below) = open.pop() {
        fs::create_dir(to.join(&below))?;
        for entry in fs::read_dir(from.join(&below))? {
            let entry = entry?;
            seen += 1;
            if seen > ENTRIES {
                return Err(io::Error::other(format!("more than {ENTRIES} entries")));
            }
            let (kind, below) = (entry.file_type()?, below.join(entry.file_name()));
            if kind.is_dir() {
                open.push(below);
            } else if kind.is_symlink() {
                let target = fs::read_link(entry.path())?;
                if leads_out(&below, &target) {
                    return Err(io::Error::other(format!(
                        "`{}` is a link out of the cache",
                        below.display()
                    )));
                }
                symlink(target, to.join(&below))?;
            } else if kind.is_file() {
                clone_file(&entry.path(), &to.join(&below))?;
            }
        }
    }
    Ok(())
}

fn clone_file(from: &Path, to: &Path) -> io::Result<()> {
    let source = disk::open_regular(from)?;
    let about = source.metadata()?;
    let mode = about.permissions().mode() & 0o777;
    let copy = File::options().write(true).create_new(true).mode(mode).open(to)?;
    match rustix::fs::ioctl_ficlone(&copy, &source) {
        Ok(()) => {}
        Err(Errno::OPNOTSUPP | Errno::XDEV | Errno::INVAL | Errno::NOTTY) => {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Err(error) => return Err(error.into()),
    }
    // Build tools compare modification times.
    copy.set_times(FileTimes::new().set_modified(about.modified()?))
}

/// Reports whether a link at this place in the cache leads out of it.
fn leads_out(at: &Path, target: &Path) -> bool {
    let mut depth = at.components().count().saturating_sub(1);
    for part in target.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(_) => depth += 1,
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return true,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use sprag_host::git::scratch::Scratch;

    use super::*;

    fn cached(path: &str, how: Caching) -> CacheSpec {
        CacheSpec { path: RelPath::try_from(path.to_owned()).unwrap(), how }
    }

    fn scratch(ignored: &str) -> (Scratch, PathBuf) {
        let git = Scratch::new();
        let base = git.commit(".gitignore", ignored);
        let worktree = git.dir().join(".worktrees/one");
        worktrees::add(git.dir(), &worktree, "sprag/one/work", &base, "stage").unwrap();
        fs::create_dir_all(git.dir().join("target/debug")).unwrap();
        fs::write(git.dir().join("target/debug/a"), "built").unwrap();
        (git, worktree)
    }

    #[test]
    fn a_shared_cache_is_the_same_one_and_git_takes_no_notice() {
        let (git, worktree) = scratch("/target\n");
        take_over(git.dir(), &worktree, &cached("target", Caching::Share)).unwrap();
        assert_eq!(fs::read_to_string(worktree.join("target/debug/a")).unwrap(), "built");
        assert!(worktrees::is_clean(&worktree).unwrap());
        take_over(git.dir(), &worktree, &cached("target", Caching::Share)).unwrap();
        let (git, worktree) = scratch("/target/\n");
        let why = take_over(git.dir(), &worktree, &cached("target", Caching::Share)).unwrap_err();
        assert!(why.contains("without a `/`"), "{why}");
        assert!(fs::symlink_metadata(worktree.join("target")).is_err());
    }

    #[test]
    fn a_copy_is_whole_or_not_there() {
        let (git, worktree) = scratch("/target/\n");
        symlink("/etc", git.dir().join("target/out")).unwrap();
        let all = cached("target", Caching::Reflink);
        let came = take_over(git.dir(), &worktree, &all);
        assert!(came.is_ok() || came.is_err_and(|why| why.contains("`out` is a link out of the cache")));
        assert!(!worktree.join("target").exists());
        fs::remove_file(git.dir().join("target/out")).unwrap();
        take_over(git.dir(), &worktree, &all).unwrap();
        // Not every file system supports it.
        let copy = fs::read_to_string(worktree.join("target/debug/a"));
        assert!(copy.map_or(!worktree.join("target").exists(), |text| text == "built"));
        take_over(git.dir(), &worktree, &cached("nothing", Caching::Reflink)).unwrap();
    }

    #[test]
    fn a_link_is_judged_by_where_it_is() {
        let leads_out = |at: &str, to: &str| super::leads_out(Path::new(at), Path::new(to));
        assert!(!leads_out("a/b", "../c"));
        assert!(!leads_out("a", "b/../c"));
        for (at, to) in [("a", "../c"), ("a/b", "../../c"), ("a", "/etc"), ("a/b", "../x/../../y")] {
            assert!(leads_out(at, to), "{at} {to}");
        }
    }
}
