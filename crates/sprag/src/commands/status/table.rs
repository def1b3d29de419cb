//! A run as text: one line, or a table of its stages.

use sprag_base::text::{one_line, shell_word};
use sprag_plan::view::numbers::{cost, elapsed, percent};
use sprag_plan::view::{RunView, StateTone, ViewLine};

use super::Reasons;
use crate::output;

/// Number of stages above which the table shows active and stuck stages only.
const ALL: usize = 60;

/// The stages that the table shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StageFilter {
    Telling,
    All,
}

/// Describes a run in one line.
pub(crate) fn compact(view: &RunView<'_>) -> String {
    let progress = view.progress;
    let mut parts = vec![format!("{} of {} done", progress.done, progress.total)];
    let counts = [
        (progress.active, "active"),
        (progress.ready, "ready"),
        (progress.waiting, "waiting"),
        (progress.stuck, "for a person"),
        (progress.skipped, "skipped"),
    ];
    parts
        .extend(counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")));
    if view.used.is_some() {
        parts.push(cost(view.used));
    }
    parts.push(elapsed(Some(taken(view))));
    format!("{}: {}", view.board.plan, parts.join(", "))
}

/// Returns the seconds from the start of the run until now, or until its end.
pub(super) fn taken(view: &RunView<'_>) -> u64 {
    let end = if view.board.is_over() { view.board.moved } else { view.now };
    u64::try_from(end.seconds_since(view.board.began)).unwrap_or(0)
}

pub(crate) fn tell(view: &RunView<'_>, which: StageFilter, reasons: Reasons) {
    output::heading(&format!("run {}", compact(view)));
    let is_all = which == StageFilter::All || view.progress.total <= ALL;
    let mut shown: Vec<&ViewLine<'_>> =
        view.lines.iter().filter(|line| is_all || line.row.is_telling()).collect();
    let telling = shown.len();
    if !is_all {
        shown.truncate(ALL);
    }
    let rows: Vec<Vec<String>> = shown.iter().map(|line| cells(view, line, reasons)).collect();
    let mut head = vec!["", "level", "stage", "state", "merged", "context", "cost", "elapsed", "try"];
    head.extend((reasons == Reasons::Told).then_some("why"));
    output::table_sparing(&head, rows, &["try", "cost", "merged", "level", "elapsed", "context"]);
    if shown.len() < view.progress.total {
        let left = view.progress.total - shown.len();
        let more = telling - shown.len();
        output::line(format!("{left} more, {more} of them active or stuck"));
        output::next("sprag status --all");
    }
}

/// Prints the items that need attention, each with a command to run next.
pub(crate) fn attention(view: &RunView<'_>) {
    for attention in &view.attention {
        let mark = if attention.tone == StateTone::Blocked { "needs a person" } else { "warning" };
        let text = one_line(&attention.text);
        match &attention.stage {
            Some(stage) => {
                output::line(format!("{mark}: `{}`: {text}", stage.as_str()));
                output::next(format!("sprag stage review {}", shell_word(stage.as_str())));
            }
            None => {
                output::line(format!("{mark}: {text}"));
                output::next("sprag run logs");
            }
        }
    }
}

fn cells(view: &RunView<'_>, line: &ViewLine<'_>, reasons: Reasons) -> Vec<String> {
    let row = line.row;
    let mut cells = vec![
        row.state.icon().to_string(),
        row.level.to_string(),
        row.id.as_str().to_owned(),
        row.state.name().to_owned(),
        row.merged.as_ref().map_or("-".to_owned(), |commit| commit.0.as_str().chars().take(8).collect()),
        percent(line.context),
        cost(line.used),
        elapsed(line.elapsed),
        if row.attempt == 0 { "-".to_owned() } else { row.attempt.to_string() },
    ];
    if reasons == Reasons::Told {
        cells.push(one_line(&row.why.as_ref().map(|why| why.message(view.now)).unwrap_or_default()));
    }
    cells
}
