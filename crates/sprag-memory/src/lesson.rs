//! Lessons: learnings from a failure that was fixed. The best lessons stand between two marks in the files
//! that agents read first. Sprag never changes the rest of those files.

use serde_json::{Value, json};

use sprag_base::ids::SessionId;
use sprag_base::text::{ContextNote, Text, one_line, quoted, shell_word};

use crate::episode::Episode;
use crate::learning::Learning;
use crate::learnings::LearningEntry;

/// The tag that makes a learning a lesson.
pub const TAG: &str = "lesson";
/// The limit on lessons in a file, and on their bytes.
pub const MOST: usize = 20;
pub const BYTES: usize = 2_048;

pub const START: &str = "<!-- sprag:lessons -->";
pub const END: &str = "<!-- /sprag:lessons -->";
pub const HEADING: &str = "## Lessons Learned";

/// Builds a submission with one candidate: the lesson, the command that checks it, and the intent of the
/// work.
pub fn submission(text: &str, check: Option<&str>, intent: Option<&str>) -> Value {
    let text = text.trim();
    let summary: Text<200> = Text::new(one_line(text));
    let mut detail = vec![text.to_owned()];
    detail.extend(check.map(|check| format!("Because of it `{}` failed, and passes now.", one_line(check))));
    detail.extend(intent.map(|intent| format!("Learned while working on intent {}.", one_line(intent))));
    if detail.len() == 1 {
        detail.push("Learned while working on this project.".to_owned());
    }
    let mut tags = vec![TAG.to_owned()];
    tags.extend(intent.map(|intent| format!("intent:{}", one_line(intent))));
    let when = check.map(|check| Text::<150>::new(one_line(check))).map(|check| format!("before `{check}`"));
    json!({"candidates": [{
        "category": "pitfall",
        "summary": summary,
        "detail": detail.join("\n\n"),
        "tags": tags,
        "scope": "project",
        "confidence": "medium",
        "criteria_met": ["behavior_changing", "stable_fact", "decision_rationale", "explicit_request"],
        "trigger": {"when": when.unwrap_or_default()},
    }]})
}

/// Offers to record a lesson after a failed command passes.
pub fn offer(episode: &Episode, session: &SessionId) -> ContextNote {
    let command = shell_word(episode.command.as_str());
    Text::new(format!(
        "`{}` failed and passes now; to keep the cause as a lesson, run `sprag lesson TEXT --check {command} --session {}`",
        quoted(episode.command.as_str()),
        shell_word(session.as_str()),
    ))
}

pub fn is_lesson(learning: &Learning) -> bool {
    learning.candidate.tags.iter().any(|tag| tag.as_str() == TAG)
}

/// Returns the best lessons first: by use, then by age.
pub fn ranked<'a>(lessons: impl IntoIterator<Item = &'a LearningEntry>) -> Vec<&'a LearningEntry> {
    let worth = |entry: &LearningEntry| {
        let uses = &entry.uses;
        let good = 3 * i64::from(uses.referred) + 2 * i64::from(uses.implied) + 3 * i64::from(uses.rated_up);
        let bad = i64::from(uses.dismissed) + 3 * i64::from(uses.rated_down) + i64::from(uses.failed);
        good + i64::from(uses.succeeded) - bad
    };
    let mut lessons: Vec<&LearningEntry> = lessons.into_iter().collect();
    lessons.sort_by(|a, b| {
        let newer = (b.learning.at, &b.learning.id).cmp(&(a.learning.at, &a.learning.id));
        worth(b).cmp(&worth(a)).then(newer)
    });
    lessons
}

/// Renders a lesson as a line of a file.
pub fn line(learning: &Learning) -> String {
    let plain = |text: &str| one_line(text).replace("<!--", "<! --").replace("-->", "-- >");
    let when = learning.candidate.trigger.when.as_str();
    let when = if when.is_empty() { String::new() } else { format!(" ({})", plain(when)) };
    format!("- {}{when} <!-- {} -->", plain(learning.candidate.summary.as_str()), learning.id)
}

/// Error: the marks of a file are damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamagedMarks;

/// Returns the file with these lines between its marks; adds missing marks. Lines of lessons that are not
/// known here come from another clone and stay while there is room. `None`: the file is up to date.
pub fn replaced(
    file: &str,
    lines: &[String],
    is_known: impl Fn(&str) -> bool,
) -> Result<Option<String>, DamagedMarks> {
    let feed = if file.contains("\r\n") { "\r\n" } else { "\n" };
    let at = |mark: &str| -> Vec<usize> {
        let all = file.lines().enumerate();
        all.filter(|(_, line)| line.trim() == mark).map(|(at, _)| at).collect()
    };
    let old: Vec<&str> = file.lines().collect();
    let (before, within, after) = match (&at(START)[..], &at(END)[..]) {
        ([], []) if lines.is_empty() => return Ok(None),
        ([], []) => {
            let (before, after) = without_marks(&old);
            (before, Vec::new(), after)
        }
        ([start], [end]) if start < end => {
            let own = |part: &[&str]| part.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
            (own(&old[..*start]), own(&old[start + 1..*end]), own(&old[end + 1..]))
        }
        _ => return Err(DamagedMarks),
    };
    let foreign = within.into_iter().filter(|line| id_of(line).is_some_and(|id| !is_known(id)));
    let mut bytes = 0;
    let kept: Vec<String> = lines
        .iter()
        .cloned()
        .chain(foreign)
        .take_while(|line| {
            bytes += line.len() + 1;
            bytes <= BYTES
        })
        .take(MOST)
        .collect();
    let marked = [vec![START.to_owned()], kept, vec![END.to_owned()]].concat();
    let new = [before, marked, after].concat().join(feed) + feed;
    Ok((new != file).then_some(new))
}

/// Splits a file without marks at the place for them: below the heading, which is added at the end if
/// missing.
fn without_marks(old: &[&str]) -> (Vec<String>, Vec<String>) {
    let own = |part: &[&str]| part.iter().map(|line| (*line).to_owned()).collect::<Vec<String>>();
    match old.iter().position(|line| line.trim_end() == HEADING) {
        Some(at) => {
            let mut before = own(&old[..=at]);
            before.push(String::new());
            (before, own(&old[at + 1..]))
        }
        None => {
            let mut before = own(old);
            if before.last().is_some_and(|line| !line.trim().is_empty()) {
                before.push(String::new());
            }
            before.extend([HEADING.to_owned(), String::new()]);
            (before, Vec::new())
        }
    }
}

/// Returns the id at the end of a line from [`line`].
fn id_of(line: &str) -> Option<&str> {
    let id = line.strip_prefix("- ")?.trim_end().strip_suffix(" -->")?.rsplit_once("<!-- ")?.1;
    let is_id = |id: &str| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    Some(id).filter(|id| is_id(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(file: &str, lines: &[&str]) -> Result<Option<String>, DamagedMarks> {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        replaced(file, &lines, |id| id.starts_with("own"))
    }

    #[test]
    fn lessons_go_below_the_heading_and_nothing_else_changes() {
        let new = with("# Notes\ntext\n", &["- one <!-- own1 -->"]).unwrap().unwrap();
        assert_eq!(
            new,
            "# Notes\ntext\n\n## Lessons Learned\n\n<!-- sprag:lessons -->\n- one <!-- own1 -->\n<!-- /sprag:lessons -->\n"
        );
        assert_eq!(with(&new, &["- one <!-- own1 -->"]), Ok(None));
        let two = with(&new, &["- two <!-- own2 -->"]).unwrap().unwrap();
        assert!(two.contains("two") && !two.contains("one"), "{two}");
        let under = with("## Lessons Learned\nmine\n## Next\n", &["- x <!-- own1 -->"]).unwrap().unwrap();
        assert!(under.starts_with("## Lessons Learned\n\n<!-- sprag") && under.ends_with("mine\n## Next\n"));
    }

    #[test]
    fn lines_of_another_clone_stay_and_those_that_are_ours_no_longer_go() {
        let file = format!("{START}\n- theirs <!-- far1 -->\n- ours <!-- own1 -->\nstray\n{END}\n");
        let new = with(&file, &["- new <!-- own2 -->"]).unwrap().unwrap();
        assert_eq!(new, format!("{START}\n- new <!-- own2 -->\n- theirs <!-- far1 -->\n{END}\n"));
    }

    #[test]
    fn damaged_marks_are_left_alone() {
        for file in [
            format!("{START}\n"),
            format!("{END}\n"),
            format!("{END}\n{START}\n"),
            format!("{START}\n{START}\n{END}\n"),
        ] {
            assert_eq!(with(&file, &["- x <!-- own1 -->"]), Err(DamagedMarks), "{file}");
        }
    }

    #[test]
    fn there_are_at_most_so_many_and_so_much() {
        let count = |line: &dyn Fn(usize) -> String| {
            let lines: Vec<String> = (0..100).map(line).collect();
            let new = replaced("", &lines, |_| true).unwrap().unwrap();
            let within = new.split(START).nth(1).unwrap().split(END).next().unwrap().to_owned();
            (within.lines().filter(|line| line.starts_with("- ")).count(), within.len())
        };
        assert_eq!(count(&|at| format!("- {at} <!-- own{at} -->")).0, MOST);
        let (lines, bytes) = count(&|at| format!("- {at} {} <!-- own{at} -->", "x".repeat(200)));
        assert!(lines < MOST && bytes <= BYTES + 1, "{lines} {bytes}");
    }

    #[test]
    fn line_ends_are_kept_as_they_are() {
        let new = with("# Notes\r\n", &["- one <!-- own1 -->"]).unwrap().unwrap();
        assert_eq!(new.matches('\n').count(), new.matches("\r\n").count());
    }
}
