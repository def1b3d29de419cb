//! Runs agents in terminals: each supervisor is the command of a pane in a tmux server that only Sprag uses.
//! A user attaches to see an agent. Nothing else depends on tmux, and Sprag tracks the supervisor like any
//! other.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use sprag_base::digest::Digest;
use sprag_host::sys::disk::Disk;
use sprag_host::sys::exec::{self, ProcessSpec};

use crate::session_dir::{SessionDir, SessionProbe, TerminalPane};

/// Time limit for tmux to start a pane, and for the pane to claim the session.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(5);

/// Returns the name of the tmux server for the runs in this folder, for `tmux -L`.
pub fn server(run: &Path) -> String {
    let digest = Digest::hash_parts([run.as_os_str().as_encoded_bytes()]).to_string();
    let tail: String = digest.chars().rev().take(12).collect();
    format!("sprag-{tail}")
}

/// Returns the name of a session's terminal, for `tmux attach -t`.
pub fn name(site: &SessionDir) -> String {
    site.id().split('.').skip(1).collect::<Vec<_>>().join("-")
}

/// Opens a terminal in which the session is supervised. The inner error gives the reason if it fails.
pub fn open(
    run: &Path,
    site: &SessionDir,
    us: &Path,
    dir: &Path,
    disk: &dyn Disk,
) -> io::Result<Result<(), String>> {
    let (server, name) = (server(run), name(site));
    let words: [&OsStr; 16] = [
        "-L".as_ref(),
        server.as_ref(),
        "new-session".as_ref(),
        "-d".as_ref(),
        "-s".as_ref(),
        name.as_ref(),
        "-x".as_ref(),
        "200".as_ref(),
        "-y".as_ref(),
        "50".as_ref(),
        "-c".as_ref(),
        dir.as_os_str(),
        "--".as_ref(),
        us.as_os_str(),
        "supervise".as_ref(),
        site.dir().as_os_str(),
    ];
    // Written before the terminal exists, so that its name is always known.
    site.note_window(disk, &TerminalPane { server: server.clone(), name: name.clone() })?;
    let ran = exec::run_to_stay(&ProcessSpec {
        dir,
        unset: &["TMUX", "TMUX_PANE"],
        cap: 4096,
        ..ProcessSpec::new(OsStr::new("tmux"), &words, PATIENCE)
    });
    let ran = match ran {
        Err(error) => return Ok(Err(format!("cannot start `tmux`: {error}"))),
        Ok(ran) => ran,
    };
    if !ran.succeeded() {
        let said = String::from_utf8_lossy(&ran.stderr);
        return Ok(Err(format!("`tmux` did not open a terminal: {}", said.trim())));
    }
    let until = Instant::now() + PATIENCE;
    while site.probe()? == SessionProbe::Nothing {
        if Instant::now() >= until {
            return Ok(Err("nothing was started in the terminal".to_owned()));
        }
        #[expect(clippy::disallowed_methods, reason = "a pane has no other way to say that it has begun")]
        std::thread::sleep(LOOK);
    }
    Ok(Ok(()))
}

/// Reports whether Sprag's tmux server runs. Without tmux the answer is no.
pub fn is_up(server: &str, dir: &Path) -> io::Result<bool> {
    match ask(server, "list-sessions", dir) {
        Ok(ran) => Ok(ran.succeeded()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Stops a server with all its terminals.
pub fn close(server: &str, dir: &Path) -> io::Result<()> {
    let ran = ask(server, "kill-server", dir)?;
    if ran.succeeded() {
        Ok(())
    } else {
        Err(io::Error::other(String::from_utf8_lossy(&ran.stderr).trim().to_owned()))
    }
}

/// Types a text into a terminal as a person would, on one line. Control characters become spaces, because a
/// terminal would run them.
pub fn type_in(window: &TerminalPane, text: &str, dir: &Path) -> io::Result<()> {
    let line: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let pane = format!("={}:", window.name);
    for words in [&["-l", "--", line.as_str()][..], &["--", "Enter"]] {
        let ran = say(&window.server, &[&["send-keys", "-t", &pane], words].concat(), dir)?;
        if !ran.succeeded() {
            return Err(io::Error::other(String::from_utf8_lossy(&ran.stderr).trim().to_owned()));
        }
    }
    Ok(())
}

fn ask(server: &str, word: &str, dir: &Path) -> io::Result<exec::ProcessOutput> {
    say(server, &[word], dir)
}

fn say(server: &str, words: &[&str], dir: &Path) -> io::Result<exec::ProcessOutput> {
    let all = [&["-L", server], words].concat();
    let args: Vec<&OsStr> = all.iter().map(OsStr::new).collect();
    exec::run(&ProcessSpec {
        dir,
        unset: &["TMUX", "TMUX_PANE"],
        ..ProcessSpec::new(OsStr::new("tmux"), &args, PATIENCE)
    })
}
