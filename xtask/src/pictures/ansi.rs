//! A captured screen as a grid of cells: reads the text and the colours that `tmux capture-pane -e` prints.
//! One character is one cell; the scenes print no wide characters.

use std::iter::Peekable;
use std::str::Chars;

/// The rows of a terminal, from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Screen {
    pub rows: Vec<Vec<Cell>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    pub letter: char,
    pub style: Style,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    pub text: Colour,
    pub ground: Colour,
    pub weight: Weight,
    pub slant: Slant,
    pub order: Order,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    #[default]
    Usual,
    /// One of the 256 numbered colours.
    Numbered(u8),
    Mixed(u8, u8, u8),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weight {
    #[default]
    Usual,
    Bold,
    Dim,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Slant {
    #[default]
    Upright,
    Italic,
}

/// The order of the two colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Usual,
    Reversed,
}

impl Cell {
    pub const BLANK: Cell = Cell {
        letter: ' ',
        style: Style {
            text: Colour::Usual,
            ground: Colour::Usual,
            weight: Weight::Usual,
            slant: Slant::Upright,
            order: Order::Usual,
        },
    };
}

impl Screen {
    /// Reads a captured screen. A style lasts until the next one, also over the end of a line.
    pub fn read(captured: &str) -> Screen {
        let mut style = Style::default();
        let mut rows = Vec::new();
        for line in captured.lines() {
            let mut row = Vec::new();
            let mut letters = line.chars().peekable();
            while let Some(letter) = letters.next() {
                match letter {
                    '\u{1b}' => {
                        if let Some(numbers) = escape(&mut letters) {
                            style.change(&numbers);
                        }
                    }
                    letter if letter.is_control() => {}
                    letter => row.push(Cell { letter, style }),
                }
            }
            rows.push(row);
        }
        Screen { rows }
    }

    /// Returns the letters of a row.
    pub fn text(&self, row: usize) -> String {
        self.rows.get(row).map(|cells| letters(cells)).unwrap_or_default()
    }

    /// Removes the empty rows at the end.
    pub fn without_empty_end(mut self) -> Screen {
        while self.rows.last().is_some_and(|row| row.iter().all(|cell| *cell == Cell::BLANK)) {
            self.rows.pop();
        }
        self
    }
}

pub fn letters(cells: &[Cell]) -> String {
    cells.iter().map(|cell| cell.letter).collect()
}

/// Reads the rest of an escape sequence. Returns the numbers of a style; other sequences change no cell.
fn escape(letters: &mut Peekable<Chars<'_>>) -> Option<Vec<u16>> {
    match letters.next()? {
        '[' => {
            let mut body = String::new();
            let end = loop {
                match letters.next()? {
                    letter @ '\u{40}'..='\u{7e}' => break letter,
                    letter => body.push(letter),
                }
            };
            // `ESC [ m` is short for `ESC [ 0 m`.
            (end == 'm').then(|| body.split([';', ':']).map(|number| number.parse().unwrap_or(0)).collect())
        }
        // A title or a link: its text ends with BEL or `ESC \`.
        ']' => {
            while let Some(letter) = letters.next() {
                if letter == '\u{7}' || (letter == '\u{1b}' && letters.next_if_eq(&'\\').is_some()) {
                    break;
                }
            }
            None
        }
        // A character set has one letter more.
        '(' | ')' => {
            letters.next();
            None
        }
        _ => None,
    }
}

impl Style {
    fn change(&mut self, numbers: &[u16]) {
        let mut numbers = numbers.iter().copied();
        while let Some(number) = numbers.next() {
            match number {
                0 => *self = Style::default(),
                1 => self.weight = Weight::Bold,
                2 => self.weight = Weight::Dim,
                22 => self.weight = Weight::Usual,
                3 => self.slant = Slant::Italic,
                23 => self.slant = Slant::Upright,
                7 => self.order = Order::Reversed,
                27 => self.order = Order::Usual,
                30..=37 => self.text = numbered(number - 30),
                90..=97 => self.text = numbered(number - 90 + 8),
                38 => self.text = further(&mut numbers),
                39 => self.text = Colour::Usual,
                40..=47 => self.ground = numbered(number - 40),
                100..=107 => self.ground = numbered(number - 100 + 8),
                48 => self.ground = further(&mut numbers),
                49 => self.ground = Colour::Usual,
                _ => {}
            }
        }
    }
}

fn numbered(number: u16) -> Colour {
    u8::try_from(number).map_or(Colour::Usual, Colour::Numbered)
}

/// Reads the rest of `38;5;N` or `38;2;R;G;B`.
fn further(numbers: &mut impl Iterator<Item = u16>) -> Colour {
    let mut part = || numbers.next().and_then(|number| u8::try_from(number).ok()).unwrap_or(0);
    match part() {
        5 => Colour::Numbered(part()),
        2 => Colour::Mixed(part(), part(), part()),
        _ => Colour::Usual,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the runs of cells with one style.
    fn runs(captured: &str) -> Vec<(String, Style)> {
        let screen = Screen::read(captured);
        let row = screen.rows.first().cloned().unwrap_or_default();
        row.chunk_by(|a, b| a.style == b.style).map(|run| (letters(run), run[0].style)).collect()
    }

    #[test]
    fn colours_and_weights_last_until_they_change() {
        let usual = Style::default();
        let bold = Style { weight: Weight::Bold, ..usual };
        let red = Style { text: Colour::Numbered(1), ..bold };
        assert_eq!(
            runs("a\u{1b}[1mb\u{1b}[31mc\u{1b}[0md"),
            [("a".into(), usual), ("b".into(), bold), ("c".into(), red), ("d".into(), usual)]
        );
        let both = Style {
            text: Colour::Numbered(12),
            ground: Colour::Numbered(2),
            order: Order::Reversed,
            ..usual
        };
        assert_eq!(
            runs("\u{1b}[94;42;7mx\u{1b}[27;39;49my\u{1b}[mz"),
            [("x".into(), both), ("yz".into(), usual)]
        );
    }

    #[test]
    fn long_forms_of_colours_are_read() {
        let usual = Style::default();
        let text = |text| Style { text, ..usual };
        assert_eq!(runs("\u{1b}[38;5;208mx"), [("x".into(), text(Colour::Numbered(208)))]);
        assert_eq!(runs("\u{1b}[38;2;1;2;3mx"), [("x".into(), text(Colour::Mixed(1, 2, 3)))]);
        assert_eq!(
            runs("\u{1b}[48;5;7;3mx"),
            [("x".into(), Style { ground: Colour::Numbered(7), slant: Slant::Italic, ..usual })]
        );
    }

    #[test]
    fn other_sequences_leave_no_letters() {
        let captured = "a\u{1b}]8;;https://x.y\u{1b}\\b\u{1b}]8;;\u{7}c\u{1b}(Bd\u{1b}[2Ke\u{f}f";
        assert_eq!(runs(captured), [("abcdef".into(), Style::default())]);
        assert_eq!(runs("a\u{1b}[3"), [("a".into(), Style::default())]);
    }

    #[test]
    fn a_style_lasts_over_the_end_of_a_line() {
        let screen = Screen::read("\u{1b}[32ma\nb\n\n");
        assert_eq!(screen.rows[1][0].style.text, Colour::Numbered(2));
        assert_eq!((screen.text(1), screen.text(9)), ("b".to_owned(), String::new()));
        assert_eq!(screen.without_empty_end().rows.len(), 2);
    }
}
