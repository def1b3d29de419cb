//! Tests that a screen that panics restores the terminal and then prints the reason, in a real terminal: a
//! pane of a separate tmux server.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "it starts programs by trade, and says when it cannot"
)]

use std::fs;
use std::process::Command;

use sprag_ui::terminal::TerminalGuard;

/// Set only in the pane of the test below.
const WANTED: &str = "SPRAG_UI_TEST_PANIC";

#[test]
fn what_panics_in_the_pane() {
    if std::env::var_os(WANTED).is_none() {
        return;
    }
    let _taken = TerminalGuard::acquire().unwrap();
    panic!("printed after the terminal is restored");
}

#[test]
fn a_panic_gives_the_terminal_back_and_is_read() {
    if !Command::new("tmux").arg("-V").output().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: `tmux` is not installed");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let tmux = |args: &[&str]| {
        let socket = at("tmux");
        let output =
            Command::new("tmux").args(["-S", &socket]).args(args).env("TERM", "xterm").output().unwrap();
        assert!(output.status.success(), "tmux {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    };
    let script = format!(
        "stty -g >{before}\n{WANTED}=1 {us} --exact what_panics_in_the_pane --nocapture --test-threads 1\n\
         stty -g >{after}\necho >{done}\nexec cat\n",
        before = at("before"),
        after = at("after"),
        done = at("done"),
        us = std::env::current_exe().unwrap().display(),
    );
    fs::write(at("script.sh"), script).unwrap();
    assert!(Command::new("mkfifo").arg(at("done")).status().unwrap().success());
    tmux(&[
        "-f",
        "/dev/null",
        "new-session",
        "-d",
        "-x",
        "100",
        "-y",
        "40",
        &format!("sh {}", at("script.sh")),
    ]);
    // Blocks until the script is done.
    fs::read(at("done")).unwrap();
    let (screen, flags) = (
        tmux(&["capture-pane", "-p"]),
        tmux(&["display-message", "-p", "#{alternate_on} #{mouse_any_flag} #{cursor_flag}"]),
    );
    tmux(&["kill-server"]);
    assert_eq!(fs::read(at("before")).unwrap(), fs::read(at("after")).unwrap());
    assert_eq!(flags, "0 0 1");
    assert!(screen.contains("printed after the terminal is restored"), "{screen}");
}
