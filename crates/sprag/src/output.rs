//! What people and programs read. Data goes to stdout, everything else to stderr; nothing depends
//! on colour, and a reader that hangs up is no error.

use std::io::{self, IsTerminal as _, Write as _};

use serde_json::{Value, json};

use sprag_base::result::Discard as _;

use crate::advice;

/// The form in which a command prints its result: text for people, or JSON for programs.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct OutputFormat {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl OutputFormat {
    pub(crate) fn is_json(self) -> bool {
        self.json
    }
}

pub(crate) fn line(text: impl AsRef<str>) {
    writeln!(io::stdout().lock(), "{}", shown(text.as_ref())).discard("nobody reads a closed stdout");
}

pub(crate) fn note(text: impl AsRef<str>) {
    writeln!(io::stderr().lock(), "{}", shown(text.as_ref())).discard("nobody reads a closed stderr");
}

/// The command that helps, below what is told.
pub(crate) fn next(command: impl AsRef<str>) {
    advice::check(command.as_ref());
    line(format!("  next: {}", command.as_ref()));
}

/// The same beside data that a program may read.
pub(crate) fn note_next(command: impl AsRef<str>) {
    advice::check(command.as_ref());
    note(format!("  next: {}", command.as_ref()));
}

/// A line that stands out where there is colour.
pub(crate) fn heading(text: &str) {
    if has_colour() {
        writeln!(io::stdout().lock(), "\x1b[1m{}\x1b[0m", shown(text)).unwrap_or_default()
    } else {
        line(text)
    }
}

/// How a part of a line looks where there is colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Dim,
    Name,
    Good,
    Bad,
}

/// Prints a line whose parts have a tone; without colour the same text.
pub(crate) fn toned(parts: &[(Tone, &str)]) {
    let has_colour = has_colour();
    let text: String = parts
        .iter()
        .map(|(tone, text)| {
            let code = match tone {
                Tone::Plain => "0",
                Tone::Dim => "2",
                Tone::Name => "36",
                Tone::Good => "32",
                Tone::Bad => "31",
            };
            let text = shown(text);
            if has_colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text }
        })
        .collect();
    text_raw(&format!("{}\n", text.trim_end()));
}

/// Session ids, file names and configuration come from outside: nothing of them moves a cursor.
fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

/// One object with its version and named lists.
pub(crate) fn json(mut value: Value) {
    value["v"] = json!(1);
    line(value.to_string());
}

/// The same for an object that is too large to be built up first, and says its version itself.
pub(crate) fn json_of(value: &impl serde::Serialize) {
    let mut text = serde_json::to_string(value).expect("what is told is plain data with text keys");
    text.push('\n');
    text_raw(&text);
}

pub(crate) fn text_raw(text: &str) {
    io::stdout().lock().write_all(text.as_bytes()).discard("nobody reads a closed stdout");
}

/// Columns as wide as they need to be; the last one takes what the terminal has left.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) {
    let mut widths: Vec<usize> = head.iter().map(|cell| cell.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let room = width();
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    for row in std::iter::once(&head).chain(rows) {
        let mut text = String::new();
        for (at, cell) in row.iter().enumerate() {
            let is_last = at + 1 == row.len();
            let left = room.saturating_sub(text.chars().count()).max(20);
            if is_last {
                text.push_str(&cut(cell, left))
            } else {
                text.push_str(&format!("{cell:<width$}  ", width = widths[at]))
            }
        }
        line(text.trim_end());
    }
}

/// The same where columns may go, the first of `spare` first, until the others are seen whole.
pub(crate) fn table_sparing(head: &[&str], mut rows: Vec<Vec<String>>, spare: &[&str]) {
    let room = width();
    let mut head: Vec<&str> = head.to_vec();
    for name in spare {
        let wide = |at: usize| {
            let cells = rows.iter().map(|row| row[at].chars().count());
            cells.chain([head[at].chars().count()]).max().unwrap_or(0) + 2
        };
        if (0..head.len()).map(wide).sum::<usize>().saturating_sub(2) <= room {
            break;
        }
        if let Some(at) = head.iter().position(|it| it == name) {
            head.remove(at);
            for row in rows.iter_mut() {
                drop(row.remove(at));
            }
        }
    }
    table(&head, &rows);
}

pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// The terminal's width; a pipe gets everything.
fn width() -> usize {
    if !io::stdout().is_terminal() {
        return usize::MAX;
    }
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col));
    size.filter(|&columns| columns >= 20).unwrap_or(80)
}

/// Whether to colour at all.
fn has_colour() -> bool {
    io::stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Asks a person; no terminal is a no.
pub(crate) fn confirm(question: &str) -> bool {
    if !io::stdin().is_terminal() {
        return false;
    }
    write!(io::stderr().lock(), "{question} [y/N] ").discard("an unseen question gets no yes");
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

/// Progress of long work, on stderr and only where somebody watches.
pub(crate) fn progress(length: u64, what: &str) -> indicatif::ProgressBar {
    let bar = if io::stderr().is_terminal() {
        indicatif::ProgressBar::new(length)
    } else {
        indicatif::ProgressBar::hidden()
    };
    let style = indicatif::ProgressStyle::with_template("{msg} [{bar:30}] {pos}/{len}")
        .expect("the template is a constant");
    bar.with_style(style).with_message(what.to_owned())
}
