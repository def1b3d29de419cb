//! Fixed values in place of times, ids and paths, so that two runs give the same picture.

use std::ops::Range;

use anyhow::Context as _;
use regex_lite::Regex;

use super::ansi::{Cell, Screen, letters};

/// A value that differs from run to run, and the text in its place.
pub struct Rule {
    /// Its first group is the value.
    pattern: Regex,
    text: Text,
}

enum Text {
    /// The same text everywhere.
    Same(String),
    /// One text for each different value.
    EachValue(fn(usize) -> String),
    /// One text for each place: two events may or may not happen in the same second.
    EachPlace(fn(usize) -> String),
}

impl Rule {
    /// Makes a rule with one text for all places.
    pub fn same(pattern: &str, text: &str) -> anyhow::Result<Rule> {
        Rule::new(pattern, Text::Same(text.to_owned()))
    }

    /// Makes a rule for a path.
    pub fn path(path: &std::path::Path, text: &str) -> anyhow::Result<Rule> {
        Rule::same(&format!("({})", regex_lite::escape(&path.display().to_string())), text)
    }

    fn new(pattern: &str, text: Text) -> anyhow::Result<Rule> {
        let pattern = Regex::new(pattern).with_context(|| format!("bad pattern `{pattern}`"))?;
        Ok(Rule { pattern, text })
    }
}

/// Returns the rules for values that every scene may show.
pub fn usual() -> anyhow::Result<Vec<Rule>> {
    let run = "0190a3c2-7d1e-7b6f-8c04-5e2f9a61d3b7";
    Ok(vec![
        Rule::same(r"\b([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b", run)?,
        Rule::new(r"\b(\d\d:\d\d:\d\d)\b", Text::EachPlace(time))?,
        Rule::new(r"\b([0-9a-f]{40})\b", Text::EachValue(|at| commit(at).repeat(5)))?,
        Rule::new(r"(?:^|[\s│`])([0-9a-f]{8})(?:[\s│`]|$)", Text::EachValue(|at| commit(at).to_owned()))?,
        Rule::same(r"sprag approve ([0-9a-f]{6})\b", "4f2a1c")?,
    ])
}

/// Writes fixed values into a screen. Columns and frames behind a value keep their places if there are
/// blank cells to take or to add.
pub fn fix(screen: &mut Screen, rules: &[Rule]) {
    for rule in rules {
        let mut values: Vec<String> = Vec::new();
        for row in &mut screen.rows {
            let mut from = 0;
            while let Some(span) = find(rule, row, from) {
                let value = letters(&row[span.clone()]);
                let text = match &rule.text {
                    Text::Same(text) => text.clone(),
                    Text::EachPlace(text) => {
                        values.push(value);
                        text(values.len() - 1)
                    }
                    Text::EachValue(text) => {
                        let known = values.iter().position(|it| *it == value);
                        text(known.unwrap_or_else(|| {
                            values.push(value);
                            values.len() - 1
                        }))
                    }
                };
                from = span.start + text.chars().count();
                put(row, span, &text);
            }
        }
    }
}

/// Returns the cells of the next value, at or after a column.
fn find(rule: &Rule, row: &[Cell], from: usize) -> Option<Range<usize>> {
    let text = letters(row);
    let columns = |bytes: usize| text[..bytes].chars().count();
    let mut groups = rule.pattern.captures_iter(&text).filter_map(|captures| captures.get(1));
    let group = groups.find(|group| columns(group.start()) >= from)?;
    Some(columns(group.start())..columns(group.end()))
}

fn put(row: &mut Vec<Cell>, span: Range<usize>, text: &str) {
    let style = row.get(span.start).map_or(Cell::BLANK.style, |cell| cell.style);
    let before = span.len();
    let (start, after) = (span.start, text.chars().count());
    row.splice(span, text.chars().map(|letter| Cell { letter, style }));
    let end = start + after;
    // Blank cells take up the difference; one of them stays as a gap.
    let wanted = after.saturating_sub(before) + 1;
    let Some(gap) = blanks(&row[end..], wanted.max(2)) else { return };
    let gap = gap.start + end;
    if after > before {
        row.drain(gap..gap + after - before);
    } else {
        let blank = row[gap];
        row.splice(gap..gap, vec![blank; before - after]);
    }
}

/// Returns the first run of at least this many blank cells.
fn blanks(cells: &[Cell], count: usize) -> Option<Range<usize>> {
    let mut at = 0;
    for run in cells.chunk_by(|a, b| (a.letter == ' ') == (b.letter == ' ')) {
        if run[0].letter == ' ' && run.len() >= count {
            return Some(at..at + run.len());
        }
        at += run.len();
    }
    None
}

fn time(at: usize) -> String {
    let seconds = at * 4;
    format!("10:{:02}:{:02}", seconds / 60 % 60, seconds % 60)
}

fn commit(at: usize) -> &'static str {
    let commits = ["7d0c41e9", "b83f52a6", "4e91c07d", "c25a8f13", "91e6d4b0", "3fa07c58"];
    commits[at % commits.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(captured: &str, rules: &[Rule]) -> Vec<String> {
        let mut screen = Screen::read(captured);
        fix(&mut screen, rules);
        (0..screen.rows.len()).map(|row| screen.text(row)).collect()
    }

    #[test]
    fn ids_and_times_have_fixed_values() {
        let rules = usual().unwrap();
        let captured =
            "04:55:14 a 01a1ed02-cd9b-79ca-9eb7-612ee01bba29/a\n04:55:14 │2b2642d6│ 1639fddd\n2b2642d6";
        assert_eq!(
            fixed(captured, &rules),
            ["10:00:00 a 0190a3c2-7d1e-7b6f-8c04-5e2f9a61d3b7/a", "10:00:04 │7d0c41e9│ b83f52a6", "7d0c41e9",]
        );
    }

    #[test]
    fn columns_and_frames_keep_their_places() {
        let rules = [Rule::same(r"a +(\d+s)", "4m12s").unwrap()];
        assert_eq!(fixed("│a  3s      $1 │", &rules), ["│a  4m12s   $1 │"]);
        assert_eq!(fixed("│a  3s  $1       │", &rules), ["│a  4m12s  $1    │"]);
        let rules = [Rule::same(r"a +(\S+)", "3s").unwrap()];
        assert_eq!(fixed("│a  4m12s  $1  │", &rules), ["│a  3s     $1  │"]);
    }

    #[test]
    fn a_path_is_text_and_not_a_pattern() {
        let rules = [Rule::path(std::path::Path::new("/t/a.b"), "~/p").unwrap()];
        assert_eq!(fixed("/t/a.b/c /t/aXb", &rules), ["~/p/c /t/aXb"]);
    }
}
