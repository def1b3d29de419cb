//! Checks in the sandbox of the agent whose work they check: they run its code with the same rights.

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use super::fixture::{self, Desk, WALLS, is_there};
use crate::support::{SPRAG, Sandbox};

/// Actions of a test that an agent wrote, each in a separate shell, and whether it may do them.
const TRIES: &[(&str, &str, bool)] = &[
    ("worktree", "echo x >made && rm made", true),
    ("temporary", "echo x >$TMPDIR/x && cat $TMPDIR/x", true),
    ("history", "git log -1 main", true),
    ("status", "git status --short", true),
    ("device", "echo x >/dev/null", true),
    ("daemon", "test -n \"$D\" && cat /proc/$D/stat", true),
    ("kill", "kill -0 $D", false),
    ("environment of the daemon", "cat /proc/$D/environ", false),
    ("secret", "test -n \"$SECRET_OF_THE_USER\"", false),
    ("home", "echo x >>$HOME/.bashrc", false),
    ("key", "cat $HOME/.ssh/id_x", false),
    ("key by a link", "ln -sf $HOME/.ssh $TMPDIR/keys && cat $TMPDIR/keys/id_x", false),
    ("checkout", "echo x >$PROJECT_ROOT/README", false),
    ("main", "git update-ref refs/heads/main HEAD", false),
    ("own branch", "git update-ref refs/heads/sprag/a/work HEAD~1", false),
    ("trunk", "git update-ref refs/sprag/p/trunk HEAD", false),
    ("commit", "git commit -q --allow-empty -m x", false),
    ("object", "echo $$ | git hash-object -w --stdin", false),
    ("stage", "git add done", false),
    ("config", "git config core.fsmonitor evil", false),
    ("hooks", "echo x >$G/hooks/pre-commit", false),
    ("journals", "cat $G/sprag/journal/* || echo x >$G/sprag/journal/x", false),
    ("records", "cat $G/sprag/run/plans/p.jsonl", false),
    ("tokens", "cat $G/sprag/run/token || cat $G/sprag/run/admin", false),
    ("a word", "$S stage hold a", false),
    ("another word", "$S stop", false),
    ("passes", "ls $G/sprag/run/passes", false),
];

/// Returns a test that fails if one action has another result.
fn test(without: &[&str]) -> String {
    let tries: String = TRIES
        .iter()
        .filter(|(name, _, _)| !without.contains(name))
        .map(|(name, what, may)| {
            let may = if *may { "yes" } else { "no" };
            format!(
                "got=no; sh -c '{what}' >/dev/null 2>&1 && got=yes; test $got = {may} || {{ echo '{name}: '$got; bad=1; }}\n"
            )
        })
        .collect();
    format!(
        "bad=0; export S={SPRAG} G=$(git rev-parse --git-common-dir)\n\
         p=$$; while test $p -gt 1; do p=$(cut -d' ' -f4 /proc/$p/stat); grep -q '^sprag' /proc/$p/comm && break; done\n\
         export D=$p\n{tries}exit $bad\n"
    )
}

/// Returns a stage whose agent commits these files.
fn stage(desk: &Desk, files: &[(&str, &str)], more: &str) -> String {
    let source = desk.sandbox.home.join("files");
    for (name, text) in files {
        let path = source.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    fs::create_dir_all(&source).unwrap();
    let made = desk.stage("a", &format!("cp -R {}/. . && echo done >done", source.display()));
    format!("{}{more}", made.replace("    acceptance: [\"true\"]\n", ""))
}

fn with_secrets(mut desk: Desk) -> Desk {
    fs::create_dir(desk.sandbox.home.join(".ssh")).unwrap();
    fs::write(desk.sandbox.home.join(".ssh/id_x"), "secret").unwrap();
    desk.sandbox.vars.push(("SECRET_OF_THE_USER".to_owned(), "x".to_owned()));
    desk
}

#[test]
fn a_test_that_an_agent_wrote_reaches_no_more_than_the_agent() {
    let checks = "    acceptance: [\"sh test.sh\"]\n    truths: [\"sh test.sh # again\"]\n";
    for wall in WALLS.into_iter().filter(|wall| is_there(wall)) {
        let desk = with_secrets(Desk::new().within(wall));
        desk.plan(&[stage(&desk, &[("test.sh", &test(&[]))], checks)], "gates: [\"sh test.sh # gate\"]\n");
        let ran = desk.run();
        assert_eq!(ran.code, 0, "{wall}: {}{}{}", ran.stdout, ran.stderr, desk.records());
        assert!(!desk.sandbox.home.join(".bashrc").exists());
        assert_eq!(fs::read_dir(desk.sandbox.store().join("run/looks")).unwrap().count(), 0, "{wall}");
    }
    // Without the sandbox the results differ: it is the sandbox that protects.
    let desk = with_secrets(Desk::new());
    let words = ["a word", "another word"];
    desk.plan(&[stage(&desk, &[("test.sh", &test(&words))], checks)], "");
    assert_eq!(desk.run().code, 1);
    let records = desk.records();
    for name in ["home", "key", "kill", "main", "commit", "secret", "records"] {
        assert!(records.contains(&format!("{name}: yes")), "{name}: {records}");
    }
}

#[test]
fn walls_that_cannot_be_raised_make_a_check_red_whatever_it_waits_for() {
    if !is_there("bubblewrap") {
        return;
    }
    let mut desk = Desk::new().within("bubblewrap");
    // The agent gets its sandbox, but the check does not.
    desk.sandbox.with_program(
        "bwrap",
        "case \"$*\" in */run/looks/*) echo 'bwrap: no namespaces left' >&2; exit 1;; esac\nexec /usr/bin/bwrap \"$@\"",
    );
    let check = "    acceptance: [{command: \"echo x >ran; exit 1\", exit_code: 1}]\n";
    desk.plan(&[stage(&desk, &[], check)], "");
    assert_eq!(desk.run().code, 1);
    let records = desk.records();
    assert!(records.contains("cannot set up the sandbox: bwrap: no namespaces left"), "{records}");
    assert!(!desk.sandbox.project.join(".worktrees/a/ran").exists());
}

#[test]
fn setup_and_checks_of_tasks_are_behind_the_wall_too() {
    for wall in WALLS.into_iter().filter(|wall| is_there(wall)) {
        let desk = Desk::new().within(wall);
        let more = "    setup: [\"test -n \\\"$TMPDIR\\\" && ! touch $HOME/outside && echo made >.ready\"]\n\
            \x20   before_stage: [\"test -e .ready && ! touch $HOME/outside\"]\n\
            \x20   tasks: [{id: t, text: do it, check: \"test -e a && ! touch $HOME/outside\"}]\n";
        let script = format!("echo a >a; {SPRAG} stage task t >&2; rm .ready");
        desk.plan(&[format!("{}{more}", desk.stage("a", &script))], "");
        let ran = desk.run();
        assert_eq!(ran.code, 0, "{wall}: {}{}{}{}", ran.stdout, ran.stderr, desk.said(), desk.records());
        assert!(!desk.sandbox.home.join("outside").exists());
    }
}

#[test]
fn a_check_that_is_let_out_is_out_and_listed() {
    for wall in WALLS.into_iter().filter(|wall| is_there(wall)) {
        let desk = Desk::new().within(wall);
        let out = desk.sandbox.home.join("outside");
        let check = format!("    acceptance: [{{command: \"touch {}\", walls: off}}]\n", out.display());
        desk.plan(&[stage(&desk, &[], &check)], "sandbox: required\n");
        assert_eq!(desk.run().code, 0, "{wall}: {}", desk.records());
        assert!(out.exists());
        let plan = desk.sandbox.home.join("plan.md").display().to_string();
        let shown = desk.sandbox.run(&["plan", "show", &plan]).stdout;
        assert!(shown.contains(&format!("touch {} (outside the sandbox)", out.display())), "{shown}");
    }
}

#[test]
fn the_network_of_a_check_is_that_of_its_stage() {
    if !fixture::has_ports() {
        return;
    }
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let test = format!(
        "bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' && echo direct\n\
         bash -c 'exec 3<>/dev/tcp/127.0.0.1/${{HTTPS_PROXY##*:}}; printf \"CONNECT localhost:{port} HTTP/1.1\\r\\n\\r\\n\" >&3; head -1 <&3 | grep -q 200' && echo named\n\
         exit 0\n"
    );
    let all = [("open", "direct", "named"), ("none", "", "direct"), ("[localhost]", "named", "direct")];
    for wall in WALLS.into_iter().filter(|wall| is_there(wall)) {
        for (network, has, has_not) in all {
            let desk = Desk::new().within(wall);
            let check = format!(
                "    acceptance: [{{command: \"sh test.sh\", stdout_contains: [\"{has}\"], stdout_not_contains: [{has_not}]}}]\n"
            )
            .replace("stdout_contains: [\"\"], ", "");
            let sandbox = format!("sandbox: {{confine: required, network: {network}}}\n");
            desk.plan(&[stage(&desk, &[("test.sh", &test)], &check)], &sandbox);
            assert_eq!(desk.run().code, 0, "{wall} {network}: {}", desk.records());
        }
    }
}

/// Reports whether a program is installed, and prints a message if not.
#[expect(clippy::print_stderr, reason = "a story that is not told has to say why")]
fn has(sandbox: &Sandbox, program: &str) -> bool {
    let has = sandbox.command(program).arg("--version").output().is_ok_and(|ran| ran.status.success());
    if !has {
        eprintln!("skipped: no {program}");
    }
    has
}

#[test]
fn ordinary_tests_pass_behind_a_wall() {
    let python = (
        "python3",
        &[(
            "test_a.py",
            "import tempfile, unittest\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        with tempfile.NamedTemporaryFile() as file:\n            self.assertTrue(file.name)\n",
        )][..],
        "python3 -m unittest",
    );
    let npm = (
        "npm",
        &[
            (
                "package.json",
                "{\"name\": \"a\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"node test.js\"}}",
            ),
            (
                "test.js",
                "require('fs').writeFileSync('out.log', 'x'); require('assert').ok(require('os').tmpdir())\n",
            ),
            (".gitignore", "out.log\npackage-lock.json\n"),
        ][..],
        "npm test && npm install --offline --no-audit",
    );
    let cargo = (
        "cargo",
        &[
            ("Cargo.toml", "[package]\nname = \"a\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
            (
                "src/lib.rs",
                "#[test]\nfn works() {\n    std::fs::write(std::env::temp_dir().join(\"x\"), \"x\").unwrap();\n}\n",
            ),
            (".gitignore", "target\nCargo.lock\n"),
        ][..],
        "cargo test --offline -q",
    );
    let tools = Path::new(env!("CARGO")).parent().unwrap().display().to_string();
    for (program, files, command) in [python, npm, cargo] {
        for wall in WALLS.into_iter().filter(|wall| is_there(wall)) {
            let mut desk = Desk::new().within(wall);
            desk.sandbox.vars.push(("PATH".to_owned(), format!("{tools}:/usr/local/bin:/usr/bin:/bin")));
            if !has(&desk.sandbox, program) {
                continue;
            }
            let check = format!("    acceptance: [\"{command}\"]\n");
            desk.plan(&[stage(&desk, files, &check)], "sandbox: required\n");
            assert_eq!(desk.run().code, 0, "{wall} {command}: {}", desk.records());
        }
    }
}
