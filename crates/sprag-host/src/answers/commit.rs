//! Finds problems in the lines that a commit would add, and lists files that are not committed. Git reports
//! changes of tracked files; Sprag reads new files itself. If git does not answer in time, the result is
//! marked as incomplete.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use sprag_base::text::Text;
use sprag_govern::event::Input;
use sprag_govern::facts::{SharedFacts, Staged, StagedFinding};
use sprag_govern::gates::commit::git_writes::{GitWriteKind, StagedQueries, StagedQuery};
use sprag_govern::gates::commit::{Answer, Question, Settings, added_lines};
use sprag_govern::obligation::Duty;

use crate::answers::AnswerCx;
use crate::git::{self, Against, GitDiff};
use crate::sys::exec::read_capped;
use crate::sys::locations;
use crate::worktree::tree_hash;
use crate::world::World;

/// Limits on new files. They bound the work and not the time, so that a verdict does not depend on the load.
const FILES: usize = 200;
const FILE_BYTES: u64 = 1024 * 1024;

pub(super) fn answer(question: &Question, cx: &AnswerCx<'_>, shared: &SharedFacts) -> Answer {
    match question {
        Question::Staged(queries) => {
            let settings = &cx.world().config.settings.govern.gates.commit;
            Answer { staged: Some(inspect_commits(queries, cx.input, settings)), ..Answer::default() }
        }
        Question::Uncommitted => {
            let world = cx.session_world();
            Answer {
                uncommitted: uncommitted(world, shared),
                stash: world.places.reference("refs/stash").map(Text::new),
                staged: None,
            }
        }
    }
}

/// Returns the uncommitted files that the session changed or that an open commit debt names.
fn uncommitted(world: &World<'_>, shared: &SharedFacts) -> Option<Vec<String>> {
    let changes = shared.changes.as_ref()?;
    let debts = shared.debts.as_deref().unwrap_or_default().iter().map(|open| &open.debt);
    // A debt stores shortened paths, so the comparison shortens as well.
    let owed: HashSet<&Text<200>> =
        debts.filter(|debt| debt.duty == Duty::Commit).flat_map(|debt| &debt.items).collect();
    let changed: HashSet<&String> = changes.paths.iter().collect();
    if owed.is_empty() && changed.is_empty() {
        return Some(Vec::new());
    }
    let mut paths = tree_hash::changed_paths(&world.places, world.disk)?;
    paths.retain(|path| changed.contains(path) || owed.contains(&Text::from(path.as_str())));
    Some(paths)
}

/// Returns the findings of all commits of a call.
fn inspect_commits(looks: &StagedQueries, input: &Input, policy: &Settings) -> Staged {
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
            // If git hangs or prints too much, do not ask it again.
            break;
        }
    }
    all
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

    /// Reports whether the same directory also commits all tracked changes, which include the staged ones.
    fn takes_tracked(&self, look: &StagedQuery) -> bool {
        self.looks.iter().any(|other| other.place == look.place && other.what == GitWriteKind::Tracked)
    }

    /// Returns findings in staged lines, except in files that the call stages again before the commit.
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

/// Reads a regular file. Other file types, such as a pipe, could block forever.
fn read(path: &Path) -> Option<Vec<u8>> {
    let is_file = fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    is_file.then(|| read_capped(File::open(path).ok()?, FILE_BYTES).ok()).flatten()
}
