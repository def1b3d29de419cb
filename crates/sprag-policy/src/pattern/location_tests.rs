use super::*;
use crate::tests::word;

fn ground() -> KnownPaths {
    KnownPaths::new(Some("/home/ann/work/app"), Some("/home/ann"))
}

#[test]
fn a_glob_is_what_is_there() {
    for (path, fit) in [
        ("*", GlobFit::Yes),
        ("./*", GlobFit::Yes),
        ("/*", GlobFit::Yes),
        ("~/*", GlobFit::Yes),
        (".*", GlobFit::Yes),
        ("*.log", GlobFit::No),
        ("/tmp/*", GlobFit::No),
        ("build/*", GlobFit::No),
        ("/etc/[a-c]*", GlobFit::Yes),
        ("[x", GlobFit::No),
        ("/e*", GlobFit::Yes),
        ("/u?r", GlobFit::Yes),
        (".g*", GlobFit::Yes),
        (".gi[t]", GlobFit::Yes),
        ("../a*", GlobFit::Yes),
        ("~/.s*", GlobFit::Yes),
        ("/tmp/x*", GlobFit::No),
        (".cache*", GlobFit::No),
        ("src*", GlobFit::No),
    ] {
        assert_eq!(ground().root(&known(path), &at("")), fit, "{path}");
    }
    assert_eq!(ground().root(&known("*"), &at("/tmp/x")), GlobFit::No);
    assert_eq!(ground().unknown(&known("*"), &at("")), GlobFit::No);
    assert_eq!(ground().unknown(&known("*"), &WorkingDir::Unknown), GlobFit::Yes);
    assert_eq!(ground().unknown(&word("?/*"), &at("")), GlobFit::Yes);
    assert_eq!(ground().root(&word("?/.git"), &at("")), GlobFit::Maybe);
    assert_eq!(ground().root(&word("./?/.g*"), &at("")), GlobFit::Maybe);
    assert_eq!(ground().root(&word("./?/x.*"), &at("")), GlobFit::No);
    assert_eq!(ground().system(&known("."), &at("")), GlobFit::No);
    assert_eq!(ground().system(&known("/etc"), &at("")), GlobFit::Yes);
}

fn known(text: &str) -> Word {
    Word::Known(text.to_owned())
}

fn at(path: &str) -> WorkingDir {
    WorkingDir::At(path.to_owned())
}

#[test]
fn roots_are_known_by_every_name() {
    for path in [
        "/",
        "//",
        "/.",
        "/..",
        "/?",
        "/etc",
        "/etc/",
        "/etc/nginx",
        "/usr/bin",
        "/usr/?",
        "/var/lib/postgresql",
        "/home",
        "/home/ann",
        "/home/bob",
        "/home/?",
        "/root",
        "~",
        "~/",
        "~/?",
        "~/.ssh",
        ".",
        "./",
        "./?",
        "..",
        "../..",
        "../../..",
        "../app",
        ".git",
        ".git/objects",
        ".?",
        "/home/ann/work/app/../app",
        "/tmp",
        "/var/tmp",
        "/home/ann/work",
        "/srv/x/.git",
        "/usr/local/bin",
        "~bob",
    ] {
        assert_eq!(ground().root(&word(path), &at("")), GlobFit::Yes, "{path}");
    }
}

#[test]
fn everything_else_is_no_root() {
    for path in [
        "build",
        "./build",
        "build/?",
        "node_modules",
        "src/../target",
        "/tmp/x",
        "/tmp/?",
        "/var/tmp/a/b",
        "~/x/y",
        "../other",
        "/opt/app",
        "/srv/www",
        "/usr/local/lib/app",
        "?.log",
        "?/build",
        "backup.git",
        ".github",
        "/tmp/clone/.git",
        "/data/old",
        "777",
        "/ETC/passwd",
        "~/.SSH",
        ".GIT",
    ] {
        assert_eq!(ground().root(&word(path), &at("")), GlobFit::No, "{path}");
    }
}

#[test]
fn a_place_is_what_cd_made_it() {
    for (cwd, path, fit) in [
        ("src", "..", GlobFit::Yes),
        ("src/deep", "..", GlobFit::No),
        ("/", "etc", GlobFit::Yes),
        ("/tmp/x", ".", GlobFit::No),
        ("..", "app", GlobFit::Yes),
        ("~", ".", GlobFit::Yes),
    ] {
        assert_eq!(ground().root(&word(path), &at(cwd)), fit, "{cwd} {path}");
    }
    assert_eq!(ground().root(&word("."), &WorkingDir::Unknown), GlobFit::Maybe);
    assert_eq!(ground().root(&word("build"), &WorkingDir::Unknown), GlobFit::No);
    assert_eq!(ground().root(&word("?/usr"), &at("")), GlobFit::Maybe, "an empty variable");
}

#[test]
fn a_worktree_below_tmp_is_a_worktree() {
    let ground = KnownPaths::new(Some("/tmp/app"), None);
    assert_eq!(ground.root(&word("."), &at("")), GlobFit::Yes);
    assert_eq!(ground.root(&word("/tmp/other"), &at("")), GlobFit::No);
}

#[test]
fn without_a_place_names_still_tell() {
    let ground = KnownPaths::default();
    for (path, fit) in [
        (".", GlobFit::Yes),
        ("..", GlobFit::Yes),
        ("~", GlobFit::Yes),
        ("/", GlobFit::Yes),
        ("build", GlobFit::No),
    ] {
        assert_eq!(ground.root(&word(path), &at("")), fit, "{path}");
    }
}

#[test]
fn unknown_is_what_tells_nothing() {
    for (path, fit) in [
        ("?", GlobFit::Yes),
        ("?/", GlobFit::Yes),
        ("?/?", GlobFit::Yes),
        ("?/x", GlobFit::No),
        ("x", GlobFit::No),
    ] {
        assert_eq!(ground().unknown(&word(path), &at("")), fit, "{path}");
    }
    assert_eq!(ground().unknown(&Word::Many, &at("")), GlobFit::Yes);
    assert_eq!(ground().unknown(&word("."), &WorkingDir::Unknown), GlobFit::Yes);
    assert_eq!(ground().unknown(&word("build"), &WorkingDir::Unknown), GlobFit::No);
}
