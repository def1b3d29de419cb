//! Tests of the tree hash, with real git.

use super::*;
use crate::sys::disk::RealDisk;
use crate::worktree::baseline::tests::Repo;

fn of(repo: &Repo) -> String {
    hash(&repo.places(), &RealDisk).unwrap()
}

fn text(repo: &Repo, from: &str, to: &str) -> String {
    String::from_utf8(between(&repo.places(), from, to).unwrap().text).unwrap()
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = entries(dir).flat_map(|dir| entries(&dir)).collect();
    all.sort();
    all
}

#[test]
fn the_content_counts_and_not_how_far_it_got() {
    let repo = Repo::new();
    let clean = of(&repo);
    assert_eq!(Some(&clean), head_tree(&repo.places()).as_ref());
    repo.append("a.txt", "four\n");
    repo.write("new.txt", "x\n");
    let changed = of(&repo);
    assert_ne!(changed, clean);
    repo.git(&["add", "a.txt"]);
    assert_eq!(of(&repo), changed);
    repo.commit();
    assert_eq!(of(&repo), changed);
    assert_eq!(Some(&changed), head_tree(&repo.places()).as_ref());
    repo.git(&["rm", "-q", "--cached", "new.txt"]);
    assert_eq!(of(&repo), changed);
    repo.remove("new.txt");
    assert_ne!(of(&repo), changed);
    repo.write("x.log", "ignored\n");
    repo.write("new.txt", "x\n");
    assert_eq!(of(&repo), changed);
}

#[test]
fn our_own_files_do_not_count() {
    let repo = Repo::new();
    let before = of(&repo);
    repo.write(".sprag/config.toml", "a = 1\n");
    assert_eq!(of(&repo), before);
    repo.git(&["add", "-A"]);
    assert_eq!(of(&repo), before);
    repo.commit();
    assert_eq!(of(&repo), before);
    repo.write(".sprag/config.toml", "a = 2\n");
    repo.write(".sprag/more", "x\n");
    repo.git(&["add", ".sprag/config.toml"]);
    assert_eq!(of(&repo), before);
    assert_eq!(text(&repo, &head_tree(&repo.places()).unwrap(), &before), "");
}

#[test]
fn the_repository_is_left_alone() {
    let repo = Repo::new();
    repo.append("a.txt", "four\n");
    repo.write("new.txt", "x\n");
    let git_dir = repo.dir.join(".git");
    let state = || (files(&git_dir.join("objects")), fs::read(git_dir.join("index")).unwrap());
    repo.write(".git/hooks/post-index-change", "#!/bin/sh\ntouch ran\n");
    let before = state();
    of(&repo);
    assert!(before == state());
    assert!(!repo.dir.join("ran").exists());
    assert_eq!(entries(&repo.places().store.join("cache")).count(), 0, "the temporary index is gone");
    let store = Store::at(repo.places().store);
    assert!(old_objects(&store, Timestamp::from_millis(0)).is_empty());
    let all = old_objects(&store, Timestamp::from_millis(i64::MAX));
    assert_eq!(all.len(), 3, "two files and a tree");
    for path in all.iter() {
        fs::remove_file(path).unwrap();
    }
    let again = of(&repo);
    assert!(text(&repo, &head_tree(&repo.places()).unwrap(), &again).contains("+four\n"));
}

#[test]
fn nothing_is_hidden_by_the_index() {
    for (version, objects) in [("2", "sha1"), ("4", "sha1"), ("2", "sha256"), ("4", "sha256")] {
        let repo = Repo::of(objects);
        repo.git(&["update-index", "--index-version", version]);
        repo.git(&["update-index", "--assume-unchanged", "a.txt"]);
        repo.git(&["update-index", "--skip-worktree", "b.txt", "deep/away.txt"]);
        let before = of(&repo);
        assert_eq!(Some(&before), head_tree(&repo.places()).as_ref());
        // As in a sparse checkout.
        repo.remove("deep/away.txt");
        assert_eq!(of(&repo), before);
        repo.append("a.txt", "four\n");
        let one = of(&repo);
        repo.append("b.txt", "c\n");
        let two = of(&repo);
        assert!(before != one && one != two, "{version} {objects}");
    }
}

#[test]
fn before_the_first_commit_and_in_a_linked_worktree() {
    let empty = Repo::empty();
    let nothing = of(&empty);
    assert_eq!(head_tree(&empty.places()), None);
    empty.write("a", "x\n");
    assert_ne!(of(&empty), nothing);
    assert!(text(&empty, &nothing, &of(&empty)).contains("+++ b/a\n"));

    let repo = Repo::new();
    repo.git(&["worktree", "add", "-q", "../linked"]);
    let places = Locations { worktree: Some(repo.dir.with_file_name("linked")), ..repo.places() };
    let linked =
        Locations::find(places.worktree.as_ref().unwrap(), &crate::sys::env::Env::Given([].into())).unwrap();
    assert_eq!(hash(&linked, &RealDisk), Some(of(&repo)));
    fs::write(repo.dir.with_file_name("linked").join("b.txt"), "other\n").unwrap();
    assert_ne!(hash(&linked, &RealDisk), Some(of(&repo)));
}

#[test]
fn a_repository_within_does_no_harm() {
    let repo = Repo::new();
    repo.write("within/file", "x\n");
    git::in_own_repository(&repo.dir.join("within"), &["init", "-q"]).unwrap();
    let before = of(&repo);
    repo.append("a.txt", "four\n");
    assert_ne!(of(&repo), before);
}

#[test]
fn only_names_of_trees_are_asked_for() {
    let repo = Repo::new();
    let tree = of(&repo);
    for bad in ["", "HEAD", "--output=x", "abc", &tree[..39], &"0".repeat(40)] {
        assert!(between(&repo.places(), bad, &tree).is_none(), "{bad}");
        assert!(between(&repo.places(), &tree, bad).is_none(), "{bad}");
    }
    assert!(between(&repo.places(), &tree, &tree).unwrap().text.is_empty());
}

#[test]
fn a_place_with_a_colon() {
    let repo = Repo::new();
    let dir = repo.dir.with_file_name("a:b \"c");
    fs::rename(&repo.dir, &dir).unwrap();
    let places = Locations::find(&dir, &crate::sys::env::Env::Given([].into())).unwrap();
    let tree = hash(&places, &RealDisk).unwrap();
    assert_eq!(Some(&tree), head_tree(&places).as_ref());
    assert!(between(&places, &tree, &tree).is_some());
}

#[test]
fn files_outside_git() {
    let temp = tempfile::tempdir().unwrap();
    let path = |name: &str| temp.path().join(name).display().to_string();
    let (a, b) = (path("a"), path("b"));
    let missing = hash_of_files(&[a.clone(), b.clone()]);
    fs::write(&a, "x").unwrap();
    let one = hash_of_files(&[a.clone(), b.clone()]);
    assert_ne!(one, missing);
    assert_eq!(one, hash_of_files(&[b.clone(), a.clone(), a.clone()]));
    fs::write(&b, "").unwrap();
    assert_ne!(hash_of_files(&[a.clone(), b.clone()]), one);
    fs::remove_file(&b).unwrap();
    assert_eq!(hash_of_files(&[a, b]), one);
}
