use super::*;
use crate::tests::word;

fn ground() -> Ground {
    Ground::new(Some("/home/ann/work/app"), Some("/home/ann"))
}

#[test]
fn a_glob_is_what_is_there() {
    for (path, fit) in [
        ("*", Fit::Yes),
        ("./*", Fit::Yes),
        ("/*", Fit::Yes),
        ("~/*", Fit::Yes),
        (".*", Fit::Yes),
        ("*.log", Fit::No),
        ("/tmp/*", Fit::No),
        ("build/*", Fit::No),
        ("/etc/[a-c]*", Fit::Yes),
        ("[x", Fit::No),
        ("/e*", Fit::Yes),
        ("/u?r", Fit::Yes),
        (".g*", Fit::Yes),
        (".gi[t]", Fit::Yes),
        ("../a*", Fit::Yes),
        ("~/.s*", Fit::Yes),
        ("/tmp/x*", Fit::No),
        (".cache*", Fit::No),
        ("src*", Fit::No),
    ] {
        assert_eq!(ground().root(&known(path), &at("")), fit, "{path}");
    }
    assert_eq!(ground().root(&known("*"), &at("/tmp/x")), Fit::No);
    assert_eq!(ground().unknown(&known("*"), &at("")), Fit::No);
    assert_eq!(ground().unknown(&known("*"), &Place::Unknown), Fit::Yes);
    assert_eq!(ground().unknown(&word("?/*"), &at("")), Fit::Yes);
    assert_eq!(ground().root(&word("?/.git"), &at("")), Fit::Maybe);
    assert_eq!(ground().root(&word("./?/.g*"), &at("")), Fit::Maybe);
    assert_eq!(ground().root(&word("./?/x.*"), &at("")), Fit::No);
    assert_eq!(ground().system(&known("."), &at("")), Fit::No);
    assert_eq!(ground().system(&known("/etc"), &at("")), Fit::Yes);
}

fn known(text: &str) -> Word {
    Word::Known(text.to_owned())
}

fn at(path: &str) -> Place {
    Place::At(path.to_owned())
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
        assert_eq!(ground().root(&word(path), &at("")), Fit::Yes, "{path}");
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
    ] {
        assert_eq!(ground().root(&word(path), &at("")), Fit::No, "{path}");
    }
}

#[test]
fn a_place_is_what_cd_made_it() {
    for (cwd, path, fit) in [
        ("src", "..", Fit::Yes),
        ("src/deep", "..", Fit::No),
        ("/", "etc", Fit::Yes),
        ("/tmp/x", ".", Fit::No),
        ("..", "app", Fit::Yes),
        ("~", ".", Fit::Yes),
    ] {
        assert_eq!(ground().root(&word(path), &at(cwd)), fit, "{cwd} {path}");
    }
    assert_eq!(ground().root(&word("."), &Place::Unknown), Fit::Maybe);
    assert_eq!(ground().root(&word("build"), &Place::Unknown), Fit::No);
    assert_eq!(ground().root(&word("?/usr"), &at("")), Fit::Maybe, "an empty variable");
}

#[test]
fn a_worktree_below_tmp_is_a_worktree() {
    let ground = Ground::new(Some("/tmp/app"), None);
    assert_eq!(ground.root(&word("."), &at("")), Fit::Yes);
    assert_eq!(ground.root(&word("/tmp/other"), &at("")), Fit::No);
}

#[test]
fn without_a_place_names_still_tell() {
    let ground = Ground::default();
    for (path, fit) in
        [(".", Fit::Yes), ("..", Fit::Yes), ("~", Fit::Yes), ("/", Fit::Yes), ("build", Fit::No)]
    {
        assert_eq!(ground.root(&word(path), &at("")), fit, "{path}");
    }
}

#[test]
fn unknown_is_what_tells_nothing() {
    for (path, fit) in
        [("?", Fit::Yes), ("?/", Fit::Yes), ("?/?", Fit::Yes), ("?/x", Fit::No), ("x", Fit::No)]
    {
        assert_eq!(ground().unknown(&word(path), &at("")), fit, "{path}");
    }
    assert_eq!(ground().unknown(&Word::Many, &at("")), Fit::Yes);
    assert_eq!(ground().unknown(&word("."), &Place::Unknown), Fit::Yes);
    assert_eq!(ground().unknown(&word("build"), &Place::Unknown), Fit::No);
}
