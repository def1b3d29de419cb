//! Long lines, folded between words. A scene that shows paths is captured in a wide terminal, because the
//! length of a temporary path must not decide where a line ends.

use super::ansi::{Cell, Screen};

/// A text that starts before this column is the last one that a folded line is indented to.
const LABELS: usize = 20;

/// Folds the lines of a screen to this many columns.
pub fn folded(screen: &Screen, columns: usize) -> Screen {
    Screen { rows: screen.rows.iter().flat_map(|row| fold(row, columns)).collect() }
}

fn fold(row: &[Cell], columns: usize) -> Vec<Vec<Cell>> {
    let indent = indent(row);
    let mut rows = Vec::new();
    let mut line: Vec<Cell> = Vec::new();
    let mut rest = row;
    while line.len() + rest.len() > columns {
        let room = columns - line.len();
        let Some(end) = rest[..=room].iter().rposition(|cell| cell.letter == ' ').filter(|end| *end > 0)
        else {
            break;
        };
        line.extend_from_slice(&rest[..end]);
        rows.push(std::mem::replace(&mut line, vec![Cell::BLANK; indent]));
        rest = &rest[end + 1..];
    }
    line.extend_from_slice(rest);
    rows.push(line);
    rows
}

/// Returns the column of the text behind the labels of a row: two blank cells are before it.
fn indent(row: &[Cell]) -> usize {
    let is_blank = |at: usize| row.get(at).is_none_or(|cell| cell.letter == ' ');
    let mut starts = (2..LABELS).filter(|at| !is_blank(*at) && is_blank(at - 1) && is_blank(at - 2));
    starts.next_back().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_end_between_words_and_keep_their_indent() {
        let screen = folded(&Screen::read("sprag  held  one two three\nshort\naaaaaaaaaaaaaaaaaaaaaaaa"), 20);
        let rows: Vec<String> = (0..screen.rows.len()).map(|row| screen.text(row)).collect();
        assert_eq!(rows, ["sprag  held  one two", "             three", "short", "aaaaaaaaaaaaaaaaaaaaaaaa"]);
    }
}
