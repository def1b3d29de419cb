//! A real terminal: a pane of a separate tmux server, whose output the test reads completely.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::support::Sandbox;

/// A deadline that even a busy machine meets.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Pane<'a> {
    sandbox: &'a Sandbox,
    socket: PathBuf,
    heard: Receiver<Vec<u8>>,
}

/// Reports whether tmux is installed, and prints a message if not.
#[expect(clippy::print_stderr, reason = "whoever reads the tests has to know")]
pub(super) fn is_possible(sandbox: &Sandbox) -> bool {
    let is_there = sandbox.command("tmux").arg("-V").output().is_ok_and(|output| output.status.success());
    if !is_there {
        eprintln!("not told: there is no tmux");
    }
    is_there
}

impl<'a> Pane<'a> {
    /// Runs a script in a terminal of this size.
    pub(super) fn new(sandbox: &'a Sandbox, script: &str, width: u16, height: u16) -> Pane<'a> {
        let (socket, pipe) = (sandbox.home.join("tmux"), sandbox.home.join("pipe"));
        let (go, file) = (sandbox.home.join("go"), sandbox.home.join("script.sh"));
        // The script waits for the pipe, so that the test reads every byte of its output.
        fs::write(&file, format!("cat {}\n{script}\nexec cat\n", go.display())).unwrap();
        for fifo in [&pipe, &go] {
            assert!(sandbox.command("mkfifo").arg(fifo).status().unwrap().success());
        }
        let (tell, heard) = channel();
        let pane = Pane { sandbox, socket, heard };
        let size = [width.to_string(), height.to_string()];
        let run = format!("sh {}", file.display());
        pane.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", &size[0], "-y", &size[1], &run]);
        pane.tmux(&["pipe-pane", &format!("exec cat >{}", pipe.display())]);
        let mut reading = File::open(&pipe).unwrap();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = reading.read(&mut buffer) {
                if tell.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        fs::write(&go, "").unwrap();
        pane
    }

    fn command(&self) -> Command {
        let mut command = self.sandbox.command("tmux");
        command.arg("-S").arg(&self.socket);
        command
    }

    pub(super) fn tmux(&self, args: &[&str]) -> String {
        let output = self.command().args(args).output().unwrap();
        assert!(output.status.success(), "tmux {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    pub(super) fn keys(&self, keys: &str) {
        self.tmux(&["send-keys", keys]);
    }

    /// Waits until the screen shows this text. A program sends only changed cells, so its raw output is not
    /// enough.
    pub(super) fn shows(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.screen().contains(text) {
            let left = deadline.saturating_duration_since(Instant::now());
            if self.heard.recv_timeout(left).is_err() {
                panic!("`{text}` does not come:\n{}", self.screen());
            }
        }
    }

    pub(super) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Reports whether the terminal is in the normal state: main screen, no mouse, a cursor.
    pub(super) fn is_given_back(&self) -> bool {
        self.tmux(&["display-message", "-p", "#{alternate_on} #{mouse_any_flag} #{cursor_flag}"]) == "0 0 1"
    }
}

impl Drop for Pane<'_> {
    fn drop(&mut self) {
        // The server may have ended already.
        self.command().arg("kill-server").output().unwrap();
    }
}
