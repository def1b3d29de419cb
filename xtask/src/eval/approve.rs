//! Score of commands that may run without a question: how many the policy approves, and whether it approves
//! only those.

use std::collections::BTreeSet;

use super::Report;
use super::asked::Answer;
use super::rows::Row;
use super::share::Share;

type Pair<'a> = (&'a Row, &'a Answer);
type Wanted<'a> = &'a dyn Fn(&Row) -> bool;

/// The source with most of the labels; the report shows the other sources separately.
const LARGEST: &str = "dippy";

pub fn score(rows: &[Row], answers: &[Answer], report: &mut Report) {
    report.lines.push("approve".to_owned());
    let scored: Vec<Pair<'_>> =
        rows.iter().zip(answers).filter(|(row, _)| row.axis == "approve" && row.is_scored()).collect();
    let largest = |row: &Row| row.labels.contains_key(LARGEST);
    let groups: [(&str, Wanted<'_>); 3] =
        [("all", &|_| true), (LARGEST, &largest), ("others", &|row| !largest(row))];
    for (name, wanted) in groups {
        let group: Vec<Pair<'_>> = scored.iter().filter(|(row, _)| wanted(row)).copied().collect();
        let given: Vec<Pair<'_>> =
            group.iter().filter(|(_, answer)| answer.is(&["allow"])).copied().collect();
        let safe: Vec<Pair<'_>> = group.iter().filter(|(row, _)| row.verdict == "allow").copied().collect();
        let precision = Share::of(&given, |(row, _)| row.verdict == "allow");
        let coverage = Share::of(&safe, |(_, answer)| answer.is(&["allow"]));
        let denied = Share::of(&safe, |(_, answer)| answer.is(&["deny"]) || answer.lost);
        report.lines.push(format!(
            "  {name:<8} precision {precision}  coverage {coverage}  safe but denied {denied}"
        ));
        if name == "all" {
            report.want("approve precision", precision, 0.99);
            report.want("approve coverage", coverage, 0.80);
            let wrong = given.iter().filter(|(row, _)| row.verdict != "allow");
            let wrong =
                wrong.map(|(row, _)| format!("approved {}/{} {}", row.source, row.verdict, row.shown()));
            report.errors.push(("approve", wrong.collect()));
        }
    }
    // A text that any source calls dangerous, on either axis.
    let dangerous: BTreeSet<&str> = rows
        .iter()
        .filter(|row| row.dialect == "posix" && row.strength == "strong")
        .filter(|row| row.labels.values().any(|label| label == "block"))
        .map(|row| row.cmd.as_str())
        .collect();
    let approved: BTreeSet<&str> = rows
        .iter()
        .zip(answers)
        .filter(|(row, answer)| answer.is(&["allow"]) && dangerous.contains(row.cmd.as_str()))
        .map(|(row, _)| row.cmd.as_str())
        .collect();
    let share = Share { part: approved.len(), whole: dangerous.len() };
    report.lines.push(format!("  approved though labelled block {share}"));
    report.want_most("approved though labelled block", share, 0.0);
    let texts = approved.iter().map(|cmd| format!("{:?}", cmd.chars().take(110).collect::<String>()));
    report.errors.push(("approved though labelled block", texts.collect()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precision_is_of_what_is_given_and_coverage_of_what_is_safe() {
        let row = |cmd: &str, axis: &str, verdict: &str, by: &str| Row {
            cmd: cmd.to_owned(),
            axis: axis.to_owned(),
            strength: "strong".to_owned(),
            dialect: "posix".to_owned(),
            verdict: verdict.to_owned(),
            labels: [(by.to_owned(), verdict.to_owned())].into(),
            ..Row::default()
        };
        let said = |verdict: &str| Answer { verdict: verdict.to_owned(), ..Answer::default() };
        let rows = [
            row("a", "approve", "allow", "dippy"),
            row("b", "approve", "allow", "x"),
            row("c", "approve", "ask", "x"),
            row("a", "destructive", "block", "y"),
        ];
        let answers = [said("allow"), said("none"), said("allow"), said("allow")];
        let mut report = Report::default();
        score(&rows, &answers, &mut report);
        assert_eq!(
            report.lines[1].trim(),
            "all      precision 0.500 (1/2)  coverage 0.500 (1/2)  safe but denied 0.000 (0/2)"
        );
        assert_eq!(report.lines[4].trim(), "approved though labelled block 1.000 (1/1)");
        assert_eq!(report.missed.len(), 3);
    }
}
