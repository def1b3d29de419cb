//! A repository, a plan and the sandboxes of this machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use sprag_host::sys::env::Env;
use sprag_orchestrator::sandbox::offer;
use sprag_orchestrator::session_dir::SessionDir;
use sprag_plan::sandbox::SandboxSupport;

use crate::support::{Ran, Sandbox};

pub(super) const WALLS: [&str; 2] = ["bubblewrap", "landlock"];

/// Reports whether this machine has such a sandbox, and prints a message if not.
#[expect(clippy::print_stderr, reason = "a story that is not told has to say why")]
pub(super) fn is_there(wall: &str) -> bool {
    let vars = BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".into())]);
    let offer = offer(&Env::Given(vars), None);
    let can = if wall == "landlock" { offer.landlock } else { offer.bubblewrap };
    match can {
        SandboxSupport::Yes => true,
        SandboxSupport::No { why } => {
            eprintln!("skipped: no {wall}: {why}");
            false
        }
    }
}

/// Reports whether the kernel can restrict the targets of connections.
#[expect(clippy::print_stderr, reason = "a story that is not told has to say why")]
pub(super) fn has_ports() -> bool {
    match offer(&Env::Given(BTreeMap::new()), None).ports {
        SandboxSupport::Yes => true,
        SandboxSupport::No { why } => {
            eprintln!("skipped: the network cannot be narrowed: {why}");
            false
        }
    }
}

pub(super) fn lives(pid: &str) -> bool {
    // A zombie process does nothing any more.
    fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| !stat.contains(") Z "))
}

pub(super) struct Desk {
    pub sandbox: Sandbox,
}

impl Desk {
    pub(super) fn new() -> Desk {
        Desk { sandbox: crate::support::desk::Desk::new().sandbox }
    }

    pub(super) fn within(mut self, wall: &str) -> Desk {
        self.sandbox.vars.push(("SPRAG_SANDBOX".to_owned(), wall.to_owned()));
        self
    }

    pub(super) fn git(&self, args: &str) -> String {
        let args: Vec<&str> = args.split(' ').collect();
        let output = self.sandbox.git(&args);
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Returns a stage whose agent runs this script and commits its files.
    pub(super) fn stage(&self, id: &str, script: &str) -> String {
        let path = self.sandbox.home.join(format!("{id}.sh"));
        fs::write(&path, format!("{script}\ngit add -A && git commit -qm {id}\n")).unwrap();
        format!(
            "  - id: {id}\n    working_dir: .\n    client: {{command: [sh, {}]}}\n    acceptance: [\"true\"]\n",
            path.display(),
        )
    }

    pub(super) fn plan(&self, stages: &[String], more: &str) {
        let text = format!(
            "# Plan\n\n```yaml sprag\nversion: 1\nname: p\ntarget: main\nbackoff: 1s\n{more}stages:\n{}```\n",
            stages.concat()
        );
        fs::write(self.sandbox.home.join("plan.md"), text).unwrap();
    }

    pub(super) fn run(&self) -> Ran {
        let plan = self.sandbox.home.join("plan.md").display().to_string();
        self.sandbox.run(&["run", &plan, "--trust", "--foreground"])
    }

    pub(super) fn start(&self) -> Child {
        let mut command = self.sandbox.command(env!("CARGO_BIN_EXE_sprag"));
        command.arg("run").arg(self.sandbox.home.join("plan.md")).args(["--trust", "--foreground"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
    }

    /// Makes a pipe that a sandboxed agent may write to. A read blocks until it does.
    pub(super) fn pipe(&self) -> PathBuf {
        let dir = self.sandbox.store().join("inbox");
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join("pipe");
        assert!(self.sandbox.command("mkfifo").arg(&path).status().unwrap().success());
        path
    }

    pub(super) fn on_trunk(&self, path: &str) -> String {
        self.git(&format!("show refs/sprag/p/trunk:{path}"))
    }

    pub(super) fn records(&self) -> String {
        fs::read_to_string(self.sandbox.store().join("run/plans/p.jsonl")).unwrap()
    }

    /// Returns the folder of the first session.
    pub(super) fn site(&self) -> SessionDir {
        let folders = fs::read_dir(self.sandbox.store().join("run/s")).unwrap();
        let first = folders.flatten().map(|entry| entry.path()).min().unwrap();
        SessionDir::at(&first)
    }

    /// Returns the stderr of the first agent, for failure messages.
    pub(super) fn said(&self) -> String {
        fs::read_to_string(self.site().err()).unwrap_or_default()
    }
}
