//! Looks at the lines a commit would add. Git says what has changed; new files, which it knows
//! nothing of yet, are read here. What it cannot say in time is told as not looked at.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use sprag_govern::event::Input;
use sprag_govern::facts::{Staged, StagedFinding};
use sprag_govern::gates::commit::git_writes::{GitWriteKind, StagedQuery};
use sprag_govern::gates::commit::{self, Settings, added_lines};
use sprag_govern::gates::needs::{Answers, SharedNeeds};

use crate::git::{self, Against, GitDiff};
use crate::sys::exec::read_capped;
use crate::sys::locations;

/// Bounds on new files: work, not time, so that a verdict does not depend on the load.
const FILES: usize = 200;
const FILE_BYTES: u64 = 1024 * 1024;

/// What is wrong with the commits of a call.
pub(crate) fn inspect_commits(input: &Input, policy: &Settings) -> Staged {
    let looks = commit::looks(input);
    let eyes = AddedLineReader { input, policy, looks: &looks.list };
    let mut all = Staged { found: Vec::new(), is_whole: !looks.is_partial };
    for look in &looks.list {
        let dir = eyes.dir_of(look);
        let seen = match &look.what {
            GitWriteKind::Index if eyes.takes_tracked(look) => continue,
            GitWriteKind::Index => eyes.index(&dir),
            GitWriteKind::Tracked => eyes.changed(&dir, &[]),
            GitWriteKind::Paths(paths) => eyes.paths(&dir, paths),
        };
        let seen = seen.unwrap_or_default();
        all.found.extend(seen.found);
        all.is_whole &= seen.is_whole;
        if !seen.is_whole {
            // A git that hangs or drowns us is not asked again.
            break;
        }
    }
    all
}

/// What to tell the user if not everything could be looked at.
pub(crate) fn warning(needs: SharedNeeds, facts: &Answers) -> Option<String> {
    let is_whole = facts.staged.as_ref().is_some_and(|staged| staged.is_whole);
    (needs.has(SharedNeeds::STAGED) && !is_whole).then(|| {
        "not all of what would be committed could be looked at for secrets and conflict markers".to_owned()
    })
}

struct AddedLineReader<'a> {
    input: &'a Input,
    policy: &'a Settings,
    looks: &'a [StagedQuery],
}

impl AddedLineReader<'_> {
    fn minds(&self, found: &StagedFinding) -> bool {
        self.policy.minds(found)
    }

    fn dir_of(&self, look: &StagedQuery) -> PathBuf {
        locations::tidy(&Path::new(&self.input.cwd).join(&look.place))
    }

    /// All that is staged is among what has changed.
    fn takes_tracked(&self, look: &StagedQuery) -> bool {
        self.looks.iter().any(|other| other.place == look.place && other.what == GitWriteKind::Tracked)
    }

    /// What is staged, but for files that are staged anew before the commit.
    fn index(&self, dir: &Path) -> Option<Staged> {
        let mut seen = self.diff(git::added_lines(dir, Against::Index, &[])?);
        for look in self.looks {
            if let GitWriteKind::Paths(paths) = &look.what
                && !seen.found.is_empty()
            {
                let anew = git::staged_paths(&self.dir_of(look), paths)?;
                seen.found.retain(|found| !anew.iter().any(|path| path == found.path.as_str()));
            }
        }
        Some(seen)
    }

    fn changed(&self, dir: &Path, paths: &[String]) -> Option<Staged> {
        let diff = git::added_lines(dir, Against::Head, paths);
        // Before the first commit there is no HEAD.
        let diff = diff.or_else(|| git::added_lines(dir, Against::Nothing, paths));
        Some(self.diff(diff?))
    }

    fn paths(&self, dir: &Path, paths: &[String]) -> Option<Staged> {
        let mut seen = self.changed(dir, paths)?;
        let new = git::untracked_paths(dir, paths)?;
        seen.is_whole &= new.len() <= FILES;
        for path in new.iter().take(FILES) {
            let file = locations::tidy(&dir.join(path));
            let name = file.strip_prefix(&self.input.root).unwrap_or(Path::new(path)).to_string_lossy();
            let text = read(&file).unwrap_or_default();
            seen.is_whole &= (text.len() as u64) < FILE_BYTES || added_lines::is_binary(&text);
            seen.found.extend(added_lines::in_file(&name, &text, &|found| self.minds(found)));
        }
        Some(seen)
    }

    fn diff(&self, diff: GitDiff) -> Staged {
        let found = added_lines::in_diff(&diff.text, &|found| self.minds(found));
        Staged { found, is_whole: diff.is_whole }
    }
}

/// A regular file and nothing else: what is put in its place must not hang us.
fn read(path: &Path) -> Option<Vec<u8>> {
    let is_file = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    is_file.then(|| read_capped(File::open(path).ok()?, FILE_BYTES).ok()).flatten()
}
