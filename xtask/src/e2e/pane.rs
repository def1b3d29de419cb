//! A terminal as a user has it: a pane of a separate tmux server, with a fixed size, in the temporary home.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use sprag_base::result::Discard as _;

use crate::place::Place;
use crate::process;

const SERVER: &str = "e2e";
/// The interval between two readings of the screen.
const LOOK: Duration = Duration::from_millis(100);
/// The time after which the wait for a text gives up.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Pane {
    place: Place,
    tmux: PathBuf,
}

impl Pane {
    /// Runs a shell script in a new pane. Returns `None` if tmux is not installed.
    pub fn open(place: &Place, script: &str, (width, height): (u16, u16)) -> anyhow::Result<Option<Pane>> {
        let Some(tmux) = process::find("tmux") else { return Ok(None) };
        let place = Place { root: place.root.clone(), model_url: place.model_url.clone() };
        let pane = Pane { place, tmux };
        let (width, height) = (width.to_string(), height.to_string());
        // The last output stays visible.
        let script = format!("{script}\nexec cat");
        pane.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            &width,
            "-y",
            &height,
            "sh",
            "-c",
            &script,
        ])?;
        Ok(Some(pane))
    }

    fn tmux(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let mut command = self.place.command(&self.tmux);
        command.env("TMUX_TMPDIR", self.place.tmp()).args(["-u", "-L", SERVER]).args(arguments);
        let output = command.output().context("cannot start `tmux`")?;
        ensure!(
            output.status.success(),
            "tmux {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    pub fn screen(&self) -> anyhow::Result<String> {
        self.tmux(&["capture-pane", "-p"])
    }

    pub fn keys(&self, keys: &str) -> anyhow::Result<()> {
        self.tmux(&["send-keys", keys]).map(|_| ())
    }

    /// Returns the screen as soon as it shows this text, or the last screen after the deadline.
    pub fn showing(&self, text: &str) -> anyhow::Result<String> {
        let until = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen()?;
            if screen.contains(text) || Instant::now() >= until {
                return Ok(screen);
            }
            thread::sleep(LOOK);
        }
    }

    /// Returns the successive screens, without repetitions, until `enough` is set.
    pub fn seen_until(&self, enough: &AtomicBool) -> anyhow::Result<Vec<String>> {
        let mut seen: Vec<String> = Vec::new();
        while !enough.load(Ordering::Relaxed) {
            let screen = self.screen()?;
            if seen.last() != Some(&screen) {
                seen.push(screen);
            }
            thread::sleep(LOOK);
        }
        Ok(seen)
    }

    /// Reports whether the terminal is in the normal state: main screen, no mouse, a cursor.
    pub fn is_given_back(&self) -> anyhow::Result<bool> {
        let format = "#{alternate_on} #{mouse_any_flag} #{cursor_flag}";
        Ok(self.tmux(&["display-message", "-p", format])?.trim() == "0 0 1")
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]).discard("the server may have ended already");
    }
}

/// Returns the words of a stage's row: mark, level, id, state, merged commit, context and so on.
pub fn row<'a>(screen: &'a str, stage: &str) -> Option<Vec<&'a str>> {
    let rows = screen.lines().map(|line| line.split(['│', ' ']).filter(|word| !word.is_empty()).collect());
    rows.into_iter()
        .find(|words: &Vec<&str>| words.get(2) == Some(&stage) && words.get(1).is_some_and(is_level))
}

fn is_level(word: &&str) -> bool {
    word.parse::<u32>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_of_a_stage_is_found_between_frames() {
        let screen = "┌stages──┐\n│  lvl stage  state │\n│● 0   left   running  -  31% ││log of left│\n";
        assert_eq!(row(screen, "left").unwrap()[..6], ["●", "0", "left", "running", "-", "31%"]);
        assert_eq!(row(screen, "right"), None);
    }
}
