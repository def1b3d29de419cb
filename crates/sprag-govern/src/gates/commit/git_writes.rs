//! Classifies git commands: those that write, those that stage everything, and the content of a commit. An
//! unknown subcommand, for example an alias, is none of these.

use sprag_shell::{Command, Host, Script, Word, WorkingDir};

use crate::gates::commit::arguments::{Arguments, HOLE, Spec};

pub const GIT: &str = "git";

/// The rule that distinguishes writing forms of a subcommand from reading ones.
enum Writes {
    Always,
    /// Writes with one of these options.
    With(&'static [&'static str]),
    /// Writes if one of these words comes first.
    Verb(&'static [&'static str]),
    /// Writes unless one of these words comes first; without any word it writes.
    NotVerb(&'static [&'static str]),
    /// Writes with enough operands unless an option of `lists` is given, or with an option of `writes`.
    Naming {
        lists: &'static [&'static str],
        writes: &'static [&'static str],
        operands: usize,
    },
}

const LIST_BRANCHES: &[&str] = &[
    "-l",
    "--list",
    "-a",
    "--all",
    "-r",
    "--remotes",
    "--contains",
    "--no-contains",
    "--merged",
    "--no-merged",
    "--points-at",
    "--show-current",
];
const LIST_TAGS: &[&str] = &[
    "-l",
    "--list",
    "-n",
    "-v",
    "--verify",
    "--contains",
    "--no-contains",
    "--merged",
    "--no-merged",
    "--points-at",
];

const ROWS: &[(&str, Writes)] = &[
    ("add", Writes::Always),
    ("stage", Writes::Always),
    ("am", Writes::Always),
    ("apply", Writes::With(&["--index", "--cached", "--intent-to-add", "-N"])),
    ("bisect", Writes::NotVerb(&["log", "view", "visualize", "terms", "help"])),
    (
        "branch",
        Writes::Naming {
            lists: LIST_BRANCHES,
            writes: &[
                "-d",
                "-D",
                "-m",
                "-M",
                "-c",
                "-C",
                "-u",
                "--delete",
                "--move",
                "--copy",
                "--set-upstream-to",
                "--unset-upstream",
                "--edit-description",
            ],
            operands: 1,
        },
    ),
    ("checkout", Writes::Always),
    ("cherry-pick", Writes::Always),
    ("clean", Writes::Always),
    ("commit", Writes::Always),
    ("commit-tree", Writes::Always),
    (
        "config",
        Writes::Naming {
            lists: &["--get", "--get-all", "--get-regexp", "--get-urlmatch", "--get-color", "-l", "--list"],
            writes: &[
                "--add",
                "--unset",
                "--unset-all",
                "--replace-all",
                "--rename-section",
                "--remove-section",
                "-e",
                "--edit",
            ],
            operands: 2,
        },
    ),
    ("fast-import", Writes::Always),
    ("filter-branch", Writes::Always),
    ("filter-repo", Writes::Always),
    ("gc", Writes::Always),
    ("merge", Writes::Always),
    ("mv", Writes::Always),
    ("notes", Writes::Verb(&["add", "append", "copy", "edit", "merge", "prune", "remove"])),
    ("pack-refs", Writes::Always),
    ("prune", Writes::Always),
    ("pull", Writes::Always),
    ("push", Writes::Always),
    ("read-tree", Writes::Always),
    ("rebase", Writes::Always),
    ("reflog", Writes::Verb(&["expire", "delete", "drop", "write"])),
    (
        "remote",
        Writes::Verb(&["add", "rename", "remove", "rm", "set-head", "set-branches", "set-url", "prune"]),
    ),
    ("repack", Writes::Always),
    ("replace", Writes::Naming { lists: &["-l", "--list"], writes: &["-d", "--delete"], operands: 1 }),
    ("reset", Writes::Always),
    ("restore", Writes::With(&["--staged", "-S"])),
    ("revert", Writes::Always),
    ("rm", Writes::Always),
    ("send-pack", Writes::Always),
    ("sparse-checkout", Writes::NotVerb(&["list", "check-rules"])),
    ("stash", Writes::NotVerb(&["list", "show", "create"])),
    (
        "submodule",
        Writes::Verb(&["add", "init", "deinit", "update", "set-branch", "set-url", "sync", "absorbgitdirs"]),
    ),
    ("switch", Writes::Always),
    ("symbolic-ref", Writes::Naming { lists: &[], writes: &["-d", "--delete"], operands: 2 }),
    ("tag", Writes::Naming { lists: LIST_TAGS, writes: &["-d", "--delete"], operands: 1 }),
    ("update-index", Writes::Always),
    ("update-ref", Writes::Always),
    ("worktree", Writes::Verb(&["add", "lock", "move", "prune", "remove", "repair", "unlock"])),
];

/// Subcommands for which `-n` is a dry run; for others it has another meaning.
const REHEARSED: &[&str] = &["add", "stage", "clean", "mv", "push", "rm"];

const ADD: Spec = Spec { letters: "", attached: "", long: &["--chmod", "--pathspec-from-file"] };
pub const COMMIT: Spec = Spec {
    letters: "mFCct",
    attached: "Su",
    long: &[
        "--message",
        "--file",
        "--reuse-message",
        "--reedit-message",
        "--fixup",
        "--squash",
        "--template",
        "--author",
        "--date",
        "--cleanup",
        "--trailer",
        "--pathspec-from-file",
    ],
};
/// Options of all other subcommands. Only a few matter, and none of those takes a value in the next word.
const OTHER: Spec = Spec {
    letters: "",
    attached: "",
    long: &["--sort", "--format", "--contains", "--points-at", "--file", "--type", "--default"],
};

/// Returns the subcommand if the command is git on a local repository.
fn subcommand(command: &Command) -> Option<&str> {
    if command.program() != Some(GIT) || command.host != Host::Local {
        return None;
    }
    match command.argv.get(1) {
        Some(Word::Known(name)) => Some(name),
        Some(Word::Partly(_) | Word::Many) | None => None,
    }
}

fn read(command: &Command, name: &str) -> Arguments {
    let spec = match name {
        "add" | "stage" => &ADD,
        "commit" => &COMMIT,
        _ => &OTHER,
    };
    Arguments::read(command, 2, spec)
}

fn is_rehearsal(name: &str, words: &Arguments) -> bool {
    words.has(&["--dry-run", "--help", "-h"]) || (REHEARSED.contains(&name) && words.has(&["-n"]))
}

/// Returns the name of the subcommand if it changes a repository.
pub fn write(command: &Command) -> Option<&str> {
    let name = subcommand(command)?;
    let (_, writes) = ROWS.iter().find(|(row, _)| *row == name)?;
    let words = read(command, name);
    let is_write = match writes {
        Writes::Always => true,
        Writes::With(options) => words.has(options),
        Writes::Verb(verbs) => words.operand(0).is_some_and(|verb| verbs.contains(&verb)),
        Writes::NotVerb(verbs) => words.operand(0).is_none_or(|verb| !verbs.contains(&verb)),
        Writes::Naming { lists, writes, operands } => {
            let verb = words.operand(0).filter(|_| name == "config");
            match verb {
                Some("get" | "list" | "get-color" | "get-colorbool") => false,
                Some("set" | "unset" | "edit" | "rename-section" | "remove-section") => true,
                _ => words.has(writes) || (!words.has(lists) && words.operands.len() >= *operands),
            }
        }
    };
    (is_write && !is_rehearsal(name, &words)).then_some(name)
}

/// Returns how a command stages everything, as written: `git add -A`, `git commit -a`.
pub fn sweep(command: &Command) -> Option<String> {
    let name = subcommand(command)?;
    let words = read(command, name);
    if is_rehearsal(name, &words) {
        return None;
    }
    let whole = words.operands().find(|path| is_everything(path));
    let is_exception = |path: &str| path.starts_with(":!") || path.starts_with(":^");
    // Everything except some paths counts as everything.
    let whole = whole.or_else(|| words.operand(0).filter(|_| words.operands().all(is_exception)));
    let all: &[&str] = match name {
        "add" | "stage" => &["-A", "--all", "--no-ignore-removal", "-u", "--update"],
        "commit" => &["-a", "--all"],
        _ => return None,
    };
    let option = words.options.iter().find(|given| all.contains(&given.name.as_str()));
    let is_limited = name != "commit" && words.operands().next().is_some();
    match (whole, option) {
        (Some(path), _) => Some(format!("git {name} {path}")),
        (None, Some(option)) if !is_limited => Some(format!("git {name} {}", option.name)),
        (None, _) => None,
    }
}

fn is_everything(path: &str) -> bool {
    let path = path.strip_prefix(":(top)").or_else(|| path.strip_prefix(':')).unwrap_or(path);
    let is_up = |path: &str| path.chars().all(|c| matches!(c, '.' | '/'));
    is_up(path) || matches!(path.trim_start_matches(['.', '/']), "*" | "**")
}

/// A query before a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedQuery {
    /// A directory of the repository, absolute or relative to the start of the shell.
    pub place: String,
    pub what: GitWriteKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitWriteKind {
    /// Staged changes.
    Index,
    /// Every change of a tracked file.
    Tracked,
    /// Changes below these pathspecs.
    Paths(Vec<String>),
}

/// The content of the commits of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StagedQueries {
    pub list: Vec<StagedQuery>,
    /// Some of the content is known only at run time.
    pub is_partial: bool,
}

/// Returns the content of the commits of a script, including files that the script stages first and that are
/// not in the index yet.
pub fn looks(script: &Script) -> StagedQueries {
    let mut looks = StagedQueries::default();
    let mut commits = false;
    for command in &script.commands {
        let Some(name @ ("add" | "stage" | "commit")) = subcommand(command) else {
            continue;
        };
        let words = read(command, name);
        if is_rehearsal(name, &words) {
            continue;
        }
        commits |= name == "commit";
        let WorkingDir::At(place) = &command.cwd else {
            looks.is_partial = true;
            continue;
        };
        let mut look = |what| {
            let look = StagedQuery { place: place.clone(), what };
            if !looks.list.contains(&look) {
                looks.list.push(look);
            }
        };
        let paths: Vec<String> = words.operands().filter_map(pathspec).collect();
        let is_unknown = paths.len() < words.operands.len() || words.has(&["--pathspec-from-file"]);
        let picks = words.has(&["-p", "--patch", "-i", "--interactive", "-e", "--edit"]);
        match name {
            "commit" if words.has(&["-a", "--all"]) => look(GitWriteKind::Tracked),
            "commit" if paths.is_empty() => look(GitWriteKind::Index),
            "commit" => {
                if words.has(&["-i", "--include"]) {
                    look(GitWriteKind::Index);
                }
                look(GitWriteKind::Paths(paths));
            }
            _ if picks => {}
            _ if !paths.is_empty() => look(GitWriteKind::Paths(paths)),
            _ if words.has(&["-A", "--all", "--no-ignore-removal"]) => {
                look(GitWriteKind::Paths(vec![":/".to_owned()]))
            }
            _ if words.has(&["-u", "--update"]) => look(GitWriteKind::Tracked),
            _ => {}
        }
        looks.is_partial |= is_unknown;
    }
    if commits { looks } else { StagedQueries::default() }
}

/// Returns a pathspec. Unknown parts of the path become `*`.
fn pathspec(text: &str) -> Option<String> {
    let is_unknown = text.chars().all(|c| c == HOLE);
    (!is_unknown).then(|| text.replace(HOLE, "*"))
}

#[cfg(test)]
mod tests {
    use sprag_shell::ShellStart;

    use super::*;

    fn script(text: &str) -> Script {
        Script::parse(text, &ShellStart { cwd: Some("/w".to_owned()), home: None })
    }

    fn writes(text: &str) -> Vec<String> {
        script(text).commands.iter().filter_map(write).map(str::to_owned).collect()
    }

    fn sweeps(text: &str) -> Vec<String> {
        script(text).commands.iter().filter_map(sweep).collect()
    }

    #[test]
    fn reads_are_no_writes() {
        for text in [
            "git status; git log --oneline -5; git diff HEAD; git show; git blame x; git fetch",
            "git branch; git branch -a; git branch --list 'x*'; git branch --contains HEAD; git branch --show-current",
            "git tag; git tag -l 'v*'; git tag --points-at HEAD; git tag --sort=-v:refname",
            "git stash list; git stash show -p; git worktree list; git remote -v; git remote show origin",
            "git config user.name; git config --get x.y; git config -l; git config get x.y; git config list",
            "git restore x; git apply x.patch; git add -n .; git push --dry-run; git commit --dry-run; git add --help",
            "git reflog; git notes show; git submodule status; git symbolic-ref HEAD; git bisect log",
            "echo git push; git commit-graph verify; git $X; ssh host git push",
        ] {
            assert_eq!(writes(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn writes_are_seen_wherever_they_stand() {
        for (text, name) in [
            ("git -C sub commit -m x", "commit"),
            ("cd x && sudo -u me git push origin main", "push"),
            ("bash -c 'cd y; git merge other'", "merge"),
            ("git checkout -b new", "checkout"),
            ("git branch new", "branch"),
            ("git branch -D old", "branch"),
            ("git tag v1", "tag"),
            ("git tag -d v1", "tag"),
            ("git tag -a v1 -m x", "tag"),
            ("git stash", "stash"),
            ("git stash pop", "stash"),
            ("git apply --index x.patch", "apply"),
            ("git restore --staged x", "restore"),
            ("git config user.name me", "config"),
            ("git config set user.name me", "config"),
            ("git config --unset user.name", "config"),
            ("git worktree add ../x", "worktree"),
            ("git update-ref refs/heads/x HEAD", "update-ref"),
            ("git symbolic-ref HEAD refs/heads/x", "symbolic-ref"),
            ("git remote set-url origin x", "remote"),
            ("git commit -n -m x", "commit"),
            ("echo $(git rm x)", "rm"),
        ] {
            assert_eq!(writes(text), [name], "{text}");
        }
    }

    #[test]
    fn everything_at_once_is_a_sweep() {
        for (text, seen) in [
            ("git add -A", "git add -A"),
            ("git add --all", "git add --all"),
            ("git -C x add .", "git add ."),
            ("git add ./", "git add ./"),
            ("git add :/", "git add :/"),
            ("git add ../..", "git add ../.."),
            ("git add ':(top)*'", "git add :(top)*"),
            ("git add -- ':!target'", "git add :!target"),
            ("git add *", "git add *"),
            ("git add -v -- .", "git add ."),
            ("git add -vA", "git add -A"),
            ("git add -u", "git add -u"),
            ("git commit -am x", "git commit -a"),
            ("git commit --all -m x", "git commit --all"),
            ("sudo bash -c 'git add . && git commit -m x'", "git add ."),
        ] {
            assert_eq!(sweeps(text), [seen], "{text}");
        }
        for text in [
            "git add src/a.rs .gitignore",
            "git add -A src",
            "git add -u src/",
            "git add -nA",
            "git add \"$FILE\"",
            "git add src/*",
            "git commit -m '-a .'",
            "git commit -m .",
            "git commit --amend --no-edit",
            "git commit -F -",
            "echo git add -A",
            "git commit --author . -m x",
        ] {
            assert_eq!(sweeps(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_commit_takes_in_what_is_staged_before_it() {
        let seen = |text: &str| {
            let looks = looks(&script(text));
            let list: Vec<String> = looks
                .list
                .iter()
                .map(|look| match &look.what {
                    GitWriteKind::Index => format!("{} index", look.place),
                    GitWriteKind::Tracked => format!("{} tracked", look.place),
                    GitWriteKind::Paths(paths) => format!("{} {}", look.place, paths.join(" ")),
                })
                .collect();
            (list.join("; "), looks.is_partial)
        };
        for (text, list, is_partial) in [
            ("git commit -m x", "/w index", false),
            ("git add a 'b c' && git commit -m x", "/w a b c; /w index", false),
            ("cd sub && git add . && git commit -m x", "/w/sub .; /w/sub index", false),
            ("git add -A; git commit -m x", "/w :/; /w index", false),
            ("git add -p; git commit -m x", "/w index", false),
            ("git -C y commit -am x", "/w/y tracked", false),
            ("git commit a.rs -m x", "/w a.rs", false),
            ("git commit -i a.rs -m x", "/w index; /w a.rs", false),
            ("git add \"$F\" \"src/$F\" && git commit -m x", "/w src/*; /w index", true),
            ("cd $X && git commit -m x", "", true),
            ("git add a", "", false),
            ("git commit --dry-run", "", false),
            ("echo git commit", "", false),
        ] {
            assert_eq!(seen(text), (list.to_owned(), is_partial), "{text}");
        }
    }
}
