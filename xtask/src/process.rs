//! One child process with a deadline. Its output goes to files. A descendant that outlives the child would
//! keep a pipe open, and the files help to examine a failed case.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use sprag_base::result::Discard as _;

#[derive(Debug)]
pub struct Finished {
    pub ending: Ending,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    Code(i32),
    Signal,
    /// The child was killed with its whole process group.
    Deadline,
}

/// Runs `command` in a separate process group. `outputs` is a path without an extension: the files get `.out`
/// and `.err`.
pub fn run(mut command: Command, outputs: &Path, deadline: Duration) -> anyhow::Result<Finished> {
    let program = command.get_program().to_string_lossy().into_owned();
    let (out, err) = (outputs.with_extension("out"), outputs.with_extension("err"));
    command.stdin(Stdio::null()).stdout(File::create(&out)?).stderr(File::create(&err)?).process_group(0);
    let started = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start `{program}`"))?;
    let pid = Pid::from_child(&child);

    // This waits without reaping. Until `child.wait` below, the process id cannot belong to another process,
    // so the kill cannot hit one.
    let (ended, wait) = mpsc::channel();
    thread::spawn(move || {
        let waited = rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        ended.send(waited).discard("after the deadline no receiver is left");
    });
    let in_time = wait.recv_timeout(deadline).is_ok();
    if !in_time {
        rustix::process::kill_process_group(pid, Signal::KILL)
            .with_context(|| format!("cannot kill `{program}` at its deadline"))?;
    }
    let status = child.wait().with_context(|| format!("cannot wait for `{program}`"))?;
    Ok(Finished {
        ending: if in_time { ending(status) } else { Ending::Deadline },
        stdout: String::from_utf8_lossy(&std::fs::read(&out)?).into_owned(),
        stderr: String::from_utf8_lossy(&std::fs::read(&err)?).into_owned(),
        took: started.elapsed(),
    })
}

/// Returns the real path of a program on the PATH of the caller: a version manager's link does not work
/// elsewhere.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let candidates = std::env::split_paths(&path).map(|folder| folder.join(name));
    candidates.filter(|candidate| candidate.is_file()).find_map(|candidate| candidate.canonicalize().ok())
}

fn ending(status: ExitStatus) -> Ending {
    status.code().map_or(Ending::Signal, Ending::Code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, deadline: Duration) -> Finished {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, &folder.path().join("run"), deadline).unwrap()
    }

    #[test]
    fn code_and_both_outputs() {
        let finished = shell("echo out; echo err >&2; exit 3", Duration::from_secs(20));
        assert_eq!(finished.ending, Ending::Code(3));
        assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("out\n", "err\n"));
    }

    #[test]
    fn the_deadline_ends_the_children_too() {
        let finished = shell("sleep 60 & echo started; wait", Duration::from_millis(300));
        assert_eq!(finished.ending, Ending::Deadline);
        assert_eq!(finished.stdout, "started\n");
        assert!(finished.took < Duration::from_secs(20));
    }
}
