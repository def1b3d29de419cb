//! `sprag memory backfill`: asks the judge for learnings from past sessions.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use sprag_base::digest::Digest;
use sprag_base::ids::SessionId;
use sprag_base::text::{Text, one_line};
use sprag_govern::event::Actor;
use sprag_host::memory::judge::consult;
use sprag_host::report::submit::{Submitter, hand_in};
use sprag_host::store::projections::each_line;
use sprag_host::store::{Store, files_with_ending, new_record};
use sprag_host::sys::disk::{RealDisk, read_small};
use sprag_host::sys::locations;
use sprag_host::world::World;
use sprag_memory::backfill::{self, BackfillRecord, TURNS, TranscriptTurn};
use sprag_memory::learning;
use sprag_memory::records::MemoryRecord;

use crate::commands::{CommandCx, CommandResult, check_not_agent, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

/// Ask the judge for learnings from past sessions
///
/// Without `--apply`, prints the sessions and their cost in tokens. Candidates pass the write gate with low
/// confidence. A session is read only once, so you can interrupt the command.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Transcript files (default: those that Claude Code keeps for this project)
    transcripts: Vec<PathBuf>,
    /// Ask the judge (`memory.judge`) and store what it finds (people only)
    #[arg(long)]
    apply: bool,
    /// Maximum number of sessions
    #[arg(long, default_value_t = 20)]
    limit: usize,
    #[command(flatten)]
    format: OutputFormat,
}

/// Largest transcript that is read, in bytes. Sessions with all their tool results are smaller.
const BYTES: u64 = 64 * 1024 * 1024;

/// A past session that the judge reads.
struct PastSession {
    path: PathBuf,
    session: SessionId,
    /// Key of the transcript and its length: a transcript that grew has another key.
    key: Text<64>,
    turns: Vec<TranscriptTurn>,
    question: Vec<u8>,
}

pub(crate) fn run(args: Args, cx: &CommandCx) -> CommandResult {
    let world = cx.world()?;
    let paths = if args.transcripts.is_empty() { kept(&world, cx) } else { args.transcripts.clone() };
    let read = already(&world.store())?;
    let past: Vec<PastSession> = paths
        .iter()
        .filter_map(|path| read_session(path))
        .filter(|past| !read.contains(&past.key.to_string()))
        .take(args.limit)
        .collect();
    // A token has about four characters.
    let tokens: usize = past.iter().map(|past| past.question.len() / 4).sum();
    if !args.apply {
        return show(
            args.format,
            || {
                let sessions: Vec<Value> = past
                    .iter()
                    .map(|it| json!({"session": it.session, "transcript": it.path, "turns": it.turns.len(), "tokens": it.question.len() / 4}))
                    .collect();
                json!({"dry_run": true, "sessions": sessions, "tokens": tokens})
            },
            || {
                for it in &past {
                    output::line(format!(
                        "{}  {} turns, about {} tokens",
                        it.session.as_str(),
                        it.turns.len(),
                        it.question.len() / 4
                    ));
                }
                output::line(format!(
                    "{} sessions to read, about {tokens} tokens in total\n  next: sprag memory backfill --apply",
                    past.len()
                ));
            },
        );
    }
    check_not_agent(&world.places)?;
    if world.config.settings.memory.judge.is_empty() {
        return Err(Failure::no_memory_judge());
    }
    output::note(format!("sprag: {} questions, about {tokens} tokens", past.len()));
    let bar = output::progress(past.len() as u64, "reading");
    let mut found = Vec::new();
    for it in &past {
        found.push(ask(&world, it, cx)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    show(
        args.format,
        || json!({"dry_run": false, "sessions": found, "tokens": tokens}),
        || {
            for session in &found {
                let text = |name: &str| one_line(session[name].as_str().unwrap_or_default());
                output::line(format!("{}: {}", text("session"), text("came")));
            }
        },
    )
}

/// Asks the judge about one session, submits its candidates, and records that the session was read.
fn ask(world: &World<'_>, past: &PastSession, cx: &CommandCx) -> Result<Value, Failure> {
    let answer = consult(world, &past.question).map_err(|why| Failure::unanswered(&why))?;
    let (came, count) = match backfill::submission(&answer) {
        Err(what) => (format!("the answer has the wrong form: {what}"), 0),
        Ok(submission) if submission["candidates"].as_array().is_some_and(Vec::is_empty) => {
            ("nothing".to_owned(), 0)
        }
        Ok(submission) => {
            let text = submission.to_string();
            match learning::submission(&text) {
                Err(unreadable) => (unreadable.to_string(), 0),
                Ok(_) => {
                    let hand =
                        Submitter { session: &past.session, actor: &Actor::Main, cwd: &cx.cwd, now: cx.now };
                    let handed = hand_in(world, &hand, &text, None)?;
                    let told = format!(
                        "{} kept, {} not kept",
                        handed.accepted.len(),
                        handed.rejected.len() + handed.similar.len()
                    );
                    (told, handed.accepted.len())
                }
            }
        }
    };
    let body =
        BackfillRecord { transcript: past.key.clone(), candidates: u32::try_from(count).unwrap_or(u32::MAX) };
    let record = new_record::record(&MemoryRecord::Retroflected(body), cx.now, Some(&past.session), None);
    world.store().log(&RealDisk, &[record])?;
    Ok(json!({"session": past.session, "transcript": past.path, "came": came, "kept": count}))
}

/// Returns a past session. `None` if the file is not a transcript or has too few turns.
fn read_session(path: &Path) -> Option<PastSession> {
    let text = read_small(path, BYTES).ok()?;
    let turns = backfill::turns(&text);
    if backfill::user_turns(&turns) < TURNS {
        return None;
    }
    let name = path.file_stem()?.to_string_lossy().into_owned();
    let key = Digest::hash_parts([name.as_bytes(), text.len().to_string().as_bytes()]);
    let question = backfill::question(&turns);
    Some(PastSession {
        path: path.to_owned(),
        session: SessionId::new(name),
        key: Text::new(key.to_string()),
        turns,
        question,
    })
}

/// Returns the transcripts that Claude Code keeps of sessions in this worktree, newest first.
fn kept(world: &World<'_>, cx: &CommandCx) -> Vec<PathBuf> {
    let (Some(home), Some(root)) = (locations::home(&cx.env), &world.places.worktree) else {
        return Vec::new();
    };
    let name: String =
        root.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let mut found = files_with_ending(&home.join(".claude/projects").join(name), "jsonl");
    found.sort_by_key(|path| std::cmp::Reverse(fs::metadata(path).and_then(|it| it.modified()).ok()));
    found
}

/// Returns the keys of the transcripts that were read before.
fn already(store: &Store) -> Result<Vec<String>, Failure> {
    let mut found = Vec::new();
    for path in store.log_files() {
        each_line(&path, 0, |line| {
            if line.starts_with(br#"{"v":1,"kind":"retroflect""#)
                && let Ok(record) = serde_json::from_slice::<Value>(line)
                && let Some(key) = record["body"]["transcript"].as_str()
            {
                found.push(key.to_owned());
            }
        })?;
    }
    Ok(found)
}
