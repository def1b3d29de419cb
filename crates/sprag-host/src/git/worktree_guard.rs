//! Checks whether Sprag may run git again in a worktree of an agent. Git trusts the worktree's link to its
//! repository, follows links, and runs programs from the configuration of a nested repository. An agent that
//! plants one of these would choose what Sprag runs.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::refs::{GitError, refused};
use super::{GitQuery, ask, index};
use crate::sys::{disk, locations};

/// Each of these files has one line.
const LINE: u64 = 4096;
/// Maximum entries that Sprag checks in the git directory of a worktree.
const ENTRIES: usize = 20_000;
const CONFIG: u64 = 1024 * 1024;
/// Maximum bytes of an index with 10,000 files, which Sprag reads itself.
const INDEX: u64 = 16 * 1024 * 1024;
/// Maximum bytes of a list of a million files.
const LIST: usize = 256 * 1024 * 1024;
const DEADLINE: Duration = Duration::from_secs(60);

/// Refuses a worktree that differs from the one Sprag created. A running agent can change it at any time, so
/// later queries must not enter nested repositories.
pub fn prove(root: &Path, worktree: &Path) -> Result<(), GitError> {
    prove_placed(root, worktree)?;
    nested(worktree)
}

/// Checks that git would find Sprag's repository, for callers whose queries do not enter nested repositories.
/// Reads a few files and starts no git.
pub fn prove_placed(root: &Path, worktree: &Path) -> Result<(), GitError> {
    let no = |what: String| Err(GitError(what));
    let common = locations::common_dir(root).ok_or_else(|| GitError("no git repository".to_owned()))?;
    let entry = worktree.join(".git");
    let line = |path: &Path| {
        let bytes = disk::read_regular(path, LINE)
            .map_err(|error| GitError(format!("`{}`: {error}", path.display())))?;
        Ok::<String, GitError>(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    };
    let named = line(&entry)?;
    let git_dir = named.strip_prefix("gitdir: ").map(|path| locations::tidy(&worktree.join(path)));
    let Some(git_dir) = git_dir.filter(|dir| dir.parent() == Some(common.join("worktrees").as_path())) else {
        return no(format!("`{}` does not point to this repository", entry.display()));
    };
    if locations::tidy(&git_dir.join(line(&git_dir.join("commondir"))?)) != common {
        return no(format!("`{}` does not point to this repository", git_dir.join("commondir").display()));
    }
    // The link back must name this worktree, because another worktree has another index and branch.
    if locations::tidy(&git_dir.join(line(&git_dir.join("gitdir"))?)) != entry {
        return no(format!("`{}` belongs to another worktree", git_dir.display()));
    }
    let config = git_dir.join("config.worktree");
    if config.symlink_metadata().is_ok() {
        let of = |path: &Path| disk::read_regular(path, CONFIG).ok();
        if of(&config).is_none_or(|own| of(&common.join("config.worktree")) != Some(own)) {
            return no(format!("`{}` differs from the file of the repository", config.display()));
        }
    }
    if let Some(link) = planted(&git_dir)? {
        return no(format!("`{}` is not a file", link.display()));
    }
    Ok(())
}

/// Returns the first entry that is neither a file nor a directory. Git creates no such entry.
fn planted(dir: &Path) -> Result<Option<PathBuf>, GitError> {
    let mut open = vec![dir.to_path_buf()];
    let mut seen = 0;
    while let Some(dir) = open.pop() {
        let entries =
            fs::read_dir(&dir).map_err(|error| GitError(format!("`{}`: {error}", dir.display())))?;
        for entry in entries.flatten() {
            seen += 1;
            if seen > ENTRIES {
                return Err(GitError(format!("`{}` has more than {ENTRIES} entries", dir.display())));
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                Ok(kind) if kind.is_file() => {}
                // A link, or a pipe that would block forever.
                Ok(_) | Err(_) => return Ok(Some(entry.path())),
            }
        }
    }
    Ok(None)
}

/// Refuses a staged nested repository. Git would start a process for it that obeys its configuration.
fn nested(worktree: &Path) -> Result<(), GitError> {
    if has_files_alone(worktree) {
        return Ok(());
    }
    let args = ["-c", "core.hooksPath=/dev/null", "ls-files", "--stage", "-z"];
    let question = GitQuery { args: &args, env: &[], stdin: b"", deadline: DEADLINE, cap: LIST };
    let ran = ask(worktree, &question).ok_or_else(|| GitError("cannot start git".to_owned()))?;
    if !ran.succeeded() {
        return Err(refused(&ran));
    }
    if ran.stdout.len() >= LIST {
        return Err(GitError("the index is too long".to_owned()));
    }
    for line in ran.stdout.split(|&byte| byte == 0).filter(|line| line.starts_with(b"160000 ")) {
        let path = line.splitn(2, |&byte| byte == b'\t').nth(1).unwrap_or_default();
        // As bytes, because the name may not be UTF-8.
        let path = Path::new(OsStr::from_bytes(path));
        if worktree.join(path).join(".git").symlink_metadata().is_ok() {
            return Err(GitError(format!("`{}` is a nested repository", path.display())));
        }
    }
    Ok(())
}

/// Reports whether the index contains only files and links, without a git process. False may also mean
/// unknown.
fn has_files_alone(worktree: &Path) -> bool {
    let (Some(git_dir), Some(common)) = (locations::git_dir(worktree), locations::common_dir(worktree))
    else {
        return false;
    };
    let config = disk::read_regular(&common.join("config"), CONFIG).unwrap_or_default();
    let is_usual =
        !config.is_empty() && !config.to_ascii_lowercase().windows(12).any(|it| it == b"objectformat");
    is_usual
        && disk::read_regular(&git_dir.join("index"), INDEX)
            .is_ok_and(|index| index::holds_files_alone(&index))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::git::scratch::Scratch;
    use crate::git::worktrees;

    struct Desk {
        git: Scratch,
        path: PathBuf,
        own: PathBuf,
    }

    fn desk() -> Desk {
        let git = Scratch::new();
        let base = git.commit("a", "1");
        let path = git.dir().join(".worktrees/one");
        worktrees::add(git.dir(), &path, "sprag/one/work", &base, "stage").unwrap();
        let own = git.dir().join(".git/worktrees/one");
        Desk { git, path, own }
    }

    impl Desk {
        fn proved(&self) -> Result<(), String> {
            prove(self.git.dir(), &self.path)
                .map_err(|GitError(why)| why.replace(&self.git.dir().display().to_string(), "ROOT"))
        }
    }

    #[test]
    fn a_worktree_as_we_made_it_is_proved_whatever_was_committed_in_it() {
        let desk = desk();
        assert_eq!(desk.proved(), Ok(()));
        fs::write(desk.path.join("b"), "x").unwrap();
        symlink("b", desk.path.join("link")).unwrap();
        desk.git.run_in(&desk.path, &["add", "-A"]);
        desk.git.run_in(&desk.path, &["commit", "-q", "-m", "work"]);
        assert_eq!(desk.proved(), Ok(()));
    }

    #[test]
    fn whoever_points_git_elsewhere_is_refused() {
        let other = Scratch::new();
        other.commit("x", "1");
        let elsewhere = format!("gitdir: {}\n", other.dir().join(".git").display());
        let desk = self::desk();
        fs::write(desk.path.join(".git"), &elsewhere).unwrap();
        assert_eq!(
            desk.proved(),
            Err("`ROOT/.worktrees/one/.git` does not point to this repository".to_owned())
        );
        fs::remove_file(desk.path.join(".git")).unwrap();
        symlink(other.dir().join(".git"), desk.path.join(".git")).unwrap();
        assert!(desk.proved().unwrap_err().ends_with("is not a regular file"));

        let desk = self::desk();
        fs::write(desk.own.join("commondir"), other.dir().join(".git").display().to_string()).unwrap();
        assert_eq!(
            desk.proved(),
            Err("`ROOT/.git/worktrees/one/commondir` does not point to this repository".to_owned())
        );

        let desk = self::desk();
        fs::write(desk.own.join("gitdir"), "/somewhere/.git\n").unwrap();
        assert!(desk.proved().unwrap_err().ends_with("belongs to another worktree"));
    }

    #[test]
    fn a_planted_link_or_configuration_is_refused() {
        let desk = self::desk();
        symlink("/etc/passwd", desk.own.join("logs/planted")).unwrap();
        assert_eq!(desk.proved(), Err("`ROOT/.git/worktrees/one/logs/planted` is not a file".to_owned()));
        let desk = self::desk();
        fs::write(desk.own.join("config.worktree"), "[core]\n\tfsmonitor = touch evil\n").unwrap();
        assert!(desk.proved().unwrap_err().ends_with("differs from the file of the repository"));
    }

    #[test]
    fn a_staged_repository_within_is_refused() {
        let desk = self::desk();
        let inner = desk.path.join("inner");
        desk.git.run(&["init", "-q", &inner.display().to_string()]);
        fs::write(inner.join("x"), "work").unwrap();
        desk.git.run_in(&inner, &["add", "-A"]);
        desk.git.run_in(&inner, &["commit", "-q", "-m", "inner"]);
        assert_eq!(desk.proved(), Ok(()), "git does not enter a repository that is not staged");
        desk.git.run_in(&desk.path, &["-c", "advice.addEmbeddedRepo=false", "add", "inner"]);
        assert_eq!(desk.proved(), Err("`inner` is a nested repository".to_owned()));
    }

    #[test]
    fn a_repository_within_whose_name_is_no_text_is_refused_too() {
        let desk = self::desk();
        let inner = desk.path.join(OsStr::from_bytes(b"in\xff"));
        fs::create_dir(&inner).unwrap();
        desk.git.run_in(&inner, &["init", "-q"]);
        fs::write(inner.join("x"), "work").unwrap();
        desk.git.run_in(&inner, &["add", "-A"]);
        desk.git.run_in(&inner, &["commit", "-q", "-m", "inner"]);
        desk.git.run_in(&desk.path, &["-c", "advice.addEmbeddedRepo=false", "add", "-A"]);
        assert!(desk.proved().unwrap_err().ends_with("is a nested repository"));
    }

    #[test]
    fn a_pipe_among_gits_files_keeps_nobody_waiting() {
        let desk = self::desk();
        fs::remove_file(desk.own.join("HEAD")).unwrap();
        let head = desk.own.join("HEAD");
        rustix::fs::mkfifoat(rustix::fs::CWD, &head, rustix::fs::Mode::RWXU).unwrap();
        assert_eq!(desk.proved(), Err("`ROOT/.git/worktrees/one/HEAD` is not a file".to_owned()));
        assert!(worktrees::list(desk.git.dir()).is_ok(), "the list does not block");
        assert!(!head.exists());
    }

    #[test]
    fn nobody_asks_a_repository_within_what_its_own_configuration_says() {
        let desk = self::desk();
        let inner = desk.path.join("inner");
        desk.git.run(&["init", "-q", &inner.display().to_string()]);
        fs::write(inner.join(".gitattributes"), "* filter=x\n").unwrap();
        fs::write(inner.join("x"), "work").unwrap();
        desk.git.run_in(&inner, &["add", "-A"]);
        desk.git.run_in(&inner, &["commit", "-q", "-m", "inner"]);
        desk.git.run_in(&desk.path, &["-c", "advice.addEmbeddedRepo=false", "add", "inner"]);
        desk.git.run_in(&desk.path, &["commit", "-q", "-m", "nested"]);
        let ran = desk.git.dir().join("ran");
        desk.git.run_in(&inner, &["config", "filter.x.clean", &format!("touch {}; cat", ran.display())]);
        fs::write(inner.join("x"), "more").unwrap();
        worktrees::is_clean(&desk.path).unwrap();
        crate::git::changed_tracked_paths(&desk.path);
        assert!(!ran.exists());
    }
}
