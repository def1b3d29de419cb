use super::*;
use crate::spec::client::ClientName;

fn grounds() -> SandboxPaths<'static> {
    SandboxPaths {
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

fn command() -> StageClient {
    serde_json::from_value(serde_json::json!({"command": ["sh"]})).unwrap()
}

fn confined(client: &StageClient) -> SandboxPolicy {
    SandboxPolicy::new(SandboxBackend::Bubblewrap, &grounds(), client, &Network::Open)
}

#[test]
fn a_stage_writes_its_worktree_and_its_branch_and_nothing_of_anybody_else() {
    let confined = confined(&command());
    for (path, access) in [
        ("/src/p/.worktrees/a/src/lib.rs", PathAccess::Write),
        ("/src/p/.worktrees/a/.git", PathAccess::Pinned),
        ("/src/p/.worktrees/b/src/lib.rs", PathAccess::Read),
        ("/src/p/src/lib.rs", PathAccess::Read),
        ("/src/p/.git/config", PathAccess::Read),
        ("/src/p/.git/info/exclude", PathAccess::Read),
        ("/src/p/.git/packed-refs", PathAccess::Read),
        ("/src/p/.git/hooks/pre-commit", PathAccess::Hidden),
        ("/src/p/.git/HEAD", PathAccess::Read),
        ("/src/p/.git/refs/heads/main", PathAccess::Read),
        ("/src/p/.git/refs/heads/sprag/a/work", PathAccess::Write),
        ("/src/p/.git/refs/heads/sprag/a/work.lock", PathAccess::Write),
        ("/src/p/.git/refs/heads/sprag/b/work", PathAccess::Read),
        ("/src/p/.git/refs/sprag/p/trunk", PathAccess::Read),
        ("/src/p/.git/logs/refs/heads/sprag/a/work", PathAccess::Write),
        ("/src/p/.git/logs/refs/heads/main", PathAccess::Read),
        ("/src/p/.git/objects/ab/cdef", PathAccess::Write),
        ("/src/p/.git/objects/pack/pack-1.pack", PathAccess::Read),
        ("/src/p/.git/objects/info/alternates", PathAccess::Read),
        ("/src/p/.git/worktrees/a/index", PathAccess::Write),
        ("/src/p/.git/worktrees/a/commondir", PathAccess::Pinned),
        ("/src/p/.git/worktrees/b/index", PathAccess::Read),
        ("/usr/lib/libc.so", PathAccess::Read),
        ("/etc/passwd", PathAccess::Read),
    ] {
        assert_eq!(confined.access(Path::new(path)), access, "{path}");
    }
}

#[test]
fn of_our_own_records_those_of_runs_are_hidden_but_for_its_own() {
    let confined = confined(&command());
    for (path, access) in [
        ("/src/p/.git/sprag/journal/s.jsonl", PathAccess::Pinned),
        ("/src/p/.git/sprag/stages/b/s.jsonl", PathAccess::Pinned),
        ("/src/p/.git/sprag/stages/a/s.jsonl", PathAccess::Write),
        ("/src/p/.git/sprag/log/2026-01.jsonl", PathAccess::Write),
        ("/src/p/.git/sprag/inbox/1", PathAccess::Write),
        ("/src/p/.git/sprag/run/plans/p.jsonl", PathAccess::Read),
        ("/src/p/.git/sprag/run/admin", PathAccess::Hidden),
        ("/src/p/.git/sprag/run/s/r.b.1.spawn.0/spawn.json", PathAccess::Hidden),
        ("/src/p/.git/sprag/run/s/r.a.1.spawn.0/spawn.json", PathAccess::Read),
        ("/src/p/.git/sprag/run/s/r.a.1.spawn.0/tmp/x", PathAccess::Write),
        ("/src/p/.git/sprag/run/briefs/p/a.md", PathAccess::Read),
        ("/src/p/.git/sprag/run/briefs/p/b.md", PathAccess::Hidden),
        ("/src/p/.git/sprag/run/door/sock", PathAccess::Read),
    ] {
        assert_eq!(confined.access(Path::new(path)), access, "{path}");
    }
}

#[test]
fn keys_are_hidden_and_each_client_has_its_own_and_not_the_others() {
    let access = |client: &StageClient, path: &str| confined(client).access(&Path::new("/home/u").join(path));
    for path in
        [".ssh/id_ed25519", ".aws/credentials", ".netrc", ".config/gh/hosts.yml", ".gnupg/x", ".claude.json"]
    {
        assert_eq!(access(&command(), path), PathAccess::Hidden, "{path}");
    }
    assert_eq!(access(&command(), ".gitconfig"), PathAccess::Read);
    assert_eq!(access(&command(), ".bashrc"), PathAccess::Read);
    let (claude, codex) = (StageClient::Known(ClientName::Claude), StageClient::Known(ClientName::Codex));
    assert_eq!(access(&claude, ".claude/.credentials.json"), PathAccess::Read);
    assert_eq!(access(&claude, ".claude/settings.json"), PathAccess::Read);
    assert_eq!(access(&claude, ".claude/projects/p/s.jsonl"), PathAccess::Write);
    assert_eq!(access(&claude, ".codex/auth.json"), PathAccess::Hidden);
    assert_eq!(access(&codex, ".codex/auth.json"), PathAccess::Write);
    assert_eq!(access(&codex, ".codex/config.toml"), PathAccess::Pinned);
    assert_eq!(access(&codex, ".claude/.credentials.json"), PathAccess::Hidden);
    assert_eq!(access(&claude, ".ssh/id_ed25519"), PathAccess::Hidden);
}

#[test]
fn places_by_which_a_command_is_run_outside_are_hidden() {
    let confined = confined(&command());
    for (path, access) in [
        ("/run/user/1000/bus", PathAccess::Hidden),
        ("/run/docker.sock", PathAccess::Hidden),
        ("/run/systemd/resolve/stub-resolv.conf", PathAccess::Read),
        ("/tmp/tmux-1000/default", PathAccess::Private),
        ("/var/tmp/x", PathAccess::Private),
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
    assert_eq!(ordered[0], SandboxRule { path: "/".into(), access: PathAccess::Read });
}

#[test]
fn a_plan_that_insists_is_refused_where_there_is_nothing_to_build_walls_of() {
    let no = |why: &str| SandboxSupport::No { why: why.to_owned() };
    let all = SandboxOffer {
        bubblewrap: SandboxSupport::Yes,
        landlock: SandboxSupport::Yes,
        ports: SandboxSupport::Yes,
    };
    let kernel = SandboxOffer { bubblewrap: no("not there"), ..all.clone() };
    let old = SandboxOffer { ports: no("old"), ..kernel.clone() };
    let none = SandboxOffer { landlock: no("switched off"), ..old.clone() };
    let closed = || Network::None;
    let hosts = || serde_json::from_value::<Network>(serde_json::json!({"hosts": ["a.org"]})).unwrap();
    let within = SandboxChoice::Within;
    let why = "bubblewrap is not available: not there; Landlock is not available: switched off".to_owned();
    for (confine, network, offer, choice) in [
        (SandboxLevel::Off, Network::Open, &all, SandboxChoice::Off),
        (SandboxLevel::Auto, Network::Open, &all, within(SandboxBackend::Bubblewrap)),
        (SandboxLevel::Auto, Network::Open, &kernel, within(SandboxBackend::Landlock)),
        (SandboxLevel::Auto, Network::Open, &none, SandboxChoice::Bare { why: why.clone() }),
        (SandboxLevel::Required, Network::Open, &none, SandboxChoice::Refused { why: why.clone() }),
        (SandboxLevel::Auto, closed(), &none, SandboxChoice::Refused { why }),
        (SandboxLevel::Auto, closed(), &kernel, within(SandboxBackend::Landlock)),
        (SandboxLevel::Auto, hosts(), &all, within(SandboxBackend::Bubblewrap)),
        (
            SandboxLevel::Auto,
            hosts(),
            &old,
            SandboxChoice::Refused { why: "the network cannot be restricted: old".to_owned() },
        ),
        (
            SandboxLevel::Required,
            closed(),
            &SandboxOffer { ports: no("old"), ..all.clone() },
            within(SandboxBackend::Bubblewrap),
        ),
    ] {
        let sandbox = SandboxSettings { confine, network };
        assert_eq!(choose(&sandbox, &command(), offer), choice, "{sandbox:?} {offer:?}");
    }
}

#[test]
fn a_client_reaches_its_model_and_a_command_nobody() {
    let reach = |client: &StageClient, network: Network| {
        SandboxPolicy::new(SandboxBackend::Landlock, &grounds(), client, &network).reach
    };
    assert_eq!(reach(&command(), Network::None), NetworkAccess::Nobody);
    assert_eq!(reach(&command(), Network::Open), NetworkAccess::Anybody);
    let NetworkAccess::Hosts(hosts) = reach(&StageClient::Known(ClientName::Claude), Network::None) else {
        panic!("a model")
    };
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
        let bench = ScratchPaths {
            root: grounds.root,
            worktree: Path::new(worktree),
            common: grounds.common,
            store: grounds.store,
            temporary: Path::new("/src/p/.git/sprag/run/looks/k/tmp"),
            home: grounds.home,
            shared: &["/src/p/target".into()],
        };
        let confined = SandboxPolicy::of_check(SandboxBackend::Landlock, &bench, &Network::None);
        assert_eq!(confined.reach, NetworkAccess::Nobody);
        for (path, access) in [
            ("/src/p/.git/sprag/run/looks/k/tmp/x", PathAccess::Write),
            ("/src/p/.git/sprag/run/looks/k/spawn.json", PathAccess::Hidden),
            ("/src/p/.git/sprag/run/looks/other/tmp/x", PathAccess::Hidden),
            ("/src/p/.git/sprag/run/passes/claims/x", PathAccess::Hidden),
            ("/src/p/.git/sprag/run/door/sock", PathAccess::Hidden),
            ("/src/p/.git/sprag/run/token", PathAccess::Hidden),
            ("/src/p/.git/sprag/run/plans/p.jsonl", PathAccess::Hidden),
            ("/src/p/.git/sprag/journal/s.jsonl", PathAccess::Hidden),
            ("/src/p/.git/sprag/log/2026-01.jsonl", PathAccess::Hidden),
            ("/src/p/.git/refs/heads/main", PathAccess::Read),
            ("/src/p/.git/refs/heads/sprag/a/work", PathAccess::Read),
            ("/src/p/.git/objects/ab/cdef", PathAccess::Read),
            ("/src/p/.git/worktrees/a/index", PathAccess::Read),
            ("/src/p/.git/config", PathAccess::Read),
            ("/src/p/.git/hooks/pre-commit", PathAccess::Hidden),
            ("/src/p/src/lib.rs", PathAccess::Read),
            ("/src/p/target/debug", PathAccess::Write),
            ("/home/u/.ssh/id", PathAccess::Hidden),
            ("/home/u/.claude.json", PathAccess::Hidden),
            ("/home/u/.cargo/registry/x", PathAccess::Read),
            ("/home/u/.bashrc", PathAccess::Read),
        ] {
            assert_eq!(confined.access(Path::new(path)), access, "{path}");
        }
        assert_eq!(confined.access(&Path::new(worktree).join("src/lib.rs")), PathAccess::Write);
        assert_eq!(confined.access(&Path::new(worktree).join(".git")), PathAccess::Pinned);
        let program = "/opt/claude".into();
        let confined = SandboxPolicy::of_review(
            SandboxBackend::Landlock,
            &bench,
            ClientName::Claude,
            &[program],
            &Network::None,
        );
        let NetworkAccess::Hosts(hosts) = &confined.reach else { panic!("a model") };
        assert!(is_among(hosts, "api.anthropic.com"));
        for (path, access) in [
            ("/src/p/.git/sprag/run/looks/k/tmp/verdict", PathAccess::Write),
            ("/src/p/.git/sprag/run/looks/k/spawn.json", PathAccess::Hidden),
            ("/src/p/.git/sprag/run/passes/reviews/x", PathAccess::Hidden),
            ("/src/p/.git/sprag/journal/s.jsonl", PathAccess::Hidden),
            ("/src/p/.git/refs/heads/sprag/a/work", PathAccess::Read),
            ("/src/p/target/debug", PathAccess::Read),
            ("/home/u/.claude/.credentials.json", PathAccess::Read),
            ("/home/u/.claude/projects/p/s.jsonl", PathAccess::Write),
            ("/home/u/.codex/auth.json", PathAccess::Hidden),
            ("/home/u/.ssh/id", PathAccess::Hidden),
        ] {
            assert_eq!(confined.access(Path::new(path)), access, "{path}, for a reviewer");
        }
        assert_eq!(confined.access(&Path::new(worktree).join("src/lib.rs")), PathAccess::Read);
    }
}
