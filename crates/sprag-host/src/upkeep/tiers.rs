//! Summarizes old small records. Reads the log from the end of the last summary and appends new ones. After a
//! kill, the next run starts at the same place. The rule is [`sprag_memory::lifecycle::tiers`].

use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::Path;

use sprag_base::record::Record;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_memory::lifecycle::tiers::{HOT_DAYS, LogCursor, Summaries, TierSummary, day};
use sprag_memory::records::MemoryRecord;

use super::{StepResult, UpkeepMode, UpkeepStep, When, by};
use crate::store::new_record;
use crate::store::projections::{self, each_line, id_of};
use crate::sys::disk;
use crate::world::World;

pub(crate) const STEP: UpkeepStep =
    UpkeepStep { name: "tiers", about: "old records summarized", when: When::Always, run };

/// Records that one hook reads.
const PER_HOOK: usize = 64;
/// Most records of one summary.
const PER_PART: u64 = 5000;

fn run(world: &World<'_>, mode: UpkeepMode, now: Timestamp) -> io::Result<StepResult> {
    let store = world.store();
    let summaries = projections::load::<Summaries>(&store)?.state;
    let mut left = if mode == UpkeepMode::Bounded { PER_HOOK } else { usize::MAX };
    let mut found = Vec::new();
    let mut read = 0;
    for path in store.log_files() {
        let month = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let from = start(&path, summaries.cursor(&month))?;
        let part = tell(&path, &month, from, left, now)?;
        left = left.saturating_sub(part.read);
        read += part.read;
        found.extend(part.summaries);
    }
    let mut done = StepResult { count: read, lines: Vec::new() };
    let longer = summaries.due(now);
    if !longer.is_empty() {
        done.lines.push(format!("{} weeks and months are summarized", longer.len()));
    }
    found.extend(longer);
    if mode != UpkeepMode::Rehearsal && !found.is_empty() {
        let record = |summary| new_record::record(&MemoryRecord::Summary(summary), now, None, Some(by()));
        store.log(world.disk, &found.into_iter().map(record).collect::<Vec<_>>())?;
    }
    Ok(done)
}

/// Returns the offset to continue at. A replayed log has its records at other offsets.
fn start(path: &Path, cursor: Option<&LogCursor>) -> io::Result<u64> {
    let Some(cursor) = cursor else { return Ok(0) };
    let mut at = 0;
    let (mut known, mut fits) = (None, false);
    let len = each_line(path, 0, |line| {
        at += line.len() as u64;
        if is_of(line, cursor.last.as_str()) {
            known = Some(at);
            fits |= at == cursor.to;
        }
    })?;
    Ok(if fits { cursor.to } else { known.unwrap_or(len) })
}

/// Reports whether a line has this id. Other writers may use another layout.
fn is_of(line: &[u8], id: &str) -> bool {
    match id_of(line) {
        Some(found) => found == id,
        None => Record::parse(line).is_ok_and(|record| record.id == id),
    }
}

#[derive(Default)]
struct SummaryPart {
    read: usize,
    summaries: Vec<TierSummary>,
}

/// Reads up to `most` records older than the hot period.
fn tell(path: &Path, month: &str, from: u64, most: usize, now: Timestamp) -> io::Result<SummaryPart> {
    let hot = now.plus_seconds(-HOT_DAYS * 86_400);
    let mut part = SummaryPart::default();
    let mut file = disk::open_regular(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut reader = BufReader::new(file);
    let (mut line, mut to) = (Vec::new(), from);
    while part.read < most {
        line.clear();
        // A last line without a line feed is still being written.
        if reader.read_until(b'\n', &mut line)? == 0 || line.last() != Some(&b'\n') {
            break;
        }
        to += line.len() as u64;
        let Ok(record) = Record::parse(&line) else { continue };
        if record.at > hot {
            break;
        }
        part.read += 1;
        let is_open = |summary: &TierSummary| summary.of == day(record.at) && summary.records < PER_PART;
        if !part.summaries.last().is_some_and(is_open) {
            part.summaries.push(TierSummary::of_day(record.at));
        }
        let Some(summary) = part.summaries.last_mut() else { break };
        summary.add(&record);
        summary.cursor =
            Some(LogCursor { month: Text::from(month), to, last: Text::from(record.id.as_str()) });
    }
    Ok(part)
}
