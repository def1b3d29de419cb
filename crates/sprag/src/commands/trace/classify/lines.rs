//! Classifies change sets from lines of JSON, in parallel, and answers in order. The caller may wait for each
//! answer before it sends the next line.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Component, Path};
use std::sync::{Mutex, mpsc};
use std::time::Instant;
use std::{fs, thread};

use serde::Deserialize;
use serde_json::Value;

use sprag_syntax::reason::UnprovenReason;
use sprag_syntax::{
    ApiChange, ChangeJudgement, ChangeSet, ChangedFile, Classification, NodeBudget, classify,
};

use super::answer::{self, ClassifyLine};
use crate::commands::{CommandEnd, CommandResult};
use crate::input::{InputLine, next_line};

/// Longest line in bytes; a line may contain whole sources.
const LINE: usize = 64 * 1024 * 1024;
/// Largest source file in bytes.
const SOURCE: u64 = 32 * 1024 * 1024;
/// Stack size for recursion through trees, a few hundred levels at most.
const STACK: usize = 64 * 1024 * 1024;

/// Whether answers contain their duration.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    Told,
    Quiet,
}

#[derive(Deserialize)]
struct WireChange {
    id: Value,
    files: Vec<LinesFile>,
}

#[derive(Deserialize)]
struct LinesFile {
    path_before: Option<String>,
    path_after: Option<String>,
    before: Option<String>,
    after: Option<String>,
    before_text: Option<String>,
    after_text: Option<String>,
}

/// Answers every line of stdin.
pub(crate) fn answer_all(root: &Path, jobs: usize, clock: Clock) -> CommandResult {
    // The queue is bounded, because reading ahead only costs memory.
    let (ask, asked) = mpsc::sync_channel::<(usize, InputLine)>(jobs * 2);
    let (tell, told) = mpsc::channel::<(usize, ClassifyLine)>();
    let asked = Mutex::new(asked);
    let is_bad = thread::scope(|scope| -> io::Result<bool> {
        for _ in 0..jobs {
            let (asked, tell) = (&asked, tell.clone());
            let work = move || {
                loop {
                    let next = asked.lock().map(|asked| asked.recv());
                    let Ok(Ok((number, line))) = next else { return };
                    if tell.send((number, answer_one(root, number, line, clock))).is_err() {
                        return;
                    }
                }
            };
            thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work)?;
        }
        drop(tell);
        let print = scope.spawn(move || print_in_order(&told));
        let mut input = io::stdin().lock();
        let mut number = 0;
        while let Some(line) = next_line(&mut input, LINE)? {
            let is_blank = matches!(&line, InputLine::Whole(bytes) if bytes.trim_ascii().is_empty());
            if is_blank {
                continue;
            }
            number += 1;
            if ask.send((number, line)).is_err() {
                break;
            }
        }
        drop(ask);
        print.join().unwrap_or_else(|_| Err(io::Error::other("printing failed")))
    })?;
    Ok(if is_bad { CommandEnd::BadLines } else { CommandEnd::Done })
}

/// Prints answers in the order of their lines. Returns whether a line was bad.
fn print_in_order(told: &mpsc::Receiver<(usize, ClassifyLine)>) -> io::Result<bool> {
    let mut waiting: BTreeMap<usize, ClassifyLine> = BTreeMap::new();
    let mut next = 1;
    let mut is_bad = false;
    let mut stdout = io::stdout().lock();
    for (number, answer) in told {
        waiting.insert(number, answer);
        while let Some(answer) = waiting.remove(&next) {
            is_bad |= answer.is_bad();
            // The caller may wait for this line before it sends the next one.
            writeln!(stdout, "{}", answer.into_line()).and_then(|()| stdout.flush())?;
            next += 1;
        }
    }
    Ok(is_bad)
}

fn answer_one(root: &Path, number: usize, line: InputLine, clock: Clock) -> ClassifyLine {
    let InputLine::Whole(bytes) = line else { return answer::bad(None, number) };
    let Ok(value) = serde_json::from_slice::<Value>(&bytes) else { return answer::bad(None, number) };
    let id = value.get("id").cloned();
    let Ok(wire) = serde_json::from_value::<WireChange>(value) else { return answer::bad(id, number) };
    let Some(sources) = read_all(root, &wire.files) else { return answer::bad(id, number) };
    if wire.files.is_empty() {
        return answer::bad(id, number);
    }
    let start = Instant::now();
    let change = ChangeSet {
        files: wire
            .files
            .iter()
            .zip(&sources)
            .map(|(file, (before, after))| ChangedFile {
                path_before: file.path_before.as_deref(),
                path_after: file.path_after.as_deref(),
                before: before.as_deref(),
                after: after.as_deref(),
            })
            .collect(),
    };
    let judged = judge(&change);
    let answer = answer::from_judgement(Some(wire.id), &judged);
    match clock {
        Clock::Told => answer.with_ms(start.elapsed().as_secs_f64() * 1000.0),
        Clock::Quiet => answer,
    }
}

/// Classifies a change set. A panic counts as unproven, and the next line is still answered.
fn judge(change: &ChangeSet<'_>) -> ChangeJudgement {
    panic::catch_unwind(AssertUnwindSafe(|| classify(change, NodeBudget::COMMIT))).unwrap_or_else(|_| {
        ChangeJudgement::without_proof(
            Classification::Unproven(UnprovenReason::Ambiguous),
            ApiChange::default(),
        )
    })
}

type LineSources = Vec<(Option<Vec<u8>>, Option<Vec<u8>>)>;

fn read_all(root: &Path, files: &[LinesFile]) -> Option<LineSources> {
    files
        .iter()
        .map(|file| {
            let before = side(root, file.before.as_deref(), file.before_text.as_deref())?;
            let after = side(root, file.after.as_deref(), file.after_text.as_deref())?;
            let has_paths = before.is_some() <= file.path_before.is_some()
                && after.is_some() <= file.path_after.is_some();
            (has_paths && (before.is_some() || after.is_some())).then_some((before, after))
        })
        .collect()
}

/// Returns the bytes of one side. `None` if they cannot be read.
fn side(root: &Path, path: Option<&str>, text: Option<&str>) -> Option<Option<Vec<u8>>> {
    match (path, text) {
        (_, Some(text)) => Some(Some(text.as_bytes().to_vec())),
        (None, None) => Some(None),
        (Some(path), None) => {
            let path = Path::new(path);
            let stays_below =
                path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
            let path = root.join(path);
            // Only regular files are read; a pipe or a device could block.
            if !stays_below || !fs::metadata(&path).ok()?.is_file() {
                return None;
            }
            let mut bytes = Vec::new();
            fs::File::open(&path).ok()?.take(SOURCE + 1).read_to_end(&mut bytes).ok()?;
            (bytes.len() as u64 <= SOURCE).then_some(Some(bytes))
        }
    }
}

/// Runs work that recurses through a tree on a thread with a large stack.
pub(crate) fn on_a_deep_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, work)
            .expect("a thread can be started");
        match thread.join() {
            Ok(value) => value,
            Err(panic) => panic::resume_unwind(panic),
        }
    })
}
