//! Hands in the notes of a merged stage as candidates for learnings. The write gate decides as usual, and
//! each note is handed in once.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use sprag_base::ids::SessionId;
use sprag_base::text::{Text, plain};
use sprag_base::time::Timestamp;
use sprag_govern::event::Actor;
use sprag_host::report::submit::{SubmissionResult, SubmitError, Submitter, hand_in};
use sprag_host::store::lock_within;
use sprag_host::sys::disk::{self, Disk};
use sprag_host::sys::env::Env;
use sprag_host::sys::locations::Locations;
use sprag_host::world::World;
use sprag_memory::learning::{CANDIDATES, SUMMARY_LEAST, SUMMARY_MOST};
use sprag_plan::ids::{CommitId, StageId};
use sprag_plan::notes::{NoteBody, StageNote};
use sprag_plan::run::Run;
use sprag_plan::stage::state::StageState;

use super::notes;

const PATIENCE: Duration = Duration::from_secs(60);
/// Maximum size of the list of ids.
const BYTES: u64 = 64 * 1024 * 1024;

/// The counts of handed-in notes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Distilled {
    pub notes: usize,
    pub kept: usize,
    pub not_kept: usize,
}

/// The stage of the notes, and the worktree they refer to.
pub struct NoteOwner<'a> {
    /// Sprag's folder of runs.
    pub run: &'a Path,
    pub plan: &'a str,
    pub stage: &'a StageId,
    pub merged: Option<&'a CommitId>,
    /// The files that the notes refer to.
    pub worktree: &'a Path,
}

/// Hands in the notes of all merged stages of a run.
pub fn run(
    run: &Path,
    active: &Run,
    worktree: &Path,
    disk: &dyn Disk,
    now: Timestamp,
) -> io::Result<Distilled> {
    let plan = active.plan().head.name.to_string();
    let mut all = Distilled::default();
    for (stage, entry) in active.entries() {
        if let StageState::Done { merged } = &entry.state {
            let of = NoteOwner { run, plan: &plan, stage, merged: Some(merged.commit()), worktree };
            let one = self::stage(&of, disk, now)?;
            all.notes += one.notes;
            all.kept += one.kept;
            all.not_kept += one.not_kept;
        }
    }
    Ok(all)
}

pub fn stage(of: &NoteOwner<'_>, disk: &dyn Disk, now: Timestamp) -> io::Result<Distilled> {
    // The end of a stage and the distill command may run at the same time.
    let path = cursor(of).with_extension("lock");
    disk::make_parent(disk, &path)?;
    let lock = disk::append_regular(&path)?;
    if !lock_within(&lock, PATIENCE)? {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    let done = handed_in(of)?;
    let notes: Vec<StageNote> = notes::of_stage(of.run, of.plan, of.stage)?
        .into_iter()
        .filter(|note| !done.contains(note.id.as_str()))
        .collect();
    let mut came = Distilled { notes: notes.len(), ..Distilled::default() };
    if let Some(submission) = submission(&notes, &NoteOrigin { merged: of.merged }) {
        let env = Env::Real;
        let places = Locations::find(of.worktree, &env).map_err(|_| io::ErrorKind::NotFound)?;
        let world = World::new(&env, disk, places);
        let session = SessionId::new(format!("stage.{}.{}", of.plan, of.stage.as_str()));
        // The directory is outside all worktrees, so that no command there refers to this session.
        let hand = Submitter { session: &session, actor: &Actor::Main, cwd: Path::new("/"), now };
        let SubmissionResult { accepted, rejected, similar, .. } =
            hand_in(&world, &hand, &submission.to_string(), None).map_err(failed)?;
        came.kept = accepted.len();
        came.not_kept = rejected.len() + similar.len();
    }
    if !notes.is_empty() {
        let ids = done.into_iter().chain(notes.iter().map(|note| note.id.to_string()));
        let text: String = ids.map(|id| format!("{id}\n")).collect();
        disk::replace(disk, &cursor(of), text.as_bytes())?;
    }
    Ok(came)
}

fn failed(error: SubmitError) -> io::Error {
    io::Error::other(format!("cannot hand in the notes: {error:?}"))
}

/// Returns the path of the list of notes that were handed in.
fn cursor(of: &NoteOwner<'_>) -> PathBuf {
    of.run.join("notes").join(format!("{}.{}.kept", of.plan, of.stage.as_str()))
}

fn handed_in(of: &NoteOwner<'_>) -> io::Result<BTreeSet<String>> {
    match disk::read_regular(&cursor(of), BYTES) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
        Err(error) => Err(error),
    }
}

/// The origin of notes that become candidates.
#[derive(Clone, Debug)]
pub struct NoteOrigin<'a> {
    /// The merge commit of the stage, if merged; the trace finds the author of each line from it.
    pub merged: Option<&'a CommitId>,
}

/// Builds a submission to the write gate; returns `None` if no note could be a learning. Leaves out
/// questions, which have no answer. If there are too many notes, decisions go first, then the latest notes.
pub fn submission(notes: &[StageNote], source: &NoteOrigin<'_>) -> Option<Value> {
    let rank = |note: &&StageNote| match note.said {
        NoteBody::Decision { .. } => Some(0),
        NoteBody::Note { .. } => Some(1),
        NoteBody::Question { .. } => None,
    };
    // A note with a removed secret is incomplete.
    let is_whole = |note: &&StageNote| {
        let text = note.said.text().trim();
        text.chars().count() >= SUMMARY_LEAST && !text.contains("[redacted:")
    };
    let mut ranked: Vec<(u8, &StageNote)> =
        notes.iter().rev().filter(is_whole).filter_map(|note| Some((rank(&note)?, note))).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let candidates: Vec<Value> =
        ranked.into_iter().take(CANDIDATES).map(|(_, note)| candidate(note, source)).collect();
    (!candidates.is_empty()).then(|| json!({ "candidates": candidates }))
}

/// Names no plan and no stage, because a name would make the statement look specific to this project.
const FROM: &str = "Noted by an agent at work.";

fn candidate(note: &StageNote, source: &NoteOrigin<'_>) -> Value {
    let text = plain(note.said.text());
    let summary = first_sentence(&text);
    let (category, kind, criteria, why) = match &note.said {
        NoteBody::Decision { why, .. } => {
            ("convention", "decision", &["decision_rationale"][..], plain(why.as_str()))
        }
        NoteBody::Note { .. } | NoteBody::Question { .. } => {
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

/// Returns the first sentence, cut to the length of a summary.
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

    const NOWHERE: NoteOrigin<'static> = NoteOrigin { merged: None };

    fn note(id: &str, said: NoteBody) -> StageNote {
        let at = Timestamp::from_millis(0);
        StageNote { v: 1, id: Text::from(id), at, stage: StageId::new("parser"), session: None, said }
    }

    #[test]
    fn decisions_and_notes_become_candidates_in_form_and_questions_do_not() {
        let notes = [
            note(
                "1",
                NoteBody::Note {
                    text: Text::from("The lexer must be reset before each file. Else it leaks."),
                },
            ),
            note("2", NoteBody::Question { text: Text::from("Who owns the cache directory?") }),
            note(
                "3",
                NoteBody::Decision {
                    text: Text::from("Spans are bytes"),
                    why: Text::from("files may be no UTF-8"),
                },
            ),
            note("4", NoteBody::Note { text: Text::from("short") }),
            note("5", NoteBody::Note { text: Text::from("the key is [redacted:github_token], of course") }),
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
        let notes: Vec<StageNote> = (0..100)
            .map(|n| note("x", NoteBody::Note { text: Text::new(format!("fact number {n} of the parser")) }))
            .collect();
        let submitted = submission(&notes, &NOWHERE).unwrap();
        let candidates = submitted["candidates"].as_array().unwrap();
        assert_eq!(candidates.len(), CANDIDATES);
        assert_eq!(candidates[0]["summary"], "fact number 99 of the parser");
    }
}
