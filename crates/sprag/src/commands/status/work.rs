//! Prints working agents, skipped stages, and how much merged work reached the target.

use std::path::Path;

use sprag_base::text::{one_line, quoted_list};
use sprag_plan::view::numbers::elapsed;
use sprag_plan::view::{AgentView, RunView, StateLabel, ViewLine};

use super::{LiveStatus, Reasons};
use crate::commands::run::land;
use crate::commands::run::selection::nobody;
use crate::output;

/// Maximum number of stages that one line names.
const NAMED: usize = 5;

pub(crate) fn tell(view: &RunView<'_>, beside: &LiveStatus, reasons: Reasons) {
    agents(view);
    if reasons == Reasons::Left {
        left_out(view);
    }
    landed(view, beside);
    if !view.board.is_over() {
        let lines = nobody(&beside.runner, view.board.plan.as_str());
        if let Some((told, next)) = lines {
            output::line(told);
            output::next(next);
        }
    }
}

fn agents(view: &RunView<'_>) {
    let rows: Vec<Vec<String>> = view.lines.iter().filter_map(|line| agent(view, line)).collect();
    if !rows.is_empty() {
        output::line(format!("agents at work: {}", rows.len()));
        let head = ["  stage", "client", "tool", "reported", "activity", "session"];
        output::table_sparing(&head, rows, &["session", "activity", "reported", "client"]);
    }
}

fn agent(view: &RunView<'_>, line: &ViewLine<'_>) -> Option<Vec<String>> {
    let AgentView::AtWork { session } = &line.row.agent else { return None };
    let heard = line.heard.map(|at| u64::try_from(view.now.seconds_since(at)).unwrap_or(0));
    let activity =
        line.row.why.as_ref().map_or(line.row.state.name().to_owned(), |why| why.message(view.now));
    Some(vec![
        format!("  {}", line.row.id.as_str()),
        one_line(line.row.client.as_str()),
        line.last_tool.map_or("?".to_owned(), one_line),
        heard.map_or("?".to_owned(), |seconds| format!("{} ago", elapsed(Some(seconds)))),
        one_line(&activity),
        session.0.to_string(),
    ])
}

fn left_out(view: &RunView<'_>) {
    for line in view.lines.iter().filter(|line| line.row.state == StateLabel::Skipped) {
        let why = line.row.why.as_ref().map(|why| why.message(view.now)).unwrap_or_default();
        output::line(format!("skipped: `{}`: {}", line.row.id.as_str(), one_line(&why)));
    }
}

fn landed(view: &RunView<'_>, beside: &LiveStatus) {
    let Some(has_all) = beside.landed.has_all() else { return };
    let (board, done) = (view.board, view.progress.done);
    let target = one_line(board.target.as_str());
    if has_all {
        let all = if done == 1 {
            "the merged stage is".to_owned()
        } else {
            format!("all {done} merged stages are")
        };
        return output::line(format!("{all} on `{target}`"));
    }
    let is_missing = |line: &&ViewLine<'_>| {
        line.row.merged.as_ref().is_some_and(|merged| beside.landed.has(merged) == Some(false))
    };
    let missing: Vec<&str> = view.lines.iter().filter(is_missing).map(|line| line.row.id.as_str()).collect();
    match board.rest.progress.done {
        0 if missing.is_empty() => return,
        0 => output::line(format!(
            "{} of {done} merged stages are on `{target}`, only on the trunk: {}",
            done - missing.len(),
            named(&missing)
        )),
        // Some stages are only counted, so their names are unknown.
        _ => output::line(format!("not all of the {done} merged stages are on `{target}`")),
    }
    let root = beside.root.as_deref().unwrap_or(Path::new("."));
    let (held, next) = land::advised(root, board.plan.as_str(), &target);
    held.iter().for_each(output::line);
    output::next(next);
}

fn named(ids: &[&str]) -> String {
    let (named, more) = (quoted_list(ids.iter().take(NAMED)), ids.len().saturating_sub(NAMED));
    if more > 0 { format!("{named}, {more} more") } else { named }
}
