//! Rewrites of history, each made by git itself.

use std::fs;

use sprag_base::result::Discard as _;

use super::repository::{Repository, items};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Rewrite {
    Amend,
    Rebase,
    Fixup,
    Squash,
    CherryPick,
    Merge,
    Revert,
    Rename,
    FilterRepo,
    Move,
    Format,
}

impl Rewrite {
    pub(super) const ALL: [Rewrite; 11] = [
        Rewrite::Amend,
        Rewrite::Rebase,
        Rewrite::Fixup,
        Rewrite::Squash,
        Rewrite::CherryPick,
        Rewrite::Merge,
        Rewrite::Revert,
        Rewrite::Rename,
        Rewrite::FilterRepo,
        Rewrite::Move,
        Rewrite::Format,
    ];

    /// Returns the least share of lines that blame must find, in percent.
    pub(super) fn target(self) -> usize {
        match self {
            Rewrite::Move => 95,
            Rewrite::Format => 80,
            _ => 99,
        }
    }

    pub(super) fn apply(self, repository: &mut Repository) {
        match self {
            Rewrite::Amend => amend(repository),
            Rewrite::Rebase => rebase(repository),
            Rewrite::Fixup => fixup(repository),
            Rewrite::Squash => squash(repository),
            Rewrite::CherryPick => cherry_pick(repository),
            Rewrite::Merge => merge(repository),
            Rewrite::Revert => revert(repository),
            Rewrite::Rename => rename(repository),
            Rewrite::FilterRepo => filter(repository),
            Rewrite::Move => move_block(repository),
            Rewrite::Format => format(repository),
        }
    }
}

fn amend(repository: &mut Repository) {
    repository.work();
    if repository.dice.one_in(2) {
        repository.edit(None);
        repository.git(&["add", "-A"]);
    }
    repository.git(&["commit", "-q", "--amend", "-m", "said better"]);
    if repository.dice.one_in(2) {
        repository.git(&["commit", "-q", "--amend", "--allow-empty", "-m", "and better"]);
    }
}

/// Makes commits on a branch, and possibly on main. Ends on the branch.
fn fork(repository: &mut Repository) {
    repository.git(&["checkout", "-q", "-B", "topic"]);
    for _ in 0..2 + repository.dice.below(2) {
        repository.work();
        if repository.dice.one_in(4) {
            repository.by_hand();
        }
    }
    repository.git(&["checkout", "-q", "main"]);
    match repository.dice.below(3) {
        0 => {}
        1 => repository.by_hand(),
        _ => drop(repository.work()),
    }
    repository.git(&["checkout", "-q", "topic"]);
}

/// Rebases the branch. Conflicts take the version of the branch, which is a rewrite too.
fn rebase(repository: &mut Repository) {
    fork(repository);
    if repository.try_git(&["rebase", "-q", "-X", "theirs", "main"]).is_err() {
        repository.try_git(&["rebase", "--abort"]).discard("git may have ended it already");
        repository.git(&["checkout", "-q", "main"]);
        return;
    }
    repository.git(&["checkout", "-q", "main"]);
    repository.git(&["merge", "-q", "--ff-only", "topic"]);
}

fn fixup(repository: &mut Repository) {
    let base = repository.git(&["rev-parse", "HEAD"]);
    let first = repository.work();
    repository.work();
    let third = repository.work();
    // A fixup commit is a separate commit until git folds it into the earlier one.
    let message = ["fixup! ", "squash! "][repository.dice.below(2)].to_owned();
    let subject = repository.git(&["log", "-1", "--format=%s", &first]);
    repository.git(&["commit", "-q", "--amend", "-m", &(message + &subject)]);
    let amended = repository.git(&["rev-parse", "HEAD"]);
    assert_ne!(third, amended);
    repository.sandbox.vars.push(("GIT_SEQUENCE_EDITOR".to_owned(), "true".to_owned()));
    repository.sandbox.vars.push(("GIT_EDITOR".to_owned(), "true".to_owned()));
    if repository.try_git(&["rebase", "-q", "-i", "--autosquash", &base]).is_err() {
        repository.try_git(&["rebase", "--abort"]).discard("git may have ended it already");
    }
}

fn squash(repository: &mut Repository) {
    fork(repository);
    repository.git(&["checkout", "-q", "main"]);
    if repository.try_git(&["merge", "-q", "--squash", "topic"]).is_err() {
        repository.git(&["reset", "-q", "--hard"]);
        return;
    }
    repository.commit("all of topic");
    repository.git(&["branch", "-q", "-D", "topic"]);
}

fn cherry_pick(repository: &mut Repository) {
    fork(repository);
    let picked = repository.git(&["rev-list", "--reverse", "main..topic"]);
    repository.git(&["checkout", "-q", "main"]);
    for commit in picked.lines() {
        let how: &[&str] = if repository.dice.one_in(2) { &["-x"] } else { &[] };
        if repository.try_git(&[&["cherry-pick", "--allow-empty"], how, &[commit]].concat()).is_err() {
            repository.try_git(&["cherry-pick", "--abort"]).discard("git may have ended it already");
        }
    }
    if repository.dice.one_in(3)
        && repository.try_git(&["merge", "-q", "--no-ff", "topic", "-m", "m"]).is_err()
    {
        repository.try_git(&["merge", "--abort"]).discard("git may have ended it already");
    }
}

fn merge(repository: &mut Repository) {
    fork(repository);
    repository.git(&["checkout", "-q", "main"]);
    if repository.try_git(&["merge", "-q", "--no-ff", "topic", "-m", "merged"]).is_err() {
        repository.try_git(&["merge", "--abort"]).discard("git may have ended it already");
    }
}

/// Reverts a commit, and sometimes reverts the revert, so that removed lines return.
fn revert(repository: &mut Repository) {
    repository.work();
    repository.work();
    if repository.try_git(&["revert", "--no-edit", "HEAD"]).is_err() {
        repository.try_git(&["revert", "--abort"]).discard("git may have ended it already");
        return;
    }
    if repository.dice.one_in(2) && repository.try_git(&["revert", "--no-edit", "HEAD"]).is_err() {
        repository.try_git(&["revert", "--abort"]).discard("git may have ended it already");
    }
}

fn rename(repository: &mut Repository) {
    repository.work();
    let files = repository.files();
    let from = files[repository.dice.below(files.len())].clone();
    let to = format!("src/moved_{}", from.rsplit('/').next().unwrap());
    repository.git(&["mv", &from, &to]);
    repository.commit("renamed");
    repository.work();
}

/// Removes a file from the whole history, or moves everything to another directory, as `git filter-repo`
/// does, with git's own means.
fn filter(repository: &mut Repository) {
    repository.sandbox.vars.push(("FILTER_BRANCH_SQUELCH_WARNING".to_owned(), "1".to_owned()));
    let is_export = repository.dice.one_in(2);
    if is_export {
        let export = repository.git(&["fast-export", "--all", "--reencode=yes"]);
        let renamed: Vec<String> = export
            .lines()
            .map(|line| match line.strip_prefix("M 100644 :") {
                Some(rest) => format!("M 100644 :{}", rest.replacen(" src/", " lib/", 1)),
                None => match line.strip_prefix("D src/") {
                    Some(rest) => format!("D lib/{rest}"),
                    None => line.to_owned(),
                },
            })
            .collect();
        let file = repository.sandbox.home.join("export");
        fs::write(&file, renamed.join("\n") + "\n").unwrap();
        let script = format!("git fast-import --force --quiet < {}", file.display());
        let done = repository.sandbox.command("sh").args(["-c", &script]).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        repository.git(&["reset", "-q", "--hard"]);
    } else {
        let drop = "git rm -q --cached --ignore-unmatch secret.txt";
        repository.git(&[
            "filter-branch",
            "-f",
            "--index-filter",
            drop,
            "--msg-filter",
            "cat; echo more",
            "--",
            "--all",
        ]);
    }
}

/// A person moves functions from one file to another.
fn move_block(repository: &mut Repository) {
    repository.work();
    let files = repository.files();
    if files.len() < 2 {
        return;
    }
    let from = repository.dice.below(files.len());
    let to = (from + 1 + repository.dice.below(files.len() - 1)) % files.len();
    let (from, to) = (files[from].clone(), files[to].clone());
    let mut source = items(&repository.read(&from));
    let mut target = items(&repository.read(&to));
    for _ in 0..1 + repository.dice.below(2) {
        if source.len() > 1 {
            let moved = source.remove(repository.dice.below(source.len()));
            let at = repository.dice.below(target.len() + 1);
            target.insert(at, moved);
        }
    }
    repository.sandbox.write(&from, &source.join("\n"));
    repository.sandbox.write(&to, &target.join("\n"));
    repository.git(&["add", "-A"]);
    repository.commit("moved");
}

/// A person runs a formatter with another style.
fn format(repository: &mut Repository) {
    repository.work();
    let files = repository.files();
    let path = files[repository.dice.below(files.len())].clone();
    let mut text = String::new();
    for line in repository.read(&path).lines() {
        let indent = line.len() - line.trim_start().len();
        let (new, code) = ("  ".repeat(indent / 4), line.trim_start());
        match code.split_once("(alpha, beta, gamma);") {
            Some((call, "")) => {
                text += &format!("{new}{call}(\n{new}  alpha,\n{new}  beta,\n{new}  gamma,\n{new});\n");
            }
            _ => text += &format!("{new}{code}\n"),
        }
    }
    repository.sandbox.write(&path, &text);
    repository.git(&["add", "-A"]);
    repository.commit("formatted");
}
