//! The screen of a run: progress, stages by level, items that need a person, and recent events. A small
//! terminal loses frames first, then panes, then columns. The stages and the most urgent item always stay.

#[cfg(test)]
mod tests;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line as Words, Span};
use ratatui::widgets::{Block, Borders, Cell, Gauge, Paragraph, Row, Table, Wrap};

use sprag_base::text::one_line;
use sprag_plan::view::numbers::{cost, elapsed, percent};
use sprag_plan::view::{AttentionItem, RunView, StateTone, ViewLine};

use crate::cursor::Cursor;
use crate::paint::Paint;
pub use crate::paint::Paint as Colours;

/// Below this height, header and footer have no frames.
const FRAMED: u16 = 20;
/// Below this height, only the stages and one urgent item are shown between header and footer.
const PANES: u16 = 16;
/// Lines kept for stages before the urgent item gets one.
const STAGES: u16 = 4;
/// From this width on, panes are beside the stages.
const BESIDE: u16 = 110;

/// Positions on the drawn screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drawn {
    /// The line of the first stage.
    pub first: u16,
}

pub fn draw(
    frame: &mut Frame<'_>,
    view: &RunView<'_>,
    told: &[String],
    cursor: &mut Cursor,
    paint: Paint,
) -> Drawn {
    let area = frame.area();
    let bar = if area.height >= FRAMED { 3 } else { 1 };
    let [head, progress, body, foot] = Layout::vertical([
        Constraint::Length(bar),
        Constraint::Length(bar),
        Constraint::Min(1),
        Constraint::Length(bar),
    ])
    .areas(area);
    header(frame, head, view, paint);
    gauge(frame, progress, view, paint);
    let drawn = match (area.height >= PANES, area.width >= BESIDE) {
        (false, _) => {
            let line = u16::from(!view.attention.is_empty() && body.height > STAGES);
            let [above, below] = Layout::vertical([Constraint::Min(1), Constraint::Length(line)]).areas(body);
            let drawn = stages(frame, above, Block::new(), view, cursor, paint);
            frame.render_widget(Paragraph::new(urgent(view, paint)), below);
            drawn
        }
        (true, true) => {
            let [left, right] =
                Layout::horizontal([Constraint::Percentage(62), Constraint::Percentage(38)]).areas(body);
            let drawn = stages(frame, left, framed(left, "stages"), view, cursor, paint);
            panes(frame, right, view, told, cursor, paint);
            drawn
        }
        (true, false) => {
            let [above, below] =
                Layout::vertical([Constraint::Percentage(45), Constraint::Percentage(55)]).areas(body);
            let drawn = stages(frame, above, framed(above, "stages"), view, cursor, paint);
            panes(frame, below, view, told, cursor, paint);
            drawn
        }
    };
    let keys =
        ["q quit  ↑↓ PgUp PgDn Home End move  Enter attach", "q quit  ↑↓ move  Enter attach", "q quit"];
    let keys = fitting(keys.map(str::to_owned), framed(foot, "").inner(foot));
    frame.render_widget(Paragraph::new(keys).block(framed(foot, "keys")), foot);
    drawn
}

/// Returns the first text that fits; the last one is the shortest.
fn fitting<const N: usize>(texts: [String; N], area: Rect) -> String {
    let mut texts: Vec<String> = texts.into();
    let at = texts.iter().position(|text| text.chars().count() <= usize::from(area.width));
    texts.swap_remove(at.unwrap_or(N - 1))
}

/// Returns a block with a frame if there is room for it.
fn framed(area: Rect, title: &str) -> Block<'_> {
    if area.height >= 3 { Block::new().borders(Borders::ALL).title(title) } else { Block::new() }
}

fn header(frame: &mut Frame<'_>, area: Rect, view: &RunView<'_>, paint: Paint) {
    let board = view.board;
    let end = if board.is_over() { board.moved } else { view.now };
    let taken = u64::try_from(end.seconds_since(board.began)).unwrap_or(0);
    let how = if board.is_over() { "finished" } else { "running" };
    let name = Span::styled(format!("plan {}", one_line(board.plan.as_str())), paint.head());
    let rest = format!("  {how}  {}  {}  {} slots", elapsed(Some(taken)), cost(view.used), board.slots);
    let words = Words::from(vec![name, Span::raw(rest)]);
    frame.render_widget(Paragraph::new(words).block(framed(area, "sprag")), area);
}

fn gauge(frame: &mut Frame<'_>, area: Rect, view: &RunView<'_>, paint: Paint) {
    let progress = view.progress;
    let done = format!("{}%  {} of {} done", progress.percent(), progress.done, progress.total);
    let block = framed(area, "progress");
    let whole = format!("{done}, {} active, {} for a person", progress.active, progress.stuck);
    let less = format!("{done}, {} for a person", progress.stuck);
    let label = fitting([whole, less, done], block.inner(area));
    let gauge = Gauge::default()
        .block(block)
        .gauge_style(paint.tone(StateTone::Done))
        .percent(u16::from(progress.percent()))
        .label(label);
    frame.render_widget(gauge, area);
}

fn stages(
    frame: &mut Frame<'_>,
    area: Rect,
    block: Block<'_>,
    view: &RunView<'_>,
    cursor: &mut Cursor,
    paint: Paint,
) -> Drawn {
    let inner = block.inner(area);
    let head = u16::from(inner.height >= 2);
    let room = usize::from(inner.height.saturating_sub(head));
    let window = cursor.window(room, view.lines.len());
    let columns: Vec<&Column> = COLUMNS.iter().filter(|column| inner.width >= column.from).collect();
    let chosen = cursor.chosen();
    // Only visible rows are built; there may be ten thousand.
    let rows = view.lines[window.clone()].iter().zip(window).map(|(line, at)| {
        let tone = paint.tone(line.row.state.tone());
        let cells = columns.iter().map(|column| {
            let style = match column.title {
                "context" => paint.context(line.context),
                _ => tone,
            };
            Cell::from(one_line(&(column.text)(line))).style(style)
        });
        let row = Row::new(cells.collect::<Vec<_>>());
        // The row style also fills the gaps between cells, so that the bar has one colour.
        if at == chosen { row.style(tone.patch(paint.chosen())) } else { row }
    });
    let widths = columns.iter().map(|column| column.width);
    let mut table = Table::new(rows.collect::<Vec<_>>(), widths.collect::<Vec<_>>()).block(block);
    if head > 0 {
        table = table.header(Row::new(columns.iter().map(|column| column.title)).style(paint.head()));
    }
    frame.render_widget(table, area);
    Drawn { first: inner.y.saturating_add(head) }
}

struct Column {
    title: &'static str,
    width: Constraint,
    /// The minimum width of the table for this column.
    from: u16,
    text: fn(&ViewLine<'_>) -> String,
}

const COLUMNS: [Column; 9] = [
    Column {
        title: "",
        width: Constraint::Length(1),
        from: 0,
        text: |line| line.row.state.icon().to_string(),
    },
    Column { title: "lvl", width: Constraint::Length(3), from: 36, text: |line| line.row.level.to_string() },
    Column {
        title: "stage",
        width: Constraint::Fill(2),
        from: 0,
        text: |line| line.row.id.as_str().to_owned(),
    },
    Column {
        title: "state",
        width: Constraint::Length(11),
        from: 0,
        text: |line| line.row.state.name().to_owned(),
    },
    Column { title: "merged", width: Constraint::Length(8), from: 64, text: merged },
    Column { title: "context", width: Constraint::Length(7), from: 50, text: |line| percent(line.context) },
    Column { title: "cost", width: Constraint::Length(10), from: 72, text: |line| cost(line.used) },
    Column { title: "elapsed", width: Constraint::Length(7), from: 38, text: |line| elapsed(line.elapsed) },
    Column {
        title: "tool",
        width: Constraint::Fill(1),
        from: 90,
        text: |line| line.last_tool.unwrap_or_default().to_owned(),
    },
];

fn merged(line: &ViewLine<'_>) -> String {
    line.row.merged.as_ref().map_or("-".to_owned(), |commit| commit.0.as_str().chars().take(8).collect())
}

fn panes(
    frame: &mut Frame<'_>,
    area: Rect,
    view: &RunView<'_>,
    told: &[String],
    cursor: &Cursor,
    paint: Paint,
) {
    let alerts = u16::try_from(view.attention.len()).unwrap_or(u16::MAX).clamp(1, 6).saturating_add(2);
    let [activity, attention, log] =
        Layout::vertical([Constraint::Length(4), Constraint::Length(alerts), Constraint::Min(0)]).areas(area);
    let chosen = view.lines.get(cursor.chosen());
    let lines = chosen.map(|line| about(view, line)).unwrap_or_default();
    let title = chosen.map_or(String::new(), |line| one_line(line.row.id.as_str()));
    frame.render_widget(
        Paragraph::new(lines).wrap(Wrap { trim: true }).block(framed(activity, &title)),
        activity,
    );
    let room = usize::from(alerts);
    let alerts: Vec<Words<'_>> = view.attention.iter().take(room).map(|it| alert(it, paint)).collect();
    let title = format!("attention ({})", view.attention.len());
    frame.render_widget(Paragraph::new(alerts).block(framed(attention, &title)), attention);
    let room = usize::from(framed(log, "").inner(log).height);
    let last = &told[told.len().saturating_sub(room)..];
    let lines: Vec<Words<'_>> = last.iter().map(|line| Words::raw(one_line(line))).collect();
    frame.render_widget(Paragraph::new(lines).block(framed(log, "log")), log);
}

fn alert(it: &AttentionItem, paint: Paint) -> Words<'static> {
    let mark = if it.tone == StateTone::Blocked { "needs you: " } else { "" };
    let whose = it.stage.as_ref().map(|id| format!("{}: ", id.as_str())).unwrap_or_default();
    Words::styled(one_line(&format!("{mark}{whose}{}", it.text)), paint.tone(it.tone))
}

/// Returns the most urgent item, with the total number if there are several.
fn urgent(view: &RunView<'_>, paint: Paint) -> Words<'static> {
    let Some(first) = view.attention.first() else { return Words::default() };
    let mut words = alert(first, paint);
    if view.attention.len() > 1 {
        words.spans.insert(0, Span::raw(format!("({}) ", view.attention.len())));
    }
    words
}

/// Returns the lines about the chosen stage.
fn about<'a>(view: &RunView<'_>, line: &ViewLine<'_>) -> Vec<Words<'a>> {
    let row = line.row;
    let why = row.why.as_ref().map_or(row.state.name().to_owned(), |why| why.message(view.now));
    let mut first = why;
    if let Some(tool) = line.last_tool {
        first.push_str(&format!(" ({tool})"));
    }
    let mut second = format!("attempt {}", row.attempt.max(1));
    if let Some(heard) = line.heard {
        let ago = u64::try_from(view.now.seconds_since(heard)).unwrap_or(0);
        second.push_str(&format!(", last output {} ago", elapsed(Some(ago))));
    }
    if let Some(session) = row.agent.session() {
        second.push_str(&format!(", {}", session.0));
    }
    vec![Words::raw(one_line(&first)), Words::raw(one_line(&second))]
}
