//! Plans that are run: real git, real processes, agents that are small scripts.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{Ran, Sandbox};

pub struct Desk {
    pub sandbox: Sandbox,
}

impl Desk {
    pub fn new() -> Desk {
        let sandbox = Sandbox::new();
        for args in [&["config", "user.name", "t"][..], &["config", "user.email", "t@localhost"]] {
            assert!(sandbox.git(args).status.success());
        }
        sandbox.write("README", "start\n");
        let desk = Desk { sandbox };
        desk.git("add -A");
        desk.git("commit -qm start");
        desk
    }

    pub fn git(&self, args: &str) -> String {
        let args: Vec<&str> = args.split(' ').collect();
        let output = self.sandbox.git(&args);
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// A stage whose agent is this script; each time it runs, it says so outside of the worktree.
    pub fn stage(&self, id: &str, needs: &[&str], script: &str, acceptance: &str) -> String {
        let path = self.sandbox.home.join(format!("{id}.sh"));
        let ran = self.sandbox.home.join(format!("{id}.ran"));
        let script = format!(
            "set -e\necho $SPRAG_STAGE >>{}\n{script}\ngit add -A\ngit commit -qm {id} || true\n",
            ran.display()
        );
        fs::write(&path, script).unwrap();
        format!(
            "  - id: {id}\n    name: {id}\n    working_dir: .\n    dependencies: [{}]\n    client: {{command: [sh, {}]}}\n    acceptance: [\"{acceptance}\"]\n",
            needs.join(", "),
            path.display(),
        )
    }

    pub fn plan(&self, stages: &[String]) -> PathBuf {
        let text = format!(
            "# Plan\n\n```yaml sprag\nversion: 1\nname: p\ntarget: main\nstages:\n{}```\n",
            stages.concat()
        );
        let path = self.sandbox.home.join("plan.md");
        fs::write(&path, text).unwrap();
        path
    }

    pub fn run(&self) -> Ran {
        let plan = self.sandbox.home.join("plan.md").display().to_string();
        self.sandbox.run(&["run", &plan, "--trust"])
    }

    pub fn start(&self) -> Child {
        let mut command = self.sandbox.command(env!("CARGO_BIN_EXE_sprag"));
        command.arg("run").arg(self.sandbox.home.join("plan.md")).arg("--trust");
        command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
    }

    pub fn runs(&self, id: &str) -> usize {
        fs::read_to_string(self.sandbox.home.join(format!("{id}.ran"))).map_or(0, |text| text.lines().count())
    }

    pub fn on_trunk(&self, path: &str) -> String {
        self.git(&format!("show refs/sprag/p/trunk:{path}"))
    }

    pub fn records(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.sandbox.store().join("run/plans/p.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Every commit the trunk was moved to was found good as exactly that commit before.
    pub fn assert_all_landed_was_tested(&self) {
        let records = self.records();
        let mut gates: Vec<(String, String)> = Vec::new();
        let mut green: Vec<String> = Vec::new();
        let mut landed = 0;
        for record in &records {
            let (kind, body) = (record["kind"].as_str().unwrap(), &record["body"]);
            let key = body["key"].as_str().unwrap_or_default().to_owned();
            match (kind, body["effect"]["effect"].as_str(), body["outcome"]["outcome"].as_str()) {
                ("effect.intent", Some("gate"), _) => {
                    gates.push((key, body["effect"]["commit"].as_str().unwrap().to_owned()));
                }
                ("effect.outcome", _, Some("done")) => {
                    green.extend(
                        gates.iter().filter(|(gate, _)| *gate == key).map(|(_, commit)| commit.clone()),
                    );
                }
                ("effect.intent", Some("land"), _) => {
                    let to = body["effect"]["to"].as_str().unwrap();
                    assert!(green.iter().any(|commit| commit == to), "{to} was not tested");
                    landed += 1;
                }
                _ => {}
            }
        }
        assert!(landed > 0);
    }
}

#[test]
fn a_diamond_of_stages_ends_merged_and_nothing_is_left_over() {
    let desk = Desk::new();
    desk.plan(&[
        desk.stage("a", &[], "echo a >a", "test -f a"),
        desk.stage("b", &["a"], "cat a >b", "test -f b"),
        desk.stage("c", &["a"], "cat a >c", "test -f c"),
        desk.stage("d", &["b", "c"], "cat b c >d", "grep -q a d"),
    ]);
    let ran = desk.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(desk.on_trunk("d"), "a\na");
    desk.assert_all_landed_was_tested();
    assert_eq!(desk.git("status --porcelain"), "", "the user's checkout is as it was");
    assert_eq!(desk.git("worktree list --porcelain").matches("worktree ").count(), 1);
    assert_eq!(desk.git("branch --list sprag/*"), "");
    assert_eq!(["a", "b", "c", "d"].map(|id| desk.runs(id)), [1; 4]);
}

#[test]
fn a_conflict_is_resolved_by_a_session_that_is_told_of_it() {
    let desk = Desk::new();
    let script = |id: &str| {
        format!(
            "if grep -q '^## Conflict' $SPRAG_BRIEF; then git merge -q -X ours refs/sprag/p/trunk; echo kept >>merged; else echo {id} >README; fi"
        )
    };
    // What the trunk brings in is not the stage's; what the resolver writes is.
    let scoped = |id: &str| {
        desk.stage(id, &[], &script(id), "true")
            .replace("    acceptance", "    files: [README, merged]\n    acceptance")
    };
    desk.plan(&[scoped("a"), scoped("b")]);
    let ran = desk.run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("conflicted"), "{}", ran.stdout);
    assert_eq!(desk.on_trunk("merged"), "kept");
    assert_eq!(desk.runs("a") + desk.runs("b"), 3);
    desk.assert_all_landed_was_tested();
}

#[test]
fn a_red_check_goes_back_to_the_stage_and_at_last_to_a_person() {
    let desk = Desk::new();
    let mends = "if grep -q 'What is to be mended' $SPRAG_BRIEF; then echo good >a; else echo bad >a; fi";
    desk.plan(&[
        desk.stage("a", &[], mends, "grep -q good a"),
        desk.stage("b", &[], "date +%N >>b", "grep -q never b"),
        desk.stage("c", &["b"], "echo c >c", "true"),
    ]);
    let ran = desk.run();
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert_eq!((desk.on_trunk("a"), desk.runs("a")), ("good".to_owned(), 2));
    assert_eq!(
        (desk.runs("b"), desk.runs("c")),
        (4, 0),
        "sent back three times, and nobody builds on it: {}{}",
        ran.stdout,
        ran.stderr
    );
    assert!(
        ran.stdout.lines().any(|line| line.starts_with("b ") && line.ends_with("review")),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_killed_run_goes_on_and_no_agent_works_twice() {
    let desk = Desk::new();
    let pipe = desk.sandbox.home.join("pipe");
    assert!(desk.sandbox.command("mkfifo").arg(&pipe).status().unwrap().success());
    let waits = format!("echo a >a; echo up >{0}; cat {0} >/dev/null", pipe.display());
    desk.plan(&[desk.stage("a", &[], &waits, "test -f a"), desk.stage("b", &["a"], "cat a >b", "test -f b")]);
    let mut first = desk.start();
    assert_eq!(fs::read_to_string(&pipe).unwrap(), "up\n");
    kill_process(Pid::from_child(&first), Signal::KILL).unwrap();
    first.wait().unwrap();
    // The agent has outlived the one that wanted it, and is let go on.
    let mut second = desk.start();
    fs::write(&pipe, "go\n").unwrap();
    assert!(second.wait().unwrap().success());
    assert_eq!((desk.runs("a"), desk.runs("b")), (1, 1));
    assert_eq!(desk.on_trunk("b"), "a");
    desk.assert_all_landed_was_tested();
}

#[test]
fn two_runs_at_once_are_one_too_many_and_a_stage_stays_in_its_scope() {
    let desk = Desk::new();
    let pipe = desk.sandbox.home.join("pipe");
    assert!(desk.sandbox.command("mkfifo").arg(&pipe).status().unwrap().success());
    let script = format!("echo x >outside; echo up >{0}; cat {0} >/dev/null", pipe.display());
    let stage = desk
        .stage("a", &[], &script, "true")
        .replace("    acceptance", "    files: [src/**]\n    acceptance");
    desk.plan(&[stage]);
    let mut first = desk.start();
    assert_eq!(fs::read_to_string(&pipe).unwrap(), "up\n");
    let second = desk.run();
    assert_eq!(second.code, 1);
    assert!(second.stderr.contains("a plan is being run in this clone already"), "{}", second.stderr);
    fs::write(&pipe, "go\n").unwrap();
    // What it is sent back for, it does again: the pipe has to be served each time.
    for _ in 0..3 {
        assert_eq!(fs::read_to_string(&pipe).unwrap(), "up\n");
        fs::write(&pipe, "go\n").unwrap();
    }
    assert_eq!(first.wait().unwrap().code(), Some(1));
    let told = fs::read_to_string(desk.sandbox.store().join("run/plans/p.jsonl")).unwrap();
    assert!(told.contains("1 files outside of the scope were changed, the first is `outside`"));
}

#[test]
fn a_resolver_stays_in_the_scope_of_its_stage() {
    let desk = Desk::new();
    let script = |id: &str| {
        format!(
            "if grep -q '^## Conflict' $SPRAG_BRIEF; then git merge -q -X ours refs/sprag/p/trunk; echo x >outside; else echo {id} >README; fi"
        )
    };
    let scoped = |id: &str| {
        desk.stage(id, &[], &script(id), "true")
            .replace("    acceptance", "    files: [README]\n    acceptance")
    };
    desk.plan(&[scoped("a"), scoped("b")]);
    let ran = desk.run();
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.lines().any(|line| line.ends_with("review")), "{}", ran.stdout);
    assert!(!desk.git("ls-tree --name-only refs/sprag/p/trunk").contains("outside"));
}

#[test]
fn a_client_that_cannot_be_run_is_told_before_anything_is_begun() {
    let desk = Desk::new();
    let stage = desk.stage("a", &[], "true", "true");
    let from = stage.find("client:").unwrap();
    let to = from + stage[from..].find('\n').unwrap();
    desk.plan(&[format!("{}client: claude{}", &stage[..from], &stage[to..])]);
    let ran = desk.run();
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("stage `a` is worked at by `claude`"), "{}", ran.stderr);
    assert!(!desk.sandbox.store().join("run").exists());
}
