//! The report as plain text, for 80 columns and without colour.

use sprag_base::text::{Text, one_line};
use sprag_memory::learnings::LearningEntry;
use sprag_memory::lifecycle::decay::hit_rate;
use sprag_memory::stats::{SessionComparison, SessionMeans, Week, sparkline, trend};

use super::StatsReport;
use crate::output;

/// Maximum number of most useful learnings to list.
const BEST: usize = 5;

pub(crate) fn tell(report: &StatsReport) {
    let counts = report.by_status();
    let told: Vec<String> = ["active", "stale", "archived", "superseded"]
        .iter()
        .map(|name| format!("{} {name}", counts.get(name).copied().unwrap_or(0)))
        .collect();
    output::line(format!("learnings   {}", told.join(", ")));
    gate(report);
    weeks(&report.weeks);
    categories(report);
    sessions(&report.stats.compared());
    best(report);
    episodes(report);
    insights(report);
}

fn gate(report: &StatsReport) {
    let stats = &report.stats;
    if let Some(share) = stats.acceptance() {
        let stages: Vec<String> = stats
            .stages()
            .map(|(name, stage)| match stage.missed {
                0 => format!("{} {}", one_line(name), stage.rejected),
                missed => format!("{} {} ({missed} kept later)", one_line(name), stage.rejected),
            })
            .collect();
        let kept_out =
            if stages.is_empty() { String::new() } else { format!("; rejected: {}", stages.join(", ")) };
        let all = stats.accepted + stats.rejected();
        output::line(format!(
            "write gate  {} of {all} candidates kept ({}){kept_out}",
            stats.accepted,
            percent(share)
        ));
    }
    let skips = stats.skips();
    if skips.all > 0 {
        output::line(format!(
            "skipped     {} reflections, {} automatically, {} too early",
            skips.all, skips.auto, skips.missed
        ));
    }
}

fn weeks(weeks: &[Week]) {
    type Of = fn(&Week) -> u32;
    let rows: [(&str, Of); 8] = [
        ("sessions", |week| week.sessions),
        ("kept", |week| week.kept),
        ("rejected", |week| week.rejected),
        ("skipped", |week| week.skipped),
        ("shown", |week| week.shown),
        ("used", |week| week.used),
        ("dismissed", |week| week.dismissed),
        ("archived", |week| week.archived),
    ];
    output::line("");
    output::heading(&format!("{:<11} {:<width$}  total  last 4 weeks", "by week", "", width = weeks.len()));
    for (name, of) in rows {
        let values: Vec<u32> = weeks.iter().map(of).collect();
        let change = match trend(&values) {
            Some(0) => "unchanged".to_owned(),
            Some(change) => format!("{change:+}%"),
            None => String::new(),
        };
        let total: u32 = values.iter().sum();
        output::line(format!("{name:<11} {}  {total:>5}  {change}", sparkline(&values)).trim_end());
    }
}

fn categories(report: &StatsReport) {
    let rows: Vec<Vec<String>> = report
        .by_category()
        .iter()
        .map(|(category, row)| {
            vec![
                category.name().to_owned(),
                row.count.to_string(),
                row.shown.to_string(),
                row.used.to_string(),
                row.implied.to_string(),
                row.dismissed.to_string(),
                row.rate().map_or_else(|| "-".to_owned(), percent),
            ]
        })
        .collect();
    if !rows.is_empty() {
        output::line("");
        output::table(&["category", "count", "shown", "used", "implied", "dismissed", "hit rate"], &rows);
    }
}

fn sessions(compared: &SessionComparison) {
    if compared.with.sessions == 0 && compared.without.sessions == 0 {
        return;
    }
    let row = |name: &str, of: &dyn Fn(&SessionMeans) -> String| {
        let cell = |side: &SessionMeans| if side.sessions == 0 { "-".to_owned() } else { of(side) };
        vec![name.to_owned(), cell(&compared.with), cell(&compared.without)]
    };
    let number = |value: f32| format!("{value:.1}");
    let rows = [
        row("count", &|side| side.sessions.to_string()),
        row("tool calls", &|side| number(side.calls)),
        row("failed calls", &|side| number(side.failures)),
        row("retries", &|side| number(side.retries)),
        row("corrections by the user", &|side| number(side.corrections)),
        row("last checks passed", &|side| side.passed.map_or_else(|| "-".to_owned(), percent)),
        row("left a debt", &|side| percent(side.indebted)),
    ];
    output::line("");
    output::table(&["sessions", "with learnings", "without"], &rows);
}

fn best(report: &StatsReport) {
    let mut used: Vec<&LearningEntry> = report
        .learnings
        .in_use()
        .filter(|entry| entry.uses.referred > 0 || entry.uses.implied > 0 || entry.uses.rated_up > 0)
        .collect();
    used.sort_by(|a, b| hit_rate(&b.uses).total_cmp(&hit_rate(&a.uses)));
    if used.is_empty() {
        return;
    }
    output::line("");
    output::heading("most useful");
    for entry in used.into_iter().take(BEST) {
        let id: String = entry.learning.id.as_str().chars().take(13).collect();
        let summary: Text<54> = Text::new(one_line(entry.learning.candidate.summary.as_str()));
        output::line(format!("{id:<13}  {:>4}  {summary}", percent(hit_rate(&entry.uses))));
    }
}

fn episodes(report: &StatsReport) {
    if report.episodes.is_empty() {
        return;
    }
    output::line("");
    output::heading("worth a learning");
    report.episodes.iter().for_each(|pattern| output::line(pattern.describe()));
    output::next("sprag reflect");
}

fn insights(report: &StatsReport) {
    if report.learnings.all().next().is_none() {
        output::line("\nno learnings yet\n  next: sprag reflect --schema");
        return;
    }
    if report.insights.is_empty() {
        return;
    }
    output::line("");
    output::heading("insights");
    for insight in &report.insights {
        output::line(format!("{}: {}", insight.kind.name(), insight.what));
        output::next(format!("{}", insight.next));
    }
    if report.insights.iter().any(|insight| insight.change.is_some()) {
        output::line("some insights suggest a setting\n  next: sprag memory stats --apply");
    }
}

fn percent(share: f32) -> String {
    format!("{:.0}%", share * 100.0)
}
