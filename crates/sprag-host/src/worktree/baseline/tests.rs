//! Scenarios of sessions, with real git.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use sprag_base::ids::SessionId;
use sprag_govern::session::Session;

use super::*;
use crate::store::journal::Journal;
use crate::store::new_record;
use crate::sys::disk::RealDisk;
use crate::sys::env::Env;
use crate::sys::exec::{self, ProcessSpec};
use crate::upkeep::clean::{self, CleanReport};

pub(crate) struct Repo {
    _temp: TempDir,
    pub dir: PathBuf,
}

impl Repo {
    /// Returns a repository without a commit.
    pub(crate) fn empty() -> Repo {
        Repo::init("sha1")
    }

    fn init(objects: &str) -> Repo {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().canonicalize().unwrap().join("repo");
        fs::create_dir(&dir).unwrap();
        let repo = Repo { _temp: temp, dir };
        repo.git(&["init", "-q", "-b", "main", "--object-format", objects]);
        // The person who runs the tests may have a global ignore file.
        repo.git(&["config", "core.excludesFile", "/dev/null"]);
        repo
    }

    pub(crate) fn new() -> Repo {
        let repo = Repo::empty();
        repo.write("a.txt", "one\ntwo\nthree\n");
        repo.write("b.txt", "b\n");
        repo.write(".gitignore", "*.log\n");
        repo.commit();
        repo
    }

    /// Returns a repository with this kind of hash, and a file in a directory.
    pub(crate) fn of(objects: &str) -> Repo {
        let repo = Repo::init(objects);
        repo.write("a.txt", "one\n");
        repo.write("b.txt", "b\n");
        repo.write("deep/away.txt", "x\n");
        repo.commit();
        repo
    }

    pub(crate) fn git(&self, args: &[&str]) {
        let ran = git::in_own_repository(&self.dir, args).unwrap();
        assert!(ran.succeeded(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    }

    pub(crate) fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        let path = self.dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn append(&self, path: &str, text: &str) {
        let old = fs::read(self.dir.join(path)).unwrap_or_default();
        self.write(path, [&old, text.as_bytes()].concat());
    }

    pub(crate) fn remove(&self, path: &str) {
        fs::remove_file(self.dir.join(path)).unwrap();
    }

    pub(crate) fn places(&self) -> Locations {
        Locations::find(&self.dir, &Env::Given([].into())).unwrap()
    }

    fn start(&self) -> Start<'_> {
        let places = self.places();
        let taken = capture(&places, &RealDisk, &SessionId::new("s-1")).unwrap();
        Start { repo: self, places, taken }
    }
}

struct Start<'a> {
    repo: &'a Repo,
    places: Locations,
    taken: BaselineName,
}

impl Start<'_> {
    fn since(&self) -> Since {
        since(&self.places, &self.taken.name).unwrap()
    }

    #[track_caller]
    fn is(&self, lines: u64, paths: &[&str]) {
        let since = self.since();
        assert_eq!((since.lines, &since.paths[..]), (lines, &paths.map_owned()[..]), "{since:?}");
        assert!(since.is_whole);
    }
}

trait Owned {
    fn map_owned(&self) -> Vec<String>;
}

impl Owned for [&str] {
    fn map_owned(&self) -> Vec<String> {
        self.iter().map(|&text| text.to_owned()).collect()
    }
}

#[test]
fn unfinished_work_never_counts_but_what_is_added_to_it_does() {
    let repo = Repo::new();
    repo.append("a.txt", "mine\n");
    repo.write("new.txt", "mine\ntoo\n");
    repo.write("staged.txt", "staged\n");
    repo.git(&["add", "staged.txt"]);
    repo.remove("b.txt");
    let start = repo.start();
    assert_eq!(start.taken.dirty, 4);
    start.is(0, &[]);
    repo.append("a.txt", "one more\n");
    start.is(1, &["a.txt"]);
    repo.append("new.txt", "one more\n");
    repo.append("staged.txt", "one more\n");
    start.is(3, &["a.txt", "new.txt", "staged.txt"]);
    // The user's line is gone and the file equals its committed content: that is a change.
    repo.write("a.txt", "one\ntwo\nthree\n");
    start.is(3, &["a.txt", "new.txt", "staged.txt"]);
    repo.write("b.txt", "b\n");
    repo.remove("new.txt");
    start.is(5, &["a.txt", "b.txt", "new.txt", "staged.txt"]);
}

#[test]
fn commits_hide_nothing() {
    let repo = Repo::new();
    repo.write("mine.txt", "mine\n");
    let start = repo.start();
    repo.append("a.txt", "four\n");
    repo.write("new/file.txt", "1\n2");
    start.is(3, &["a.txt", "new/file.txt"]);
    repo.commit();
    start.is(3, &["a.txt", "new/file.txt"]);
    repo.append("a.txt", "five\n");
    repo.git(&["commit", "-q", "-a", "--amend", "-m", "y"]);
    start.is(4, &["a.txt", "new/file.txt"]);
    repo.git(&["reset", "-q", "--hard", "HEAD~"]);
    // `mine.txt` was committed and went with the commit.
    start.is(1, &["mine.txt"]);
}

#[test]
fn deleted_renamed_binary_and_another_mode() {
    let repo = Repo::new();
    repo.write("bin", b"a\0b");
    repo.write("run.sh", "x\n");
    repo.write("link", "was a file\n");
    repo.commit();
    let start = repo.start();
    repo.remove("b.txt");
    repo.git(&["mv", "a.txt", "c.txt"]);
    repo.write("bin", b"a\0c");
    repo.write("bin2", b"\0");
    repo.write("empty", "");
    fs::set_permissions(repo.dir.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    repo.remove("link");
    std::os::unix::fs::symlink("a.txt", repo.dir.join("link")).unwrap();
    // 3 + 3 for the rename, 1 for each of the others and 2 for the new link.
    start.is(13, &["a.txt", "b.txt", "bin", "bin2", "c.txt", "empty", "link", "run.sh"]);
}

#[test]
fn what_is_ignored_or_ours_is_not_there() {
    let repo = Repo::new();
    repo.write(".sprag/config.toml", "a = 1\n");
    repo.commit();
    let start = repo.start();
    repo.write("x.log", "x\n");
    repo.write(".sprag/config.toml", "a = 2\n");
    repo.write(".sprag/new", "x\n");
    start.is(0, &[]);
    repo.write("sub/.sprag/x", "x\n");
    start.is(1, &["sub/.sprag/x"]);
}

/// Project generators make a repository of their output.
#[test]
fn a_repository_within_this_one_is_what_is_in_it() {
    let repo = Repo::new();
    let start = repo.start();
    repo.git(&["init", "-q", "app"]);
    repo.write("app/main.rs", "one\ntwo\n");
    repo.write("app/src/deep.rs", "three\n");
    start.is(3, &["app/main.rs", "app/src/deep.rs"]);
}

#[test]
fn a_repository_without_a_commit() {
    let repo = Repo::empty();
    repo.write("mine.txt", "x\n");
    let start = repo.start();
    start.is(0, &[]);
    repo.write("new.txt", "x\n");
    start.is(1, &["new.txt"]);
    repo.commit();
    repo.append("mine.txt", "y\n");
    start.is(2, &["mine.txt", "new.txt"]);
}

#[test]
fn a_linked_worktree_has_its_own_index() {
    let repo = Repo::new();
    repo.git(&["worktree", "add", "-q", "../linked"]);
    let linked = Repo { _temp: tempfile::tempdir().unwrap(), dir: repo.dir.parent().unwrap().join("linked") };
    let start = linked.start();
    assert_eq!(start.places.store, repo.places().store);
    repo.append("a.txt", "elsewhere\n");
    start.is(0, &[]);
    linked.append("b.txt", "here\n");
    linked.commit();
    start.is(1, &["b.txt"]);
}

/// Git trusts an entry that is older than its index, so a copy must keep its time.
#[test]
fn a_quick_edit_of_the_same_size_is_seen() {
    let repo = Repo::new();
    repo.git(&["config", "core.trustctime", "false"]);
    let then = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let set_time = |path: &str| {
        fs::File::options().write(true).open(repo.dir.join(path)).unwrap().set_modified(then).unwrap();
    };
    repo.write("b.txt", "1\n");
    set_time("b.txt");
    repo.commit();
    set_time(".git/index");
    let start = repo.start();
    let before = crate::worktree::tree_hash::hash(&start.places, &RealDisk);
    repo.write("b.txt", "2\n");
    set_time("b.txt");
    start.is(2, &["b.txt"]);
    assert_ne!(crate::worktree::tree_hash::hash(&start.places, &RealDisk), before);
}

#[test]
fn a_split_index() {
    let repo = Repo::new();
    repo.git(&["update-index", "--split-index"]);
    let start = repo.start();
    repo.append("a.txt", "four\n");
    repo.commit();
    start.is(1, &["a.txt"]);
    let shared = || fs::read_dir(repo.dir.join(".git")).unwrap().count();
    let before = shared();
    assert!(crate::worktree::tree_hash::hash(&start.places, &RealDisk).is_some());
    assert_eq!(shared(), before);
}

#[test]
fn names_of_any_bytes() {
    let repo = Repo::new();
    let odd =
        [&b"q\"uote"[..], b"ta\tb", b"new\nline", b"\xff\xfe", b" space ", b"\xc3\xa4", b"a w/a", b"\\"];
    let path = |name: &[u8]| PathBuf::from(OsStr::from_bytes(name));
    for name in odd.iter() {
        repo.write(path(name), "x\n");
    }
    let untracked = repo.start();
    untracked.is(0, &[]);
    repo.commit();
    untracked.is(0, &[]);
    let tracked = repo.start();
    for name in odd.iter() {
        repo.write(path(name), "x\ny\n");
    }
    for name in odd.iter() {
        repo.write(path(&[b"+", *name].concat()), "x\n");
    }
    assert_eq!((untracked.since().lines, untracked.since().paths.len()), (16, 16));
    assert_eq!((tracked.since().lines, tracked.since().paths.len()), (16, 16));
    assert!(tracked.since().paths.contains(&"new\nline".to_owned()));
}

#[test]
fn marks_are_found_where_they_were_added() {
    let repo = Repo::new();
    repo.write("dirty.rs", "// TODO: mine\n");
    repo.append("b.txt", "FIXME mine\n");
    let start = repo.start();
    repo.write("a.txt", "one\n// TODO: theirs\ntwo\nthree\n");
    repo.append("dirty.rs", "fn f() {}\n// FIXME theirs\n");
    repo.write("new.rs", "\nlet TODOS = 1; // TODO\n");
    let marks = start.since().marks;
    let found: Vec<(&str, Option<u32>, &str)> =
        marks.iter().map(|mark| (mark.path.as_str(), mark.line, mark.text.as_str())).collect();
    assert_eq!(
        found,
        [
            ("a.txt", Some(2), "// TODO: theirs"),
            ("dirty.rs", Some(3), "// FIXME theirs"),
            ("new.rs", Some(2), "let TODOS = 1; // TODO"),
        ]
    );
    repo.write("many.rs", "TODO\n".repeat(100));
    assert_eq!(start.since().marks.len(), MARKS);
}

#[test]
fn much_is_said_to_be_more() {
    let repo = Repo::new();
    repo.write("grown", "x".repeat(100 + usize::try_from(1024 * 1024).unwrap()));
    let start = repo.start();
    start.is(0, &[]);
    repo.append("grown", "y");
    repo.write("long.txt", "line\n".repeat(600_000));
    let since = start.since();
    assert!(!since.is_whole);
    assert_eq!(since.paths, ["grown", "long.txt"]);
    repo.remove("long.txt");
    repo.write("a.txt", "changed line\n".repeat(400_000));
    repo.git(&["commit", "-q", "-a", "-m", "much"]);
    let since = start.since();
    assert!(!since.is_whole);
    assert_eq!(since.paths, ["a.txt", "grown"]);
}

#[test]
fn settings_do_not_change_what_is_read() {
    let repo = Repo::new();
    for (name, value) in [
        ("color.ui", "always"),
        ("color.diff", "always"),
        ("color.status", "always"),
        ("column.ui", "always"),
        ("status.short", "true"),
        ("status.displayCommentPrefix", "true"),
        ("status.showUntrackedFiles", "no"),
        ("status.relativePaths", "true"),
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.external", "false"),
        ("diff.renames", "copies"),
        ("diff.orderFile", "nowhere"),
        ("diff.context", "20"),
        ("core.quotePath", "true"),
    ] {
        repo.git(&["config", name, value]);
    }
    let start = repo.start();
    repo.write("a.txt", "one\n2\nthree\n");
    repo.write("new/\u{e4}.txt", "one\ntwo\nthree\n");
    repo.write("new/b.txt", "b\n");
    start.is(6, &["a.txt", "new/b.txt", "new/\u{e4}.txt"]);
}

#[test]
fn no_program_of_the_repository_is_run() {
    let repo = Repo::new();
    let touch = |name: &str| format!("touch {}; cat", repo.dir.join(".git").join(name).display());
    repo.write(".gitattributes", "*.txt filter=f diff=d\n");
    repo.commit();
    repo.git(&["config", "filter.f.clean", &touch("ran-filter")]);
    repo.git(&["config", "diff.d.textconv", &touch("ran-textconv")]);
    repo.git(&["config", "core.fsmonitor", &touch("ran-monitor")]);
    repo.append("b.txt", "mine\n");
    let start = repo.start();
    repo.append("a.txt", "four\n");
    start.is(1, &["a.txt"]);
    assert!(crate::worktree::tree_hash::hash(&start.places, &RealDisk).is_some());
    let entries = fs::read_dir(start.repo.dir.join(".git")).unwrap();
    let ran = entries.filter(|entry| entry.as_ref().unwrap().file_name().as_bytes().starts_with(b"ran"));
    assert_eq!(ran.count(), 0);
}

#[test]
fn a_damaged_note_is_none() {
    let repo = Repo::new();
    let start = repo.start();
    let again = |name: &str| since(&start.places, name);
    assert!(again(&start.taken.name).is_some());
    assert_eq!(again("s-1.0123456789abcdef"), None);
    assert_eq!(again("../start/s-1"), None);
    assert_eq!(again(""), None);
    let dir = dir(&start.places.store, &start.taken.name);
    let note = fs::read(dir.join("dirty.json")).unwrap();
    fs::write(dir.join("dirty.json"), &note[..note.len() / 2]).unwrap();
    assert_eq!(again(&start.taken.name), None);
    fs::write(dir.join("dirty.json"), &note).unwrap();
    fs::write(dir.join("index"), "").unwrap();
    assert_eq!(again(&start.taken.name), None);
    let size = note_index(&note);
    fs::write(dir.join("index"), vec![b'x'; size]).unwrap();
    assert_eq!(again(&start.taken.name), None);
}

fn note_index(note: &[u8]) -> usize {
    let note: BaselineNote = serde_json::from_slice(note).unwrap();
    note.index.unwrap().try_into().unwrap()
}

#[test]
fn a_session_is_forgotten_and_no_other() {
    let repo = Repo::new();
    let (places, store) = (repo.places(), Store::at(repo.places().store));
    let take = |id: &str| capture(&places, &RealDisk, &SessionId::new(id)).unwrap();
    let (lost, kept) = (take("s"), take("s.0123456789abcdef"));
    take("s");
    drop_taken(&places, &RealDisk, &lost.name).unwrap();
    assert_eq!(names(&store).len(), 2);
    forget(&store, &RealDisk, &SessionId::new("s")).unwrap();
    assert_eq!(names(&store), [kept.name]);
    assert!(orphans(&store, Timestamp::from_millis(0)).is_empty());
    assert_eq!(orphans(&store, Timestamp::from_millis(i64::MAX)).len(), 1);
}

#[test]
fn sweeping_up_takes_it_with_the_journal() {
    let repo = Repo::new();
    let (places, store, id) = (repo.places(), Store::at(repo.places().store), SessionId::new("s"));
    let now = Timestamp::from_millis(1_000_000);
    let mut journal = Journal::open(&store, &RealDisk, &id, Duration::ZERO).unwrap();
    let record = new_record::from_parts("x", now, Some(&id), None, serde_json::json!({}));
    journal.commit(&RealDisk, vec![record], &Session::default()).unwrap();
    journal.unlock().unwrap();
    capture(&places, &RealDisk, &id).unwrap();
    capture(&places, &RealDisk, &SessionId::new("lost")).unwrap();
    repo.append("a.txt", "four\n");
    crate::worktree::tree_hash::hash(&places, &RealDisk).unwrap();

    let sweep = |before| {
        let found = clean::plan_sweep(&places, before).unwrap();
        clean::sweep(&places, &RealDisk, &found, before, now).unwrap()
    };
    assert_eq!(sweep(Timestamp::from_millis(0)), CleanReport::default());
    assert_eq!(names(&store).len(), 2);
    let swept = sweep(Timestamp::from_millis(i64::MAX));
    assert_eq!((swept.journals, swept.starts, swept.objects), (1, 1, 2));
    assert!(names(&store).is_empty());
}

/// Runs this test again with a `git` on the path that counts its starts, and again without git.
#[test]
fn one_child_each() {
    if let Some(dir) = std::env::var_os("COUNTED_REPO") {
        if std::env::var_os("PATH").is_some_and(|path| path.is_empty()) {
            let places = Locations::find(Path::new(&dir), &Env::Given([].into())).unwrap();
            assert!(capture(&places, &RealDisk, &SessionId::new("s")).is_err());
            let name = names(&Store::at(&places.store)).pop().unwrap();
            assert_eq!(since(&places, &name), None);
            assert_eq!(crate::worktree::tree_hash::hash(&places, &RealDisk), None);
            return;
        }
        let places = Locations::find(Path::new(&dir), &Env::Given([].into())).unwrap();
        let taken = capture(&places, &RealDisk, &SessionId::new("s")).unwrap();
        fs::write(Path::new(&dir).join("new"), "x\n").unwrap();
        assert_eq!(since(&places, &taken.name).unwrap().lines, 1);
        return;
    }
    let repo = Repo::new();
    let bin = repo.dir.parent().unwrap().join("bin");
    let count = bin.join("count");
    fs::create_dir(&bin).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let real = exec::on_path("git", &path).unwrap();
    let script = format!("#!/bin/sh\necho x >>'{}'\nexec '{}' \"$@\"\n", count.display(), real.display());
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::join_paths([bin].into_iter().chain(std::env::split_paths(&path))).unwrap();
    let (_, module) = module_path!().split_once("::").unwrap();
    let test = &format!("{module}::one_child_each");
    let again = |path: &OsStr| {
        let ran = exec::run(&ProcessSpec {
            dir: &repo.dir,
            env: &[("PATH", path), ("COUNTED_REPO", repo.dir.as_os_str())],
            ..ProcessSpec::new(
                std::env::current_exe().unwrap().as_os_str(),
                &["--exact", test].map(OsStr::new),
                Duration::from_secs(60),
            )
        });
        let ran = ran.unwrap();
        assert!(ran.succeeded(), "{}", String::from_utf8_lossy(&ran.stdout));
    };
    again(&path);
    assert_eq!(fs::read_to_string(count).unwrap(), "x\nx\n");
    again(OsStr::new(""));
}
