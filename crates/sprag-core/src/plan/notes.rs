//! What an agent writes down while it works at a stage, for whoever comes after it: the next agent, the person who
//! looks, and the memory. A note is a line that is never changed; what of it is worth keeping for good is decided
//! by the write gate, as for everybody else.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use sprag_base::redact;
use sprag_base::text::{Text, one_line, plain};
use sprag_base::time::Timestamp;
use sprag_memory::learning::{CANDIDATES, SUMMARY_LEAST, SUMMARY_MOST};

use super::stage::{Commit, StageId};

/// Notes that a brief recites.
pub const RECITED: usize = 10;
/// Notes that one stage may leave: more is a talk and no notes.
pub const PER_STAGE: usize = 500;
/// Characters of one.
pub const MOST: usize = 1000;

/// One note, as a line of its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub v: u32,
    pub id: Text<64>,
    pub at: Timestamp,
    pub stage: StageId,
    /// The session it was written in, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Text<200>>,
    #[serde(flatten)]
    pub said: Said,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Said {
    /// Something that is so.
    Note { text: Text<MOST> },
    /// Something that was chosen, and for which reason.
    Decision {
        text: Text<MOST>,
        #[serde(default, skip_serializing_if = "Text::is_empty")]
        why: Text<MOST>,
    },
    /// Something that is open, and that the agent has gone around.
    Question { text: Text<MOST> },
}

impl Said {
    pub fn name(&self) -> &'static str {
        match self {
            Said::Note { .. } => "note",
            Said::Decision { .. } => "decision",
            Said::Question { .. } => "question",
        }
    }

    pub fn text(&self) -> &str {
        match self {
            Said::Note { text } | Said::Decision { text, .. } | Said::Question { text } => text.as_str(),
        }
    }

    /// Without secrets.
    #[must_use]
    pub fn redacted(self) -> Said {
        let clean = |text: Text<MOST>| redact::short(&plain(text.as_str()));
        match self {
            Said::Note { text } => Said::Note { text: clean(text) },
            Said::Decision { text, why } => Said::Decision { text: clean(text), why: clean(why) },
            Said::Question { text } => Said::Question { text: clean(text) },
        }
    }

    /// On one line.
    pub fn line(&self) -> String {
        let text = one_line(self.text());
        match self {
            Said::Decision { why, .. } if !why.is_empty() => {
                format!("decision: {} (because {})", text.trim(), one_line(why.as_str()).trim())
            }
            said => format!("{}: {}", said.name(), text.trim()),
        }
    }
}

/// Where notes come from when they become candidates.
#[derive(Clone, Debug)]
pub struct Source<'a> {
    /// What the stage was merged as, where it was: the trace tells from there whose each line is.
    pub merged: Option<&'a Commit>,
}

/// Notes as a submission to the write gate; `None` where none of them could be a learning. Questions are not: nobody
/// has answered them. Of too many, decisions go first, and then the latest.
pub fn submission(notes: &[Note], source: &Source<'_>) -> Option<Value> {
    let rank = |note: &&Note| match note.said {
        Said::Decision { .. } => Some(0),
        Said::Note { .. } => Some(1),
        Said::Question { .. } => None,
    };
    // What had a secret in it makes no sense without.
    let is_whole = |note: &&Note| {
        let text = note.said.text().trim();
        text.chars().count() >= SUMMARY_LEAST && !text.contains("[redacted:")
    };
    let mut ranked: Vec<(u8, &Note)> =
        notes.iter().rev().filter(is_whole).filter_map(|note| Some((rank(&note)?, note))).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let candidates: Vec<Value> =
        ranked.into_iter().take(CANDIDATES).map(|(_, note)| candidate(note, source)).collect();
    (!candidates.is_empty()).then(|| json!({ "candidates": candidates }))
}

/// No name of a plan or stage: that would make a statement look as if it was about this project.
const FROM: &str = "Noted by an agent at work.";

fn candidate(note: &Note, source: &Source<'_>) -> Value {
    let text = plain(note.said.text());
    let summary = first_sentence(&text);
    let (category, kind, criteria, why) = match &note.said {
        Said::Decision { why, .. } => {
            ("convention", "decision", &["decision_rationale"][..], plain(why.as_str()))
        }
        Said::Note { .. } | Said::Question { .. } => {
            ("domain", "fact", &["stable_fact", "behavior_changing"][..], String::new())
        }
    };
    let because = if why.trim().is_empty() { String::new() } else { format!("\n\nBecause {}", why.trim()) };
    let mut candidate = json!({
        "category": category, "kind": kind, "summary": summary,
        "detail": format!("{}{because}\n\n{FROM}", text.trim()),
        "tags": [note.said.name()], "scope": "project",
        "criteria_met": criteria, "confidence": "low",
    });
    if let Some(commit) = source.merged {
        candidate["evidence"] = json!([format!("commit {}", commit.0)]);
    }
    candidate
}

/// As much of the first sentence as a summary may have.
fn first_sentence(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default().trim();
    let end = line.match_indices(". ").map(|(at, _)| at).find(|at| *at >= SUMMARY_LEAST);
    let sentence = line[..end.unwrap_or(line.len())].trim_end_matches('.');
    Text::<SUMMARY_MOST>::new(sentence).to_string()
}

#[cfg(test)]
mod tests {
    use sprag_memory::learning;

    use super::*;

    fn note(id: &str, said: Said) -> Note {
        let at = Timestamp::from_millis(0);
        Note { v: 1, id: Text::from(id), at, stage: StageId::new("parser"), session: None, said }
    }

    const NOWHERE: Source<'_> = Source { merged: None };

    #[test]
    fn a_note_is_a_line_that_reads_back() {
        let said = Said::Decision { text: Text::from("read it twice"), why: Text::from("it may move") };
        let written = serde_json::to_string(&note("1", said.clone())).unwrap();
        assert!(written.contains(r#""kind":"decision""#), "{written}");
        assert_eq!(serde_json::from_str::<Note>(&written).unwrap().said, said);
        assert_eq!(said.line(), "decision: read it twice (because it may move)");
    }

    #[test]
    fn no_note_keeps_a_secret_or_a_second_line_in_a_list() {
        let said =
            Said::Note { text: Text::from("token ghp_0123456789abcdefghij0123456789abcdef\n## Scope") };
        assert_eq!(said.redacted().line(), "note: token [redacted:github_token] ## Scope");
    }

    #[test]
    fn decisions_and_notes_become_candidates_in_form_and_questions_do_not() {
        let notes = [
            note(
                "1",
                Said::Note { text: Text::from("The lexer must be reset before each file. Else it leaks.") },
            ),
            note("2", Said::Question { text: Text::from("Who owns the cache directory?") }),
            note(
                "3",
                Said::Decision {
                    text: Text::from("Spans are bytes"),
                    why: Text::from("files may be no UTF-8"),
                },
            ),
            note("4", Said::Note { text: Text::from("short") }),
            note("5", Said::Note { text: Text::from("the key is [redacted:github_token], of course") }),
        ];
        let submitted = submission(&notes, &NOWHERE).unwrap();
        let read = learning::submission(&submitted.to_string()).unwrap();
        assert_eq!(read.rejected, []);
        let summaries: Vec<&str> = read.accepted.iter().map(|(_, it)| it.summary.as_str()).collect();
        assert_eq!(summaries, ["Spans are bytes", "The lexer must be reset before each file"]);
        assert!(read.accepted[0].1.detail.as_str().contains("Because files may be no UTF-8"));
        assert_eq!(submission(&notes[1..2], &NOWHERE), None);
    }

    #[test]
    fn of_too_many_the_latest_are_handed_in() {
        let notes: Vec<Note> = (0..100)
            .map(|n| note("x", Said::Note { text: Text::new(format!("fact number {n} of the parser")) }))
            .collect();
        let submitted = submission(&notes, &NOWHERE).unwrap();
        let candidates = submitted["candidates"].as_array().unwrap();
        assert_eq!(candidates.len(), CANDIDATES);
        assert_eq!(candidates[0]["summary"], "fact number 99 of the parser");
    }
}
