//! SVG text: a window with a fixed grid of cells, and the parts that all pictures share.
//!
//! Each run of letters has its own position and width. Columns stay aligned if a reader's font has
//! another width than the grid. Lines and blocks are drawn as shapes, because the letters for them leave gaps.

use std::fmt::Write as _;

use super::ansi::{Cell, Colour, Order, Screen, Slant, Style, Weight, letters};

pub const FONT: &str =
    "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace";

/// Width and height of a cell.
const CELL: (f64, f64) = (8.4, 19.0);
const FONT_SIZE: f64 = 14.0;
/// Distance from the top of a cell to the line that letters stand on.
const BASE: f64 = 14.0;
/// Distance from the window's edge to its cells.
const EDGE: f64 = 16.0;
/// Height of the bar with the title.
pub const BAR: f64 = 38.0;

pub const GROUND: &str = "#0d1117";
pub const TEXT: &str = "#e6edf3";
pub const QUIET: &str = "#8b949e";
pub const LINE: &str = "#30363d";

/// The first 16 of the numbered colours, readable on `GROUND`.
pub const COLOURS: [&str; 16] = [
    "#6e7681", "#ff7b72", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#b1bac4", //
    "#8b949e", "#ffa198", "#7ee787", "#f2cc60", "#a5d6ff", "#e2c5ff", "#b3f0ff", "#ffffff",
];

/// The words of a picture: on its title bar, and for readers who do not see it.
pub struct Caption<'a> {
    pub title: &'a str,
    pub description: &'a str,
}

/// Draws a terminal that shows this screen.
pub fn terminal(screen: &Screen, caption: &Caption<'_>) -> String {
    let columns = screen.rows.iter().map(Vec::len).max().unwrap_or(0);
    let (width, height) = (at_column(columns) + EDGE, at_row(screen.rows.len()) + EDGE);
    let mut picture = window(width, height, caption);
    for (row, cells) in screen.rows.iter().enumerate() {
        grounds(&mut picture, row, cells);
        let mut column = 0;
        for run in cells.chunk_by(belong_together) {
            draw_run(&mut picture, row, column, run);
            column += run.len();
        }
    }
    picture.push_str("</svg>\n");
    picture
}

/// Starts a picture: a window with rounded corners, a bar and a title. The caller closes it.
pub fn window(width: f64, height: f64, caption: &Caption<'_>) -> String {
    let (w, h) = (number(width), number(height));
    let (title, description) = (escaped(caption.title), escaped(caption.description));
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" aria-labelledby=\"title description\" font-family=\"{FONT}\" font-size=\"{FONT_SIZE}\">\n\
         <title id=\"title\">{title}</title>\n\
         <desc id=\"description\">{description}</desc>\n\
         <rect x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"10\" fill=\"{GROUND}\" stroke=\"{LINE}\"/>\n",
        number(width - 1.0),
        number(height - 1.0),
    );
    for (at, colour) in ["#ff5f57", "#febc2e", "#28c840"].iter().enumerate() {
        let x = number(20.0 + 20.0 * at as f64);
        line(&mut picture, format_args!("<circle cx=\"{x}\" cy=\"19\" r=\"6\" fill=\"{colour}\"/>"));
    }
    let middle = number(width / 2.0);
    line(
        &mut picture,
        format_args!(
            "<text x=\"{middle}\" y=\"24\" fill=\"{QUIET}\" font-size=\"13\" text-anchor=\"middle\">{title}</text>"
        ),
    );
    picture
}

/// Adds a line to a picture.
pub fn line(picture: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(picture, "{text}").expect("a `String` takes every text");
}

/// Writes a text so that XML reads it as text. Characters that XML forbids become `U+FFFD`.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\t' | '\n' => safe.push(letter),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            letter => safe.push(letter),
        }
    }
    safe
}

/// Writes a number with at most two decimals.
pub fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn at_column(column: usize) -> f64 {
    EDGE + CELL.0 * column as f64
}

fn at_row(row: usize) -> f64 {
    BAR + 6.0 + CELL.1 * row as f64
}

/// Reports whether two neighbours are drawn as one run.
fn belong_together(a: &Cell, b: &Cell) -> bool {
    let is_text = |cell: &Cell| cell.letter.is_ascii() && cell.letter != ' ';
    a.style == b.style && ((is_text(a) && is_text(b)) || (is_shape(a.letter) && a.letter == b.letter))
}

fn is_shape(letter: char) -> bool {
    matches!(letter, '─' | '█')
}

/// Draws the colours behind the letters of a row.
fn grounds(picture: &mut String, row: usize, cells: &[Cell]) {
    let mut column = 0;
    for run in cells.chunk_by(|a, b| ground(a.style) == ground(b.style)) {
        if let Some(colour) = ground(run[0].style) {
            rectangle(
                picture,
                (at_column(column), at_row(row)),
                (CELL.0 * run.len() as f64, CELL.1),
                &colour,
            );
        }
        column += run.len();
    }
}

fn rectangle(picture: &mut String, (x, y): (f64, f64), (width, height): (f64, f64), colour: &str) {
    let [x, y, width, height] = [x, y, width, height].map(number);
    line(
        picture,
        format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{colour}\" shape-rendering=\"crispEdges\"/>"
        ),
    );
}

fn draw_run(picture: &mut String, row: usize, column: usize, run: &[Cell]) {
    let Cell { letter, style } = run[0];
    let colour = colour_of_text(style);
    let (x, y) = (at_column(column), at_row(row));
    let width = CELL.0 * run.len() as f64;
    if letter == ' ' {
        return;
    }
    if let Some((from, to)) = block(letter) {
        rectangle(picture, (x + CELL.0 * from, y), (width - CELL.0 * (1.0 - to + from), CELL.1), &colour);
        return;
    }
    if let Some(path) = frame_part(letter, (x, y), width) {
        line(
            picture,
            format_args!(
                "<path d=\"{path}\" stroke=\"{colour}\" fill=\"none\" shape-rendering=\"crispEdges\"/>"
            ),
        );
        return;
    }
    let mut look = String::new();
    if style.weight == Weight::Bold {
        look.push_str(" font-weight=\"bold\"");
    }
    if style.slant == Slant::Italic {
        look.push_str(" font-style=\"italic\"");
    }
    let base = number(y + BASE);
    let text = escaped(&letters(run));
    // A sign may come from another font: in the middle of its cell it needs no width.
    let place = if letter.is_ascii() {
        let (x, width) = (number(x), number(width));
        format!("x=\"{x}\" y=\"{base}\" textLength=\"{width}\" lengthAdjust=\"spacingAndGlyphs\"")
    } else {
        format!("x=\"{}\" y=\"{base}\" text-anchor=\"middle\"", number(x + CELL.0 / 2.0))
    };
    line(picture, format_args!("<text {place} fill=\"{colour}\"{look}>{text}</text>"));
}

/// Returns the parts of a cell's width between which a block fills it.
fn block(letter: char) -> Option<(f64, f64)> {
    let eighths = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
    let at = eighths.iter().position(|it| *it == letter)?;
    Some((0.0, (at + 1) as f64 / 8.0))
}

/// Returns the path of a letter that draws frames.
fn frame_part(letter: char, (x, y): (f64, f64), width: f64) -> Option<String> {
    // Left, right, up and down from the middle.
    let [left, right, up, down] = match letter {
        '─' | '╌' => [true, true, false, false],
        '│' => [false, false, true, true],
        '┌' | '╭' => [false, true, false, true],
        '┐' | '╮' => [true, false, false, true],
        '└' | '╰' => [false, true, true, false],
        '┘' | '╯' => [true, false, true, false],
        '├' => [false, true, true, true],
        '┤' => [true, false, true, true],
        '┬' => [true, true, false, true],
        '┴' => [true, true, true, false],
        '┼' => [true, true, true, true],
        _ => return None,
    };
    let (middle, centre) = (x + CELL.0 / 2.0, y + CELL.1 / 2.0);
    let mut path = String::new();
    if left || right {
        let (from, to) = (if left { x } else { middle }, if right { x + width } else { middle });
        path.push_str(&format!("M{} {}H{}", number(from), number(centre), number(to)));
    }
    if up || down {
        let (from, to) = (if up { y } else { centre }, if down { y + CELL.1 } else { centre });
        path.push_str(&format!("M{} {}V{}", number(middle), number(from), number(to)));
    }
    Some(path)
}

fn colour_of_text(style: Style) -> String {
    let colour = match style.order {
        Order::Usual => style.text,
        Order::Reversed => {
            return colour_name(style.ground).unwrap_or_else(|| GROUND.to_owned());
        }
    };
    match (style.weight, colour_name(colour)) {
        // The colours are bright: light text on one of them is hard to read.
        (_, None) if style.ground != Colour::Usual => GROUND.to_owned(),
        (Weight::Dim, None) => QUIET.to_owned(),
        (_, name) => name.unwrap_or_else(|| TEXT.to_owned()),
    }
}

/// Returns the colour behind the letters; `None` is the window's.
fn ground(style: Style) -> Option<String> {
    match style.order {
        Order::Usual => colour_name(style.ground),
        Order::Reversed => Some(colour_name(style.text).unwrap_or_else(|| TEXT.to_owned())),
    }
}

fn colour_name(colour: Colour) -> Option<String> {
    match colour {
        Colour::Usual => None,
        Colour::Mixed(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
        Colour::Numbered(number @ 0..16) => Some(COLOURS[usize::from(number)].to_owned()),
        Colour::Numbered(number @ 16..232) => {
            let step = |part: u8| if part == 0 { 0 } else { 55 + 40 * part };
            let number = number - 16;
            Some(format!("#{:02x}{:02x}{:02x}", step(number / 36), step(number / 6 % 6), step(number % 6)))
        }
        Colour::Numbered(number) => {
            let grey = 8 + 10 * (number - 232);
            Some(format!("#{grey:02x}{grey:02x}{grey:02x}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPTION: Caption<'_> = Caption { title: "a < b", description: "\"c\" & d" };

    #[test]
    fn text_cannot_leave_its_element() {
        assert_eq!(escaped("a<b>&\"c'"), "a&lt;b&gt;&amp;&quot;c&#39;");
        assert_eq!(escaped("\u{1b}[2J\u{0}é\n"), "\u{fffd}[2J\u{fffd}é\n");
        let picture = terminal(&Screen::read("</text><script>"), &CAPTION);
        assert!(!picture.contains("<script") && picture.contains("&lt;/text&gt;&lt;script&gt;"), "{picture}");
        assert!(picture.contains("<title id=\"title\">a &lt; b</title>"), "{picture}");
        assert!(picture.contains("&quot;c&quot; &amp; d</desc>"), "{picture}");
    }

    #[test]
    fn each_run_has_a_place_on_the_grid() {
        let picture = terminal(&Screen::read("ab  \u{1b}[31mcde\u{1b}[0m ✓"), &CAPTION);
        for text in [
            "<text x=\"16\" y=\"58\" textLength=\"16.8\" lengthAdjust=\"spacingAndGlyphs\" fill=\"#e6edf3\">ab</text>",
            "<text x=\"49.6\" y=\"58\" textLength=\"25.2\" lengthAdjust=\"spacingAndGlyphs\" fill=\"#ff7b72\">cde</text>",
            "<text x=\"87.4\" y=\"58\" text-anchor=\"middle\" fill=\"#e6edf3\">✓</text>",
        ] {
            assert!(picture.contains(text), "{text}\n{picture}");
        }
    }

    #[test]
    fn frames_and_blocks_are_shapes() {
        let picture = terminal(&Screen::read("┌──┐\n█▌"), &CAPTION);
        for shape in ["d=\"M20.2 53.5H24.4M20.2 53.5V63\"", "d=\"M24.4 53.5H41.2\"", "width=\"4.2\""] {
            assert!(picture.contains(shape), "{shape}\n{picture}");
        }
        assert!(!picture.contains('█') && !picture.contains('─'), "{picture}");
    }

    #[test]
    fn reversed_text_swaps_its_colours() {
        let picture = terminal(&Screen::read("\u{1b}[32;7mok"), &CAPTION);
        assert!(picture.contains("height=\"19\" fill=\"#56d364\""), "{picture}");
        assert!(picture.contains("fill=\"#0d1117\">ok</text>"), "{picture}");
    }

    #[test]
    fn numbered_colours_are_mixed_from_six_steps() {
        let names = [1, 16, 208, 255].map(|number| colour_name(Colour::Numbered(number)).unwrap());
        assert_eq!(names, ["#ff7b72", "#000000", "#ff8700", "#eeeeee"]);
    }
}
