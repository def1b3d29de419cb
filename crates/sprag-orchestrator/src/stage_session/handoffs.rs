//! Handoff files, numbered per stage. If an agent wrote none, Sprag writes one from git, the notes and the
//! journal.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use sprag_base::ids::SessionId;
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::text::Text;
use sprag_govern::event_records::RecordedEvent;
use sprag_host::git::{self, refs};
use sprag_host::store::{Store, journal, lock_within};
use sprag_host::sys::disk::{self, Disk};
use sprag_host::sys::yaml;
use sprag_plan::brief::BriefInput;
use sprag_plan::handoff::{self, BYTES, Completed, Handoff, HandoffDecision};
use sprag_plan::ids::StageId;
use sprag_plan::notes::{NoteBody, StageNote};

use crate::layout::handoffs_dir;
use crate::session_dir::SessionDir;

const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum number of handoffs per stage; more of them mean a loop.
const MOST: u32 = 1000;
/// Maximum length of each list.
const ITEMS: usize = 100;

/// The reason why a text is not a handoff.
#[derive(Debug, PartialEq, Eq)]
pub struct HandoffParseError {
    pub line: u32,
    pub column: u32,
    pub what: String,
}

pub fn path(run: &Path, plan: &str, stage: &StageId, number: u32) -> PathBuf {
    handoffs_dir(run, plan, stage).join(format!("{number}.yaml"))
}

/// Parses a handoff in either format.
pub fn parse(text: &str) -> Result<Handoff, HandoffParseError> {
    let bad = |line, column, what: String| HandoffParseError { line, column, what };
    if text.len() > BYTES {
        return Err(bad(1, 1, format!("the handoff has {} bytes; the limit is {BYTES}", text.len())));
    }
    let (keys, prose) = handoff::parts(text);
    match yaml::parse(keys).map_err(|error| bad(error.at.line, error.at.column, error.what))? {
        None => Ok(Handoff::prose(prose)),
        Some(root) => {
            Handoff::read(&root, prose).map_err(|fault| bad(fault.at.line, fault.at.column, fault.what))
        }
    }
}

pub fn read(path: &Path) -> Option<Handoff> {
    let text = disk::read_regular(path, BYTES as u64 * 2).ok()?;
    let text = String::from_utf8_lossy(&text);
    // A handoff with broken keys still counts as prose.
    Some(parse(&text).unwrap_or_else(|_| Handoff::prose(&text)))
}

/// Returns the numbers of a stage's handoffs, in order.
pub fn numbers(run: &Path, plan: &str, stage: &StageId) -> Vec<u32> {
    let entries = fs::read_dir(handoffs_dir(run, plan, stage)).into_iter().flatten().flatten();
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.strip_suffix(".yaml")?.parse::<u32>().ok();
    let mut found: Vec<u32> = entries.filter_map(number).collect();
    found.sort_unstable();
    found
}

pub fn latest(run: &Path, plan: &str, stage: &StageId) -> Option<(u32, Handoff)> {
    let number = *numbers(run, plan, stage).last()?;
    Some((number, read(&path(run, plan, stage, number))?))
}

/// Returns the last handoff of a session.
pub fn of_session(run: &Path, plan: &str, stage: &StageId, session: &str) -> Option<(u32, Handoff)> {
    let read = |number: &u32| Some((*number, read(&path(run, plan, stage, *number))?));
    let mut all = numbers(run, plan, stage).into_iter().rev();
    all.find_map(|number| read(&number).filter(|(_, handoff)| handoff.session_id.as_str() == session))
}

/// Writes a handoff; returns its number.
pub fn write(run: &Path, plan: &str, stage: &StageId, disk: &dyn Disk, it: &Handoff) -> io::Result<u32> {
    let dir = handoffs_dir(run, plan, stage);
    disk.make_dirs(&dir)?;
    let lock = disk::append_regular(&dir.join("lock"))?;
    if !lock_within(&lock, PATIENCE)? {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    let number = numbers(run, plan, stage).last().map_or(1, |last| last + 1);
    if number > MOST {
        return Err(io::Error::other(format!("stage `{}` already has {MOST} handoffs", stage.as_str())));
    }
    disk::replace(disk, &path(run, plan, stage, number), it.text().as_bytes())?;
    Ok(number)
}

/// Replaces an existing handoff.
pub fn rewrite(
    run: &Path,
    plan: &str,
    stage: &StageId,
    disk: &dyn Disk,
    (number, it): (u32, &Handoff),
) -> io::Result<()> {
    disk::replace(disk, &path(run, plan, stage, number), it.text().as_bytes())
}

/// The agent that a handoff is about.
pub struct HandoffSubject<'a> {
    pub told: &'a BriefInput,
    pub notes: &'a [StageNote],
    pub worktree: &'a Path,
    /// Sprag's name of the session.
    pub session: &'a str,
    /// The session directory, and the records of the clone.
    pub site: &'a SessionDir,
    pub store: &'a Store,
}

/// Builds a handoff without the agent. Leaves out what git cannot report.
pub fn sketch(of: &HandoffSubject<'_>) -> Handoff {
    let told = of.told;
    let seen = of.site.seen();
    let is_ticked = |id: &str| told.ticked.iter().any(|ticked| ticked.as_str() == id);
    let task = |text: &Text<500>| Completed { description: text.clone(), files: Vec::new() };
    let (done, open): (Vec<_>, Vec<_>) = told.spec.tasks.iter().partition(|it| is_ticked(it.id.as_str()));
    let mut sketch = Handoff {
        session_id: Text::from(of.session),
        stage_id: Text::from(told.spec.id.as_str()),
        context_percent: seen.as_ref().and_then(|seen| seen.context).map(|context| context.percent()),
        completed_tasks: done.iter().map(|it| task(&it.text)).collect(),
        next_actions: open.iter().map(|it| it.text.clone()).collect(),
        branch: Text::from(told.place.branch.as_str()),
        ..Handoff::default()
    };
    for note in of.notes.iter().rev().take(ITEMS).rev() {
        match &note.said {
            NoteBody::Note { text } => sketch.discovered_facts.push(Text::from(text.as_str())),
            NoteBody::Question { text } => sketch.open_questions.push(Text::from(text.as_str())),
            NoteBody::Decision { text, why } => sketch.key_decisions.push(HandoffDecision {
                decision: Text::from(text.as_str()),
                rationale: Text::from(why.as_str()),
            }),
        }
    }
    let texts = |all: Vec<String>| all.into_iter().take(ITEMS).map(Text::new).collect::<Vec<Text<500>>>();
    let uncommitted = git::changed_paths(of.worktree).unwrap_or_default();
    let mut modified = Vec::new();
    if let Some(base) = &told.place.base {
        let base = base.0.as_str();
        modified = git::paths_since(of.worktree, base).unwrap_or_default();
        sketch.commits = texts(refs::subjects(of.worktree, base, ITEMS).unwrap_or_default());
    }
    modified.extend(uncommitted.iter().cloned());
    modified.sort();
    modified.dedup();
    sketch.uncommitted_files = texts(uncommitted);
    sketch.files_modified = texts(modified);
    let client = seen.and_then(|seen| seen.client_session);
    sketch.files_read = texts(client.map(|id| files_read(of, id.as_str())).unwrap_or_default());
    sketch
}

/// Returns the files that the client has read, by its journal; the latest last.
fn files_read(of: &HandoffSubject<'_>, client: &str) -> Vec<String> {
    let path = journal::path(of.store, &SessionId::new(client));
    let Ok((_, records)) = journal::read(&path) else { return Vec::new() };
    let mut found: Vec<String> = Vec::new();
    for event in records.iter().filter_map(RecordedEvent::read) {
        let RecordedEvent::ToolFinished(call) = event else { continue };
        if call.effect.name() != "read" {
            continue;
        }
        let input = call.input.as_str();
        let below =
            Path::new(input).strip_prefix(of.worktree).map_or(input, |it| it.to_str().unwrap_or(input));
        if !below.starts_with(['{', '/']) && !found.iter().any(|known| known == below) {
            found.push(below.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use sprag_base::result::Discard as _;
    use sprag_host::sys::disk::RealDisk;

    use super::*;

    #[test]
    fn the_second_form_reads_and_keys_of_others_survive() {
        let text = "---\nversion: 2\nsession_id: \"s-1\"\nstage_id: auth\ncontext_percent: 74.6\n\
            completed_tasks:\n  - description: login\n    files: [src/auth.rs]\n  - only words\n\
            key_decisions:\n  - decision: tokens\n    rationale: no state\nopen_questions: who expires them?\n\
            mood: {colour: blue, since: 3}\n---\n\nAnd some words.\n";
        let read = parse(text).unwrap();
        assert_eq!((read.session_id.as_str(), read.context_percent), ("s-1", Some(75)));
        assert_eq!(read.completed_tasks.len(), 2);
        assert_eq!(read.completed_tasks[0].files[0].as_str(), "src/auth.rs");
        assert_eq!(read.open_questions[0].as_str(), "who expires them?");
        assert_eq!(read.others["mood"], json!({"colour": "blue", "since": 3}));
        assert_eq!(read.prose.as_str(), "And some words.");
        assert_eq!(parse(&read.text()).unwrap(), read);
    }

    #[test]
    fn the_first_form_is_prose() {
        let text = "# Handoff: auth\n\n- login is done\n- tokens: not yet\n";
        let read = parse(text).unwrap();
        assert_eq!(read.prose.as_str(), text.trim());
        assert!(read.lines().contains(&"- login is done".to_owned()));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let told = parse("version: 2\ncommits:\n  - {a: b}\n").unwrap_err();
        assert_eq!((told.line, told.what.as_str()), (3, "expected a text"));
        assert!(parse("version: 2\ncontext_percent: 400\n").is_err());
        assert!(parse("version: 2\nx: *y\n").is_err());
        assert!(parse(&"x".repeat(BYTES + 1)).is_err());
    }

    #[test]
    fn they_are_numbered_and_known_by_their_session() {
        let dir = tempfile::tempdir().unwrap();
        let stage = StageId::new("a");
        let of = |session: &str| Handoff { session_id: Text::from(session), ..Handoff::prose("words") };
        for (session, number) in [("one", 1), ("two", 2), ("one", 3)] {
            assert_eq!(write(dir.path(), "p", &stage, &RealDisk, &of(session)).unwrap(), number);
        }
        assert_eq!(latest(dir.path(), "p", &stage).unwrap().0, 3);
        assert_eq!(of_session(dir.path(), "p", &stage, "two").unwrap().0, 2);
        assert_eq!(of_session(dir.path(), "p", &stage, "nobody"), None);
        assert_eq!(latest(dir.path(), "p", &StageId::new("b")), None);
    }

    proptest! {
        #[test]
        fn any_text_is_one_or_is_refused(text in "\\PC{0,200}") {
            parse(&text).discard("any answer but a panic is fine");
            parse(&format!("version: 2\n{text}")).discard("any answer but a panic is fine");
        }

        #[test]
        fn what_is_written_reads_back(words in proptest::collection::vec(any::<String>(), 1..5), key in "[a-z~: -]{1,8}") {
            let of = |text: &String| Text::from(sprag_base::text::plain(text).trim());
            let written = Handoff {
                discovered_facts: words.iter().map(of).collect(),
                next_actions: vec![of(&words[0])],
                others: [(format!("x{key}"), json!({"list": words, "none": null}))].into_iter().collect(),
                ..Handoff::default()
            };
            let read = parse(&written.text()).unwrap();
            prop_assert_eq!(read.text(), parse(&read.text()).unwrap().text());
            prop_assert_eq!(read.discovered_facts.len(), written.discovered_facts.len());
        }
    }
}
