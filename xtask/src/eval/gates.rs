//! Score of gates: whether a pattern matches every form of its command, and nothing else.

use super::Report;
use super::asked::Answer;
use super::rows::Row;
use super::share::Share;

type Pair<'a> = (&'a Row, &'a Answer);

pub fn score(rows: &[Row], answers: &[Answer], report: &mut Report) {
    report.lines.push("gates".to_owned());
    let scored: Vec<Pair<'_>> = rows.iter().zip(answers).filter(|(row, _)| row.tier != "info").collect();
    for (tier, recall, specificity) in
        [("core", 1.0, 1.0), ("std", 0.98, 0.98), ("hard", 0.75, 0.98), ("all", 0.0, 0.98)]
    {
        let of_tier = |expect: &str| -> Vec<Pair<'_>> {
            let fits = |(row, _): &&Pair<'_>| (tier == "all" || row.tier == tier) && row.expect == expect;
            scored.iter().filter(fits).copied().collect()
        };
        let found = Share::of(&of_tier("match"), |(_, answer)| answer.matched);
        let unmeant = of_tier("no_match");
        let quiet = Share::of(&unmeant, |(_, answer)| !answer.matched && !answer.lost);
        let silent =
            Share::of(&unmeant, |(_, answer)| !answer.matched && !answer.lost && answer.verdict == "none");
        let told = Share::of(&of_tier("uncertain"), |(_, answer)| answer.matched || answer.uncertain);
        report.lines.push(format!(
            "  {tier:<5} recall {found}  specificity {quiet}  silent {silent}  undecidable {told}"
        ));
        report.want(&format!("gate recall, {tier}"), found, recall);
        report.want(&format!("gate specificity, {tier}"), quiet, specificity);
        report.want(&format!("gate undecidable, {tier}"), told, 0.95);
    }
    let wrong = scored.iter().filter(|(row, answer)| !is_right(row, answer));
    let wrong = wrong.map(|(row, _)| {
        let pattern = row.pattern.as_deref().unwrap_or_default();
        format!("{}/{} {} [{pattern}] {}", row.tier, row.expect, row.template, row.shown())
    });
    report.errors.push(("gates", wrong.collect()));
}

fn is_right(row: &Row, answer: &Answer) -> bool {
    match row.expect.as_str() {
        "match" => answer.matched,
        "no_match" => !answer.matched && !answer.lost,
        _ => answer.matched || answer.uncertain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_are_counted_apart() {
        let row = |tier: &str, expect: &str| Row {
            tier: tier.to_owned(),
            expect: expect.to_owned(),
            ..Row::default()
        };
        let said = |verdict: &str, matched: bool, uncertain: bool| Answer {
            verdict: verdict.to_owned(),
            matched,
            uncertain,
            ..Answer::default()
        };
        let rows = [
            row("core", "match"),
            row("core", "match"),
            row("hard", "no_match"),
            row("hard", "uncertain"),
            row("info", "match"),
        ];
        let answers = [
            said("deny", true, false),
            said("none", false, false),
            said("ask", false, true),
            said("ask", false, true),
            said("none", false, false),
        ];
        let mut report = Report::default();
        score(&rows, &answers, &mut report);
        assert!(report.lines[1].contains("recall 0.500 (1/2)"), "{:?}", report.lines);
        assert!(
            report.lines[3].contains("specificity 1.000 (1/1)  silent 0.000 (0/1)  undecidable 1.000 (1/1)")
        );
        assert_eq!(report.errors[0].1.len(), 1);
        assert_eq!(report.missed, ["gate recall, core 0.500 (1/2), target at least 1"]);
    }
}
