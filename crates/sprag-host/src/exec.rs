//! Starting other programs. Nowhere else: each gets its own process group, a deadline and a cap on
//! what it may print, so that none can hang a hook or be left behind.

use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

pub struct Run<'a> {
    pub program: &'a OsStr,
    pub args: &'a [&'a OsStr],
    pub dir: &'a Path,
    pub env: &'a [(&'a str, &'a OsStr)],
    /// Variables of ours it must not see.
    pub unset: &'a [&'a str],
    pub stdin: &'a [u8],
    pub deadline: Duration,
    /// Bytes kept of each stream; the rest is read and dropped.
    pub cap: usize,
}

#[derive(Debug)]
pub struct Ran {
    pub ending: Ending,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    Code(i32),
    Signal,
    TimedOut,
}

impl Ran {
    pub fn succeeded(&self) -> bool {
        self.ending == Ending::Code(0)
    }
}

pub fn run(run: &Run<'_>) -> io::Result<Ran> {
    start(run, None)
}

/// Talks to a server on its stdin and stdout: it is ended once its output contains `answer`.
pub fn ask(run: &Run<'_>, answer: &[u8]) -> io::Result<Ran> {
    start(run, Some(answer))
}

fn start(run: &Run<'_>, answer: Option<&[u8]>) -> io::Result<Ran> {
    #[expect(clippy::disallowed_methods, reason = "the one place where processes start")]
    let mut command = Command::new(run.program);
    run.unset.iter().for_each(|name| {
        command.env_remove(name);
    });
    let mut child = command
        .args(run.args)
        .current_dir(run.dir)
        .envs(run.env.iter().copied())
        .stdin(if run.stdin.is_empty() { Stdio::null() } else { Stdio::piped() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let until = Instant::now() + run.deadline;
    let mut stdin = child.stdin.take();
    if let Some(stdin) = &mut stdin {
        // Payloads are smaller than a pipe. A child that does not read them has its reasons.
        stdin.write_all(run.stdin).unwrap_or_default();
    }
    // A server ends when nobody can ask it any more.
    let kept_open = stdin.filter(|_| answer.is_some());
    let (stdout, stderr) = read_both(&mut child, until, run.cap, answer)?;
    drop(kept_open);
    let until = if answer.is_some() { Instant::now() } else { until };
    let ending = end(&mut child, until)?;
    Ok(Ran { ending, stdout, stderr })
}

fn read_both(
    child: &mut Child,
    until: Instant,
    cap: usize,
    answer: Option<&[u8]>,
) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut out = child.stdout.take().expect("stdout was asked to be a pipe");
    let mut err = child.stderr.take().expect("stderr was asked to be a pipe");
    let (mut out_bytes, mut err_bytes) = (Vec::new(), Vec::new());
    let (mut out_open, mut err_open) = (true, true);
    let mut buffer = vec![0; 64 * 1024];
    while out_open || err_open {
        let Some(left) = until.checked_duration_since(Instant::now()) else {
            break;
        };
        let mut waiting = Vec::with_capacity(2);
        if out_open {
            waiting.push(PollFd::from_borrowed_fd(out.as_fd(), PollFlags::IN));
        }
        if err_open {
            waiting.push(PollFd::from_borrowed_fd(err.as_fd(), PollFlags::IN));
        }
        let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
        poll(&mut waiting, Some(&timeout))?;
        let ready: Vec<bool> = waiting.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut ready = ready.into_iter();
        if out_open && ready.next() == Some(true) {
            out_open = take(&mut out, &mut buffer, &mut out_bytes, cap)?;
            // The rest of the answer's line belongs to it.
            let is_answered =
                |answer| memchr::memmem::find(&out_bytes, answer).is_some() && out_bytes.ends_with(b"\n");
            if answer.is_some_and(is_answered) {
                break;
            }
        }
        if err_open && ready.next() == Some(true) {
            err_open = take(&mut err, &mut buffer, &mut err_bytes, cap)?;
        }
    }
    Ok((out_bytes, err_bytes))
}

/// Reads once; false at the end of the stream.
fn take(from: &mut impl io::Read, buffer: &mut [u8], into: &mut Vec<u8>, cap: usize) -> io::Result<bool> {
    let count = from.read(buffer)?;
    into.extend_from_slice(&buffer[..count.min(cap.saturating_sub(into.len()))]);
    Ok(count > 0)
}

fn end(child: &mut Child, until: Instant) -> io::Result<Ending> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    // Whatever it started in its group goes with it; a group that is gone is as good as killed.
    let kill_group = || group.map(|group| kill_process_group(group, Signal::KILL).unwrap_or_default());
    loop {
        if let Some(status) = child.try_wait()? {
            kill_group();
            return Ok(status.code().map_or(Ending::Signal, Ending::Code));
        }
        if Instant::now() >= until {
            kill_group();
            child.wait()?;
            return Ok(Ending::TimedOut);
        }
        #[expect(clippy::disallowed_methods, reason = "the streams are closed: it ends at any moment")]
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// The first program of this name on `PATH`.
pub fn on_path(name: &str, path: &OsStr) -> Option<std::path::PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    std::env::split_paths(path).map(|dir| dir.join(name)).find(|candidate| {
        candidate.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    })
}

/// Reads a child's or a file's stream up to a cap.
pub fn read_capped(from: impl io::Read, cap: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(cap).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, deadline: Duration) -> Ran {
        let args = [OsStr::new("-c"), OsStr::new(script)];
        run(&Run {
            program: OsStr::new("/bin/sh"),
            args: &args,
            dir: Path::new("/"),
            env: &[],
            unset: &[],
            stdin: b"in",
            deadline,
            cap: 10,
        })
        .unwrap()
    }

    #[test]
    fn output_is_kept_up_to_the_cap() {
        let ran = shell("cat; echo 0123456789abc; echo bad >&2; exit 3", Duration::from_secs(20));
        assert_eq!(ran.ending, Ending::Code(3));
        assert_eq!(ran.stdout, b"in01234567");
        assert_eq!(ran.stderr, b"bad\n");
    }

    #[test]
    fn a_deadline_ends_the_whole_group() {
        let ran = shell("sleep 1000 & sleep 1000", Duration::from_millis(50));
        assert_eq!(ran.ending, Ending::TimedOut);
    }
}
