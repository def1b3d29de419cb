use super::*;
use crate::spec::client::Known;

fn grounds() -> Grounds<'static> {
    Grounds {
        root: Path::new("/src/p"),
        worktree: Path::new("/src/p/.worktrees/a"),
        git_dir: Path::new("/src/p/.git/worktrees/a"),
        common: Path::new("/src/p/.git"),
        branch: "sprag/a/work",
        store: Path::new("/src/p/.git/sprag"),
        run: Path::new("/src/p/.git/sprag/run"),
        site: Path::new("/src/p/.git/sprag/run/s/r.a.1.spawn.0"),
        brief: Path::new("/src/p/.git/sprag/run/briefs/p/a.md"),
        door: Path::new("/src/p/.git/sprag/run/door"),
        own: &[],
        journals: Path::new("/src/p/.git/sprag/stages/a"),
        home: Some(Path::new("/home/u")),
        program: Path::new("/usr/bin/sprag"),
        tools: &[],
        shared: &[],
    }
}

fn command() -> Client {
    serde_json::from_value(serde_json::json!({"command": ["sh"]})).unwrap()
}

fn confined(client: &Client) -> Confined {
    Confined::new(Wall::Bubblewrap, &grounds(), client, &Network::Open)
}

#[test]
fn a_stage_writes_its_worktree_and_its_branch_and_nothing_of_anybody_else() {
    let confined = confined(&command());
    for (path, access) in [
        ("/src/p/.worktrees/a/src/lib.rs", Access::Write),
        ("/src/p/.worktrees/a/.git", Access::Pinned),
        ("/src/p/.worktrees/b/src/lib.rs", Access::Read),
        ("/src/p/src/lib.rs", Access::Read),
        ("/src/p/.git/config", Access::Read),
        ("/src/p/.git/info/exclude", Access::Read),
        ("/src/p/.git/packed-refs", Access::Read),
        ("/src/p/.git/hooks/pre-commit", Access::Hidden),
        ("/src/p/.git/HEAD", Access::Read),
        ("/src/p/.git/refs/heads/main", Access::Read),
        ("/src/p/.git/refs/heads/sprag/a/work", Access::Write),
        ("/src/p/.git/refs/heads/sprag/a/work.lock", Access::Write),
        ("/src/p/.git/refs/heads/sprag/b/work", Access::Read),
        ("/src/p/.git/refs/sprag/p/trunk", Access::Read),
        ("/src/p/.git/logs/refs/heads/sprag/a/work", Access::Write),
        ("/src/p/.git/logs/refs/heads/main", Access::Read),
        ("/src/p/.git/objects/ab/cdef", Access::Write),
        ("/src/p/.git/objects/pack/pack-1.pack", Access::Read),
        ("/src/p/.git/objects/info/alternates", Access::Read),
        ("/src/p/.git/worktrees/a/index", Access::Write),
        ("/src/p/.git/worktrees/a/commondir", Access::Pinned),
        ("/src/p/.git/worktrees/b/index", Access::Read),
        ("/usr/lib/libc.so", Access::Read),
        ("/etc/passwd", Access::Read),
    ] {
        assert_eq!(confined.access(Path::new(path)), access, "{path}");
    }
}

#[test]
fn of_our_own_records_those_of_runs_are_hidden_but_for_its_own() {
    let confined = confined(&command());
    for (path, access) in [
        ("/src/p/.git/sprag/journal/s.jsonl", Access::Pinned),
        ("/src/p/.git/sprag/stages/b/s.jsonl", Access::Pinned),
        ("/src/p/.git/sprag/stages/a/s.jsonl", Access::Write),
        ("/src/p/.git/sprag/log/2026-01.jsonl", Access::Write),
        ("/src/p/.git/sprag/inbox/1", Access::Write),
        ("/src/p/.git/sprag/run/plans/p.jsonl", Access::Read),
        ("/src/p/.git/sprag/run/admin", Access::Hidden),
        ("/src/p/.git/sprag/run/s/r.b.1.spawn.0/spawn.json", Access::Hidden),
        ("/src/p/.git/sprag/run/s/r.a.1.spawn.0/spawn.json", Access::Read),
        ("/src/p/.git/sprag/run/s/r.a.1.spawn.0/tmp/x", Access::Write),
        ("/src/p/.git/sprag/run/briefs/p/a.md", Access::Read),
        ("/src/p/.git/sprag/run/briefs/p/b.md", Access::Hidden),
        ("/src/p/.git/sprag/run/door/sock", Access::Read),
    ] {
        assert_eq!(confined.access(Path::new(path)), access, "{path}");
    }
}

#[test]
fn keys_are_hidden_and_each_client_has_its_own_and_not_the_others() {
    let access = |client: &Client, path: &str| confined(client).access(&Path::new("/home/u").join(path));
    for path in
        [".ssh/id_ed25519", ".aws/credentials", ".netrc", ".config/gh/hosts.yml", ".gnupg/x", ".claude.json"]
    {
        assert_eq!(access(&command(), path), Access::Hidden, "{path}");
    }
    assert_eq!(access(&command(), ".gitconfig"), Access::Read);
    assert_eq!(access(&command(), ".bashrc"), Access::Read);
    let (claude, codex) = (Client::Known(Known::Claude), Client::Known(Known::Codex));
    assert_eq!(access(&claude, ".claude/.credentials.json"), Access::Read);
    assert_eq!(access(&claude, ".claude/settings.json"), Access::Read);
    assert_eq!(access(&claude, ".claude/projects/p/s.jsonl"), Access::Write);
    assert_eq!(access(&claude, ".codex/auth.json"), Access::Hidden);
    assert_eq!(access(&codex, ".codex/auth.json"), Access::Write);
    assert_eq!(access(&codex, ".codex/config.toml"), Access::Pinned);
    assert_eq!(access(&codex, ".claude/.credentials.json"), Access::Hidden);
    assert_eq!(access(&claude, ".ssh/id_ed25519"), Access::Hidden);
}

#[test]
fn places_by_which_a_command_is_run_outside_are_hidden() {
    let confined = confined(&command());
    for (path, access) in [
        ("/run/user/1000/bus", Access::Hidden),
        ("/run/docker.sock", Access::Hidden),
        ("/run/systemd/resolve/stub-resolv.conf", Access::Read),
        ("/tmp/tmux-1000/default", Access::Private),
        ("/var/tmp/x", Access::Private),
    ] {
        assert_eq!(confined.access(Path::new(path)), access, "{path}");
    }
}

#[test]
fn whoever_is_above_comes_first_and_a_path_has_one_rule() {
    let ordered = confined(&command()).ordered();
    for (at, rule) in ordered.iter().enumerate() {
        assert!(ordered[at + 1..].iter().all(|later| !rule.path.starts_with(&later.path)), "{rule:?}");
    }
    assert_eq!(ordered[0], Rule { path: "/".into(), access: Access::Read });
}

#[test]
fn a_plan_that_insists_is_refused_where_there_is_nothing_to_build_walls_of() {
    let no = |why: &str| Can::No { why: why.to_owned() };
    let all = Offer { bubblewrap: Can::Yes, landlock: Can::Yes, ports: Can::Yes };
    let kernel = Offer { bubblewrap: no("not there"), ..all.clone() };
    let old = Offer { ports: no("old"), ..kernel.clone() };
    let none = Offer { landlock: no("switched off"), ..old.clone() };
    let closed = || Network::None;
    let hosts = || serde_json::from_value::<Network>(serde_json::json!({"hosts": ["a.org"]})).unwrap();
    let within = Choice::Within;
    let why = "no bubblewrap: not there; no Landlock: switched off".to_owned();
    for (confine, network, offer, choice) in [
        (Confine::Off, Network::Open, &all, Choice::Off),
        (Confine::Auto, Network::Open, &all, within(Wall::Bubblewrap)),
        (Confine::Auto, Network::Open, &kernel, within(Wall::Landlock)),
        (Confine::Auto, Network::Open, &none, Choice::Bare { why: why.clone() }),
        (Confine::Required, Network::Open, &none, Choice::Refused { why: why.clone() }),
        (Confine::Auto, closed(), &none, Choice::Refused { why }),
        (Confine::Auto, closed(), &kernel, within(Wall::Landlock)),
        (Confine::Auto, hosts(), &all, within(Wall::Bubblewrap)),
        (
            Confine::Auto,
            hosts(),
            &old,
            Choice::Refused { why: "the network cannot be narrowed: old".to_owned() },
        ),
        (Confine::Required, closed(), &Offer { ports: no("old"), ..all.clone() }, within(Wall::Bubblewrap)),
    ] {
        let sandbox = Sandbox { confine, network };
        assert_eq!(choose(&sandbox, &command(), offer), choice, "{sandbox:?} {offer:?}");
    }
}

#[test]
fn a_client_reaches_its_model_and_a_command_nobody() {
    let reach =
        |client: &Client, network: Network| Confined::new(Wall::Landlock, &grounds(), client, &network).reach;
    assert_eq!(reach(&command(), Network::None), Reach::Nobody);
    assert_eq!(reach(&command(), Network::Open), Reach::Anybody);
    let Reach::Hosts(hosts) = reach(&Client::Known(Known::Claude), Network::None) else { panic!("a model") };
    assert!(is_among(&hosts, "api.anthropic.com"));
    assert!(!is_among(&hosts, "example.org"));
}

#[test]
fn a_host_is_its_whole_name() {
    let hosts = ["crates.io".to_owned(), "*.Example.org".to_owned()];
    for (host, is_it) in [
        ("crates.io", true),
        ("CRATES.IO.", true),
        ("evil-crates.io", false),
        ("crates.io.evil.net", false),
        ("a.example.org", true),
        ("a.b.example.org", true),
        ("example.org", false),
        (".example.org", false),
        ("evilexample.org", false),
        ("", false),
    ] {
        assert_eq!(is_among(&hosts, host), is_it, "{host}");
    }
}

#[test]
fn a_check_writes_its_worktree_and_nothing_of_git_or_of_runs() {
    for worktree in ["/src/p/.worktrees/a", "/src/p/.git/sprag/run/gates/p-1"] {
        let grounds = grounds();
        let bench = Bench {
            root: grounds.root,
            worktree: Path::new(worktree),
            common: grounds.common,
            store: grounds.store,
            temporary: Path::new("/src/p/.git/sprag/run/looks/k/tmp"),
            home: grounds.home,
            shared: &["/src/p/target".into()],
        };
        let confined = Confined::of_check(Wall::Landlock, &bench, &Network::None);
        assert_eq!(confined.reach, Reach::Nobody);
        for (path, access) in [
            ("/src/p/.git/sprag/run/looks/k/tmp/x", Access::Write),
            ("/src/p/.git/sprag/run/looks/k/spawn.json", Access::Hidden),
            ("/src/p/.git/sprag/run/looks/other/tmp/x", Access::Hidden),
            ("/src/p/.git/sprag/run/passes/claims/x", Access::Hidden),
            ("/src/p/.git/sprag/run/door/sock", Access::Hidden),
            ("/src/p/.git/sprag/run/token", Access::Hidden),
            ("/src/p/.git/sprag/run/plans/p.jsonl", Access::Hidden),
            ("/src/p/.git/sprag/journal/s.jsonl", Access::Hidden),
            ("/src/p/.git/sprag/log/2026-01.jsonl", Access::Hidden),
            ("/src/p/.git/refs/heads/main", Access::Read),
            ("/src/p/.git/refs/heads/sprag/a/work", Access::Read),
            ("/src/p/.git/objects/ab/cdef", Access::Read),
            ("/src/p/.git/worktrees/a/index", Access::Read),
            ("/src/p/.git/config", Access::Read),
            ("/src/p/.git/hooks/pre-commit", Access::Hidden),
            ("/src/p/src/lib.rs", Access::Read),
            ("/src/p/target/debug", Access::Write),
            ("/home/u/.ssh/id", Access::Hidden),
            ("/home/u/.claude.json", Access::Hidden),
            ("/home/u/.cargo/registry/x", Access::Read),
            ("/home/u/.bashrc", Access::Read),
        ] {
            assert_eq!(confined.access(Path::new(path)), access, "{path}");
        }
        assert_eq!(confined.access(&Path::new(worktree).join("src/lib.rs")), Access::Write);
        assert_eq!(confined.access(&Path::new(worktree).join(".git")), Access::Pinned);
        let program = "/opt/claude".into();
        let confined = Confined::of_review(Wall::Landlock, &bench, Known::Claude, &[program], &Network::None);
        let Reach::Hosts(hosts) = &confined.reach else { panic!("a model") };
        assert!(is_among(hosts, "api.anthropic.com"));
        for (path, access) in [
            ("/src/p/.git/sprag/run/looks/k/tmp/verdict", Access::Write),
            ("/src/p/.git/sprag/run/looks/k/spawn.json", Access::Hidden),
            ("/src/p/.git/sprag/run/passes/reviews/x", Access::Hidden),
            ("/src/p/.git/sprag/journal/s.jsonl", Access::Hidden),
            ("/src/p/.git/refs/heads/sprag/a/work", Access::Read),
            ("/src/p/target/debug", Access::Read),
            ("/home/u/.claude/.credentials.json", Access::Read),
            ("/home/u/.claude/projects/p/s.jsonl", Access::Write),
            ("/home/u/.codex/auth.json", Access::Hidden),
            ("/home/u/.ssh/id", Access::Hidden),
        ] {
            assert_eq!(confined.access(Path::new(path)), access, "{path}, for a reviewer");
        }
        assert_eq!(confined.access(&Path::new(worktree).join("src/lib.rs")), Access::Read);
    }
}
