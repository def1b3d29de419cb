//! Output for people and programs. Data goes to stdout, everything else to stderr. No meaning depends on
//! colour, and a closed pipe is not an error.

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
    writeln!(io::stdout().lock(), "{}", shown(text.as_ref())).discard("a closed stdout has no reader");
}

pub(crate) fn note(text: impl AsRef<str>) {
    writeln!(io::stderr().lock(), "{}", shown(text.as_ref())).discard("a closed stderr has no reader");
}

/// Prints the command to run next, below a message.
pub(crate) fn next(command: impl AsRef<str>) {
    advice::check(command.as_ref());
    line(format!("  next: {}", command.as_ref()));
}

/// Prints the command to run next on stderr, because a program may read stdout.
pub(crate) fn note_next(command: impl AsRef<str>) {
    advice::check(command.as_ref());
    note(format!("  next: {}", command.as_ref()));
}

/// Prints a line, in bold if the terminal has colour.
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

/// Replaces control characters. Session ids, file names and configuration come from outside and must not move
/// the cursor.
fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

/// Prints one JSON object, with the version of its format.
pub(crate) fn json(mut value: Value) {
    value["v"] = json!(1);
    line(value.to_string());
}

/// Prints an object that is too large to build as a `Value` first. The object contains its version.
pub(crate) fn json_of(value: &impl serde::Serialize) {
    let mut text = serde_json::to_string(value).expect("the output is plain data with text keys");
    text.push('\n');
    text_raw(&text);
}

pub(crate) fn text_raw(text: &str) {
    io::stdout().lock().write_all(text.as_bytes()).discard("a closed stdout has no reader");
}

/// Prints a table. Columns are as wide as their cells; the last column gets the rest of the terminal.
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

/// Prints a table and drops the columns in `spare`, in this order, until the others fit the terminal.
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

/// Returns the width of the terminal; a pipe has no limit.
fn width() -> usize {
    if !io::stdout().is_terminal() {
        return usize::MAX;
    }
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col));
    size.filter(|&columns| columns >= 20).unwrap_or(80)
}

/// Reports whether the output may have colour.
fn has_colour() -> bool {
    io::stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Asks a yes-or-no question. Without a terminal, and without a word, the answer is no.
pub(crate) fn confirm(question: &str) -> bool {
    ask(&format!("{question} [y/N]")).is_some_and(|answer| matches!(answer.as_str(), "y" | "yes"))
}

/// Asks a question whose recommended answer is yes: Enter accepts it. Without a terminal the answer is no.
pub(crate) fn confirm_recommended(question: &str) -> bool {
    ask(&format!("{question} [Y/n]")).is_some_and(|answer| matches!(answer.as_str(), "" | "y" | "yes"))
}

/// Prints a question and returns the answer in lower case; `None` without a terminal.
pub(crate) fn ask(question: &str) -> Option<String> {
    if !io::stdin().is_terminal() {
        return None;
    }
    write!(io::stderr().lock(), "{question} ").discard("a question that was not printed gets no yes");
    let mut answer = String::new();
    let bytes = io::stdin().read_line(&mut answer).ok()?;
    (bytes > 0).then(|| answer.trim().to_ascii_lowercase())
}

/// Returns a progress bar on stderr; it is hidden if stderr is not a terminal.
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
