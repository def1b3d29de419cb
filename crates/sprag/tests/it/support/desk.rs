//! A directory to run plans in: a clone, a plan, and small scripts as agents.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::support::{Ran, Sandbox};

/// A clone, a plan in it, and small scripts as agents.
pub(crate) struct Desk {
    pub sandbox: Sandbox,
}

impl Desk {
    pub(crate) fn new() -> Desk {
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

    pub(crate) fn git(&self, args: &str) -> String {
        let args: Vec<&str> = args.split(' ').collect();
        let output = self.sandbox.git(&args);
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Returns a stage whose agent runs this script. Each run of the agent leaves a mark outside the
    /// worktree.
    pub(crate) fn stage(&self, id: &str, needs: &[&str], script: &str, acceptance: &str) -> String {
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

    pub(crate) fn plan(&self, stages: &[String]) -> PathBuf {
        let text = format!(
            "# Plan\n\n```yaml sprag\nversion: 1\nname: p\ntarget: main\nbackoff: 1s\nstages:\n{}```\n",
            stages.concat()
        );
        let path = self.sandbox.home.join("plan.md");
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn run(&self) -> Ran {
        self.run_with(&[])
    }

    pub(crate) fn run_with(&self, more: &[&str]) -> Ran {
        let plan = self.sandbox.home.join("plan.md").display().to_string();
        self.sandbox.run(&[&["run", &plan, "--trust", "--foreground"], more].concat())
    }

    pub(crate) fn run_id(&self) -> String {
        self.records()[0]["body"]["run"].as_str().unwrap().to_owned()
    }

    pub(crate) fn start(&self) -> Child {
        let mut command = self.sandbox.command(env!("CARGO_BIN_EXE_sprag"));
        command.arg("run").arg(self.sandbox.home.join("plan.md")).args(["--trust", "--foreground"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
    }

    /// Makes a pipe on which an agent reports its start and waits for a signal to continue.
    pub(crate) fn pipe(&self, name: &str) -> Pipe {
        let path = self.sandbox.home.join(name);
        let made = self.sandbox.command("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        Pipe { path }
    }

    pub(crate) fn runs(&self, id: &str) -> usize {
        fs::read_to_string(self.sandbox.home.join(format!("{id}.ran"))).map_or(0, |text| text.lines().count())
    }

    pub(crate) fn on_trunk(&self, path: &str) -> String {
        self.git(&format!("show refs/sprag/p/trunk:{path}"))
    }

    /// Returns the number of records of a kind.
    pub(crate) fn count(&self, kind: &str) -> usize {
        self.records().iter().filter(|record| record["kind"] == kind).count()
    }

    /// Starts a run with captured output.
    pub(crate) fn start_heard(&self) -> Child {
        let mut command = self.sandbox.command(env!("CARGO_BIN_EXE_sprag"));
        command.arg("run").arg(self.sandbox.home.join("plan.md")).args(["--trust", "--foreground"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Returns the exit code, stdout and stderr of an ended run.
    pub(crate) fn ended(&self, run: Child) -> (i32, String, String) {
        let output = run.wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    }

    pub(crate) fn records(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.sandbox.store().join("run/plans/p.jsonl")).unwrap();
        // The last line may be incomplete if its write failed.
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Asserts that every commit of the trunk passed its checks as exactly that commit before it landed.
    pub(crate) fn assert_all_landed_was_tested(&self) {
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

pub(crate) struct Pipe {
    path: PathBuf,
}

impl Pipe {
    /// Returns the shell command by which a script waits.
    pub(crate) fn wait(&self) -> String {
        let path = self.path.display();
        format!("echo up >{path}; cat {path} >/dev/null")
    }

    /// Waits until the agent has started.
    pub(crate) fn is_up(&self) {
        assert_eq!(fs::read_to_string(&self.path).unwrap(), "up\n");
    }

    pub(crate) fn go_on(&self) {
        fs::write(&self.path, "go\n").unwrap();
    }
}
