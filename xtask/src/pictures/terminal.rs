//! A terminal of a fixed size: a pane of a separate tmux server in the throwaway home of a scene. Its shell
//! runs the steps of a scene one after the other.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context as _, bail, ensure};

use sprag_base::result::Discard as _;

use super::ansi::Screen;
use crate::place::Place;
use crate::process::{self, Ending, Finished};

const SERVER: &str = "pictures";
/// Time between two looks at the screen.
const LOOK: Duration = Duration::from_millis(100);
/// The longest time that a step or a text may take.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Terminal<'a> {
    place: &'a Place,
    tmux: PathBuf,
}

impl<'a> Terminal<'a> {
    /// Opens a terminal with this many columns and rows in the project of the place.
    pub fn open(place: &'a Place, columns: u16, rows: u16) -> anyhow::Result<Terminal<'a>> {
        let tmux = process::find("tmux").context("`tmux` is not installed; pictures are made in it")?;
        let terminal = Terminal { place, tmux };
        // The shell waits for a step, runs it and reports its end. tmux keeps a signal that comes too early.
        let shell =
            format!("while tmux wait-for go; do . {}; tmux wait-for -S done; done", quoted(&terminal.step()));
        let (columns, rows) = (columns.to_string(), rows.to_string());
        terminal.ask(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            &columns,
            "-y",
            &rows,
            "sh",
            "-c",
            &shell,
        ])?;
        Ok(terminal)
    }

    /// Runs a text of the shell and waits for its end.
    pub fn run(&self, text: &str) -> anyhow::Result<()> {
        self.start(text)?;
        self.ask(&["wait-for", "done"]).map(drop).with_context(|| format!("`{text}` does not end"))
    }

    /// Runs a text of the shell that stays on the screen.
    pub fn start(&self, text: &str) -> anyhow::Result<()> {
        fs::write(self.step(), text)?;
        self.ask(&["wait-for", "-S", "go"]).map(drop)
    }

    /// Presses a key, by its name in tmux.
    pub fn key(&self, key: &str) -> anyhow::Result<()> {
        self.ask(&["send-keys", key]).map(drop)
    }

    /// Returns the screen as soon as it fits.
    pub fn showing(&self, fits: impl Fn(&str) -> bool) -> anyhow::Result<Screen> {
        let until = Instant::now() + PATIENCE;
        loop {
            let captured = self.ask(&["capture-pane", "-e", "-p"])?;
            let screen = Screen::read(&captured);
            let text: Vec<String> = (0..screen.rows.len()).map(|row| screen.text(row)).collect();
            let text = text.join("\n");
            if fits(&text) {
                return Ok(screen);
            }
            if Instant::now() >= until {
                bail!("the terminal does not show the expected text:\n{text}");
            }
            thread::sleep(LOOK);
        }
    }

    fn step(&self) -> PathBuf {
        self.place.root.join("step.sh")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.place.command(&self.tmux);
        command.env("TMUX_TMPDIR", self.place.tmp()).args(["-u", "-L", SERVER]).args(arguments);
        command
    }

    fn ask(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let Finished { ending, stdout, stderr, .. } =
            process::run(self.command(arguments), &self.place.root.join("tmux"), PATIENCE)?;
        ensure!(ending == Ending::Code(0), "tmux {arguments:?} ended with {ending:?}: {}", stderr.trim());
        Ok(stdout)
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        self.ask(&["kill-server"]).discard("a server that has ended needs no end");
    }
}

/// Quotes a path for the shell.
pub fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}
