//! Looks at the lines a commit would add. Git says what has changed; new files, which it knows
//! nothing of yet, are read here. What it cannot say in time is told as not looked at.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use sprag_core::event::Input;
use sprag_core::fact::{Facts, Finding, Needs, Staged};
use sprag_core::gates::commit::git::{Kind, Look};
use sprag_core::gates::commit::{self, staged};

use crate::exec::read_capped;
use crate::git::{self, Against};
use crate::places;

/// Bounds on new files: work, not time, so that a verdict does not depend on the load.
const FILES: usize = 200;
const FILE_BYTES: u64 = 1024 * 1024;

/// What is wrong with the commits of a call.
pub fn look(input: &Input) -> Staged {
    let looks = commit::looks(input);
    let mut all = Staged { found: Vec::new(), is_whole: !looks.is_partial };
    let takes_tracked =
        |place: &str| looks.list.iter().any(|look| look.place == place && look.what == Kind::Tracked);
    for look in &looks.list {
        let dir = dir_of(input, &look.place);
        let found = match &look.what {
            // All that is staged is among what has changed.
            Kind::Index if takes_tracked(&look.place) => Some(Vec::new()),
            Kind::Index => index(&dir, input, &looks.list),
            Kind::Tracked => changed(&dir, &[]),
            Kind::Paths(paths) => paths_of(&dir, input, paths),
        };
        match found {
            Some(found) => all.found.extend(found),
            // A git that hangs is not asked again.
            None => {
                all.is_whole = false;
                break;
            }
        }
    }
    all
}

/// What to tell the user if not everything could be looked at.
pub fn warning(needs: Needs, facts: &Facts) -> Option<String> {
    let is_whole = facts.staged.as_ref().is_some_and(|staged| staged.is_whole);
    (needs.has(Needs::STAGED) && !is_whole).then(|| {
        "not all of what would be committed could be looked at for secrets and conflict markers".to_owned()
    })
}

/// What is staged, but for files that are staged anew before the commit.
fn index(dir: &Path, input: &Input, looks: &[Look]) -> Option<Vec<Finding>> {
    let mut found = staged::in_diff(&git::added_lines(dir, Against::Index, &[])?);
    if found.is_empty() {
        return Some(found);
    }
    for look in looks {
        if let Kind::Paths(paths) = &look.what {
            let anew = git::staged_paths(&dir_of(input, &look.place), paths)?;
            found.retain(|found| !anew.iter().any(|path| path == found.path.as_str()));
        }
    }
    Some(found)
}

fn changed(dir: &Path, paths: &[String]) -> Option<Vec<Finding>> {
    let diff = git::added_lines(dir, Against::Head, paths);
    // Before the first commit there is no HEAD.
    let diff = diff.or_else(|| git::added_lines(dir, Against::Nothing, paths));
    Some(staged::in_diff(&diff?))
}

fn paths_of(dir: &Path, input: &Input, paths: &[String]) -> Option<Vec<Finding>> {
    let mut found = changed(dir, paths)?;
    let new = git::untracked_paths(dir, paths)?;
    if new.len() > FILES {
        return None;
    }
    for path in new {
        let file = places::tidy(&dir.join(&path));
        let name = file.strip_prefix(&input.root).unwrap_or(Path::new(&path)).to_string_lossy();
        found.extend(staged::in_file(&name, &read(&file).unwrap_or_default()));
    }
    Some(found)
}

/// A regular file and nothing else: what is put in its place must not hang us.
fn read(path: &Path) -> Option<Vec<u8>> {
    let is_file = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    is_file.then(|| read_capped(File::open(path).ok()?, FILE_BYTES).ok()).flatten()
}

fn dir_of(input: &Input, place: &str) -> PathBuf {
    places::tidy(&Path::new(&input.cwd).join(place))
}
