//! Starts all other programs. Each gets a separate process group, a deadline and an output limit, so that no
//! program can block a hook or stay behind.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use sprag_base::result::Discard as _;

/// Variable that marks started programs, so that Sprag finds them after the starter has ended.
pub const MARK: &str = "SPRAG_REIGN";
static TIED: OnceLock<ParentTie> = OnceLock::new();

struct ParentTie {
    mark: OsString,
    lock: File,
}

/// Ties all later programs to a held lock, except those that outlive this process on purpose. They get the
/// lock as stdin. A process that waits for the lock waits for all of them, even after this process has ended.
/// Only the first call counts.
pub fn tie_all(mark: OsString, lock: File) {
    TIED.set(ParentTie { mark, lock }).discard("the first tie of a process holds");
}

/// Returns an empty stdin, tied to the lock if there is one.
fn nothing() -> Stdio {
    TIED.get().and_then(|tie| tie.lock.try_clone().ok()).map_or_else(Stdio::null, Stdio::from)
}

pub struct ProcessSpec<'a> {
    pub program: &'a OsStr,
    pub args: &'a [&'a OsStr],
    pub dir: &'a Path,
    pub env: &'a [(&'a str, &'a OsStr)],
    /// Variables that the program must not see.
    pub unset: &'a [&'a str],
    pub stdin: &'a [u8],
    pub deadline: Duration,
    /// Bytes kept of each stream; the rest is read and dropped.
    pub cap: usize,
}

impl<'a> ProcessSpec<'a> {
    /// Returns a run in the root directory with the variables of this process and without input.
    pub fn new(program: &'a OsStr, args: &'a [&'a OsStr], deadline: Duration) -> ProcessSpec<'a> {
        let dir = Path::new("/");
        ProcessSpec { program, args, dir, env: &[], unset: &[], stdin: b"", deadline, cap: 64 * 1024 }
    }
}

#[derive(Debug)]
pub struct ProcessOutput {
    pub ending: ProcessEnd,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    Code(i32),
    Signal,
    TimedOut,
}

impl ProcessOutput {
    pub fn succeeded(&self) -> bool {
        self.ending == ProcessEnd::Code(0)
    }
}

pub fn run(run: &ProcessSpec<'_>) -> io::Result<ProcessOutput> {
    start(run, OutputCut::Start, Life::Ours)
}

/// Runs a program that leaves a process which outlives this one on purpose.
pub fn run_to_stay(run: &ProcessSpec<'_>) -> io::Result<ProcessOutput> {
    start(run, OutputCut::Start, Life::Own)
}

/// Lifetime of a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    Ours,
    Own,
}

/// Runs a program and keeps the end of its output, where a failing program gives the reason.
pub fn run_for_end(run: &ProcessSpec<'_>) -> io::Result<ProcessOutput> {
    start(run, OutputCut::End, Life::Ours)
}

/// Runs a program with only the given environment.
pub fn run_apart(run: &ProcessSpec<'_>) -> io::Result<ProcessOutput> {
    start_in(run, OutputCut::End, Life::Ours, Sees::Given)
}

/// Environment that a program sees.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sees {
    All,
    Given,
}

/// Starts a program that outlives this process, and waits for its first line or the end of its stdout. A
/// thread waits for its exit while this process lives.
#[expect(clippy::disallowed_methods, reason = "the one place where processes start")]
pub fn detach(program: &Path, args: &[&OsStr]) -> io::Result<()> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).env_remove(MARK);
    let mut child = command.spawn()?;
    let mut stdout = child.stdout.take().expect("stdout was asked to be a pipe");
    std::thread::spawn(move || child.wait());
    let mut byte = [0];
    while stdout.read(&mut byte)? > 0 && byte != [b'\n'] {}
    Ok(())
}

/// Starts such a program and returns its first line. Its stderr goes to a file.
#[expect(clippy::disallowed_methods, reason = "the one place where processes start")]
pub fn detach_for_line(program: &Path, args: &[&OsStr], dir: &Path, errors: File) -> io::Result<String> {
    let mut command = Command::new(program);
    command.args(args).current_dir(dir).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors);
    let mut child = command.env_remove(MARK).process_group(0).spawn()?;
    let mut stdout = child.stdout.take().expect("stdout was asked to be a pipe");
    std::thread::spawn(move || child.wait());
    let (mut line, mut byte) = (Vec::new(), [0]);
    while line.len() < 4096 && stdout.read(&mut byte)? > 0 && byte != [b'\n'] {
        line.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

/// Starts a program, such as a window, without waiting for it.
#[expect(clippy::disallowed_methods, reason = "the one place where processes start")]
pub fn let_go(argv: &[String], dir: &Path) -> io::Result<()> {
    let (program, args) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(args).current_dir(dir).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().map(drop)
}

/// Starts a program with only the given environment, in a separate group. The caller handles its output and
/// exit.
#[expect(clippy::disallowed_methods, reason = "the one place where processes start")]
pub fn start_piped(
    program: &Path,
    args: &[&str],
    dir: &Path,
    env: &[(&str, &str)],
    stdin: Option<&Path>,
) -> io::Result<Child> {
    let stdin = match stdin {
        Some(path) => Stdio::from(std::fs::File::open(path)?),
        None => Stdio::null(),
    };
    let mut command = Command::new(program);
    command.args(args).current_dir(dir).env_clear().envs(env.iter().copied());
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn()
}

/// Starts such a program on the current terminal.
#[expect(clippy::disallowed_methods, reason = "the one place where processes start")]
pub fn start_in_terminal(
    program: &Path,
    args: &[&str],
    dir: &Path,
    env: &[(&str, &str)],
) -> io::Result<Child> {
    let mut command = Command::new(program);
    command.args(args).current_dir(dir).env_clear().envs(env.iter().copied());
    command.process_group(0).spawn()
}

/// Replaces this process with another program. Returns only on failure.
#[expect(clippy::disallowed_methods, reason = "the one place where programs are started")]
pub fn become_program(argv: &[impl AsRef<OsStr>]) -> io::Error {
    match argv.split_first() {
        Some((program, args)) => Command::new(program).args(args).exec(),
        None => io::ErrorKind::InvalidInput.into(),
    }
}

/// Lets a person edit a file in the terminal, without a deadline. A shell splits the editor's options, as in
/// `code --wait`. Reports whether the editor succeeded.
#[expect(clippy::disallowed_methods, reason = "the one place that starts programs")]
pub fn edit(editor: &str, file: &Path) -> io::Result<bool> {
    let script = format!("exec {editor} \"$1\"");
    Ok(Command::new("sh").args(["-c", &script, "sh"]).arg(file).status()?.success())
}

/// Sends input to a server on its stdin, and ends the server once its output contains `answer`.
pub fn ask(run: &ProcessSpec<'_>, answer: &[u8]) -> io::Result<ProcessOutput> {
    start(run, OutputCut::Answer(answer), Life::Ours)
}

/// Part of the output that is kept if it exceeds the limit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OutputCut<'a> {
    Start,
    End,
    /// The start, until it contains this text.
    Answer(&'a [u8]),
}

impl OutputCut<'_> {
    fn is_answer(self) -> bool {
        matches!(self, OutputCut::Answer(_))
    }
}

fn start(run: &ProcessSpec<'_>, wanted: OutputCut<'_>, life: Life) -> io::Result<ProcessOutput> {
    start_in(run, wanted, life, Sees::All)
}

fn start_in(
    run: &ProcessSpec<'_>,
    wanted: OutputCut<'_>,
    life: Life,
    sees: Sees,
) -> io::Result<ProcessOutput> {
    #[expect(clippy::disallowed_methods, reason = "the one place where processes start")]
    let mut command = Command::new(run.program);
    if sees == Sees::Given {
        command.env_clear();
    }
    run.unset.iter().for_each(|name| {
        command.env_remove(name);
    });
    match TIED.get().filter(|_| life == Life::Ours) {
        Some(tie) => command.env(MARK, &tie.mark),
        None => command.env_remove(MARK),
    };
    let nothing = || if life == Life::Ours { nothing() } else { Stdio::null() };
    let mut child = command
        .args(run.args)
        .current_dir(run.dir)
        .envs(run.env.iter().copied())
        .stdin(if run.stdin.is_empty() { nothing() } else { Stdio::piped() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let until = Instant::now() + run.deadline;
    let mut stdin = child.stdin.take();
    if let Some(stdin) = &mut stdin {
        // Payloads are smaller than a pipe buffer. A child may ignore them.
        stdin.write_all(run.stdin).discard("a child may end without reading its input");
    }
    // The server ends when its stdin closes.
    let kept_open = stdin.filter(|_| wanted.is_answer());
    let (stdout, stderr) = read_both(&mut child, until, run.cap, wanted)?;
    drop(kept_open);
    let until = if wanted.is_answer() { Instant::now() } else { until };
    let ending = end(&mut child, until)?;
    Ok(ProcessOutput { ending, stdout, stderr })
}

/// A program that communicates over stdin and stdout. Dropping this ends the program and its whole group.
pub struct ServerProcess {
    child: Child,
}

/// Starts a server. The caller sets the deadlines, because only the caller knows the requests.
pub fn serve(program: &OsStr, args: &[&OsStr], dir: &Path, unset: &[&str]) -> io::Result<ServerProcess> {
    #[expect(clippy::disallowed_methods, reason = "the one place where processes start")]
    let mut command = Command::new(program);
    for name in unset.iter() {
        command.env_remove(name);
    }
    command.args(args).current_dir(dir).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.process_group(0).spawn().map(|child| ServerProcess { child })
}

impl ServerProcess {
    /// Returns the stdin and stdout, once.
    pub fn take_pipes(&mut self) -> io::Result<(OwnedFd, OwnedFd)> {
        let (stdin, stdout) = (self.child.stdin.take(), self.child.stdout.take());
        stdin
            .zip(stdout)
            .map(|(stdin, stdout)| (stdin.into(), stdout.into()))
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Time that a server with a closed stdin has to end.
const GOODBYE: Duration = Duration::from_millis(500);

impl Drop for ServerProcess {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        end(&mut self.child, Instant::now() + GOODBYE)
            .discard("a child that cannot be awaited has ended already");
    }
}

/// Interval between checks of a silent program.
const LOOK: Duration = Duration::from_millis(100);

fn read_both(
    child: &mut Child,
    until: Instant,
    cap: usize,
    wanted: OutputCut<'_>,
) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut out = child.stdout.take().expect("stdout was asked to be a pipe");
    let mut err = child.stderr.take().expect("stderr was asked to be a pipe");
    let (mut out_bytes, mut err_bytes) = (Vec::new(), Vec::new());
    let (mut out_open, mut err_open) = (true, true);
    let mut has_ended = false;
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
        let patience = if has_ended { Duration::ZERO } else { left.min(LOOK) };
        let timeout = Timespec::try_from(patience).map_err(io::Error::other)?;
        if poll(&mut waiting, Some(&timeout))? == 0 {
            // A background process may keep the streams open forever. After the exit of the program its last
            // output is in the streams, so they are read one more time.
            if has_ended {
                break;
            }
            has_ended = child.try_wait()?.is_some();
            continue;
        }
        let ready: Vec<bool> = waiting.iter().map(|fd| !fd.revents().is_empty()).collect();
        let mut ready = ready.into_iter();
        if out_open && ready.next() == Some(true) {
            out_open = read_chunk(&mut out, &mut buffer, &mut out_bytes, cap, wanted)?;
            // The rest of the line belongs to the answer.
            if let OutputCut::Answer(answer) = wanted
                && memchr::memmem::find(&out_bytes, answer).is_some()
                && out_bytes.ends_with(b"\n")
            {
                break;
            }
        }
        if err_open && ready.next() == Some(true) {
            err_open = read_chunk(&mut err, &mut buffer, &mut err_bytes, cap, wanted)?;
        }
    }
    Ok((out_bytes, err_bytes))
}

/// Reads once. Returns `false` at the end of the stream.
fn read_chunk(
    from: &mut impl io::Read,
    buffer: &mut [u8],
    into: &mut Vec<u8>,
    cap: usize,
    wanted: OutputCut<'_>,
) -> io::Result<bool> {
    let count = from.read(buffer)?;
    if wanted == OutputCut::End {
        into.extend_from_slice(&buffer[..count]);
        into.drain(..into.len().saturating_sub(cap));
    } else {
        into.extend_from_slice(&buffer[..count.min(cap.saturating_sub(into.len()))]);
    }
    Ok(count > 0)
}

fn end(child: &mut Child, until: Instant) -> io::Result<ProcessEnd> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    // Kill all processes of the group; the group may already be gone.
    let kill_group = || group.map(|group| kill_process_group(group, Signal::KILL).unwrap_or_default());
    loop {
        if let Some(status) = child.try_wait()? {
            kill_group();
            return Ok(status.code().map_or(ProcessEnd::Signal, ProcessEnd::Code));
        }
        let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) else {
            kill_group();
            child.wait()?;
            return Ok(ProcessEnd::TimedOut);
        };
        await_end(group, left)?;
    }
}

/// Waits until a child has ended, or for the remaining time. The process id stays reserved until the exit
/// status is read.
fn await_end(child: Option<Pid>, left: Duration) -> io::Result<()> {
    let Some(handle) = child.and_then(|child| pidfd_open(child, PidfdFlags::empty()).ok()) else {
        #[expect(clippy::disallowed_methods, reason = "the streams are closed: it ends at any moment")]
        std::thread::sleep(Duration::from_micros(500));
        return Ok(());
    };
    let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
    match poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Returns the first program of this name on `PATH`.
pub fn on_path(name: &str, path: &OsStr) -> Option<std::path::PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    std::env::split_paths(path).map(|dir| dir.join(name)).find(|candidate| {
        candidate.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    })
}

/// Returns the first program of this name on `PATH` that is not part of the project: not below its worktree
/// and not on a relative path.
pub fn on_foreign_path(name: &str, path: &OsStr, worktree: Option<&Path>) -> Option<std::path::PathBuf> {
    let is_foreign = |dir: &std::path::PathBuf| {
        dir.is_absolute() && !worktree.is_some_and(|worktree| dir.starts_with(worktree))
    };
    on_path(name, &std::env::join_paths(std::env::split_paths(path).filter(is_foreign)).ok()?)
}

/// Reads a stream up to a limit.
pub fn read_capped(from: impl io::Read, cap: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(cap).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, deadline: Duration) -> ProcessOutput {
        with(run, script, deadline)
    }

    fn with(
        run: fn(&ProcessSpec<'_>) -> io::Result<ProcessOutput>,
        script: &str,
        deadline: Duration,
    ) -> ProcessOutput {
        let args = [OsStr::new("-c"), OsStr::new(script)];
        run(&ProcessSpec {
            stdin: b"in",
            cap: 10,
            ..ProcessSpec::new(OsStr::new("/bin/sh"), &args, deadline)
        })
        .unwrap()
    }

    #[test]
    fn output_is_kept_up_to_the_cap() {
        let ran = shell("cat; echo 0123456789abc; echo bad >&2; exit 3", Duration::from_secs(20));
        assert_eq!(ran.ending, ProcessEnd::Code(3));
        assert_eq!(ran.stdout, b"in01234567");
        assert_eq!(ran.stderr, b"bad\n");
    }

    #[test]
    fn or_its_end_is_kept() {
        let ran = with(run_for_end, "cat; echo 0123456789abc; echo bad >&2", Duration::from_secs(20));
        assert_eq!(ran.stdout, b"456789abc\n");
        assert_eq!(ran.stderr, b"bad\n");
        let ran = with(run_for_end, "head -c 1000000 /dev/zero; echo end", Duration::from_secs(20));
        assert_eq!(ran.stdout, b"\0\0\0\0\0\0end\n");
    }

    #[test]
    fn who_is_left_in_the_background_is_not_waited_for() {
        let started = Instant::now();
        let ran = shell("sleep 1000 & echo $!; exit 3", Duration::from_secs(100));
        assert_eq!(ran.ending, ProcessEnd::Code(3));
        assert!(started.elapsed() < Duration::from_secs(50));
    }

    #[test]
    fn a_deadline_ends_the_whole_group() {
        let ran = shell("sleep 1000 & sleep 1000", Duration::from_millis(50));
        assert_eq!(ran.ending, ProcessEnd::TimedOut);
    }
}
