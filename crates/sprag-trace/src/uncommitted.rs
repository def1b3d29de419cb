//! The lines that no commit holds yet, and their authors: a fold of the records. Each record names the lines
//! that it removed and added. So the fold follows the lines of earlier records without their text.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use sprag_base::ids::SessionId;
use sprag_base::record::{Projection, Record};
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::sha256::Sha256Sum;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_intent::DeclaredClass;

use super::{ChangeRecord, Contributor, Finality, KIND, LineRange, ServedIntent, TraceRecord, TracedFile};

/// At most this many files of one worktree, and records of one file.
const PATHS: usize = 5_000;
const RECORDS: usize = 1_000;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UncommittedLines {
    /// Files by worktree and path.
    places: BTreeMap<String, BTreeMap<String, Pending>>,
}

/// A file that differs from every commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// The hash of the file at the last record; `None`: the file was deleted.
    pub after: Option<Sha256Sum>,
    /// The commit that was checked out at the first of these records.
    pub base: Option<Text<64>>,
    /// The records that changed the file since then, oldest first.
    pub writers: Vec<RecordWriter>,
    /// Owned lines in order, numbered as in `after`.
    pub owned: Vec<OwnedLines>,
    /// Records of stops that judged the file. They replace the earlier records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judged: Vec<RecordWriter>,
    /// Commits that hold a part of the changes and have a record of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<Text<64>>,
}

/// A record and its author.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordWriter {
    pub record: Text<64>,
    pub at: Timestamp,
    #[serde(flatten)]
    pub author: LineAuthor,
}

/// The fields that distinguish authors of lines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LineAuthor {
    pub session: Option<SessionId>,
    pub intent: Option<ServedIntent>,
    pub declared: Option<Declared>,
    pub contributor: Contributor,
}

/// [`DeclaredClass`] with an order, which authors need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Declared {
    Refactor,
    Evolution,
}

impl From<DeclaredClass> for Declared {
    fn from(class: DeclaredClass) -> Declared {
        match class {
            DeclaredClass::Refactor => Declared::Refactor,
            DeclaredClass::Evolution => Declared::Evolution,
        }
    }
}

impl From<Declared> for DeclaredClass {
    fn from(declared: Declared) -> DeclaredClass {
        match declared {
            Declared::Refactor => DeclaredClass::Refactor,
            Declared::Evolution => DeclaredClass::Evolution,
        }
    }
}

/// Lines from `start` to before `end`, counted from 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnedLines {
    pub start: usize,
    pub end: usize,
    /// The index in the writers of the file.
    pub by: usize,
}

impl UncommittedLines {
    /// Returns the files of one worktree.
    pub fn files_in(&self, place: &str) -> impl Iterator<Item = (&str, &Pending)> {
        self.places.get(place).into_iter().flatten().map(|(path, pending)| (path.as_str(), pending))
    }

    pub fn get(&self, place: &str, path: &str) -> Option<&Pending> {
        self.places.get(place)?.get(path)
    }

    fn see(&mut self, record: &Record, trace: &TraceRecord) {
        let Finality::Provisional { base } = &trace.stage else {
            return;
        };
        let writer = RecordWriter::from_record(record, trace);
        let place = trace.place.as_ref().map(Text::to_string).unwrap_or_default();
        let files = self.places.entry(place).or_default();
        for file in &trace.files {
            // Another record has reported this state already. This happens when Sprag writes a record twice
            // around a crash.
            if file.after.is_some() && files.get(&file.path).is_some_and(|known| known.after == file.after) {
                continue;
            }
            let known = file.from.as_ref().and_then(|from| files.remove(from));
            let known = known.or_else(|| files.remove(&file.path));
            let pending = known.filter(|known| known.writers.len() < RECORDS).unwrap_or_else(|| Pending {
                after: file.before,
                base: base.clone(),
                writers: Vec::new(),
                owned: Vec::new(),
                judged: Vec::new(),
                commits: Vec::new(),
            });
            if files.len() < PATHS {
                files.insert(file.path.clone(), pending.with(writer.clone(), file, trace));
            }
        }
    }

    fn judge(&mut self, record: &Record, trace: &TraceRecord) {
        let place = trace.place.as_ref().map(Text::as_str).unwrap_or_default();
        let Some(files) = self.places.get_mut(place) else {
            return;
        };
        for file in &trace.files {
            if let Some(pending) = files.get_mut(&file.path).filter(|it| it.judged.len() < RECORDS) {
                pending.judged.push(RecordWriter::from_record(record, trace));
            }
        }
    }

    /// Drops files that now equal their commit.
    fn settle(&mut self, trace: &TraceRecord) {
        let place = trace.place.as_ref().map(Text::as_str).unwrap_or_default();
        let Some(files) = self.places.get_mut(place) else {
            return;
        };
        for file in &trace.files {
            let is_it = |path: &String| *path == file.path || file.from.as_ref() == Some(path);
            files.retain(|path, pending| !is_it(path) || pending.after != file.after);
            for (_, pending) in files.iter_mut().filter(|(path, _)| is_it(path)) {
                let revision = trace.stage.revision().map(Text::from);
                pending.commits.extend(revision.filter(|it| !pending.commits.contains(it)));
                let excess = pending.commits.len().saturating_sub(RECORDS);
                pending.commits.drain(..excess);
            }
        }
        if files.is_empty() {
            self.places.remove(place);
        }
    }
}

impl Projection for UncommittedLines {
    const NAME: &'static str = "trace-open";
    const VERSION: u32 = 1;
    const KINDS: &'static [&'static str] = &[KIND];

    fn apply(&mut self, record: &Record) {
        match ChangeRecord::read(record) {
            Some(ChangeRecord::Seen(trace)) => self.see(record, &trace),
            Some(ChangeRecord::Judged(trace)) => self.judge(record, &trace),
            Some(ChangeRecord::Final(trace)) => self.settle(&trace),
            Some(ChangeRecord::Rewritten(_)) | None => {}
        }
    }
}

impl RecordWriter {
    fn from_record(record: &Record, trace: &TraceRecord) -> RecordWriter {
        let author = LineAuthor {
            session: trace.session(record).cloned(),
            intent: trace.intent.clone(),
            declared: trace.declared.map(Declared::from),
            contributor: trace.contributor.clone(),
        };
        RecordWriter { record: Text::from(record.id.as_str()), at: record.at, author }
    }
}

impl Pending {
    fn with(mut self, writer: RecordWriter, file: &TracedFile, trace: &TraceRecord) -> Pending {
        let by = self.writers.len();
        // The file changed without a record, so the owners of the other lines are unknown.
        if self.after != file.before || trace.is_cut {
            self.owned.clear();
        }
        self.owned = moved(&self.owned, &spans(&file.deleted), &spans(&file.ranges), by);
        self.writers.push(writer);
        self.after = file.after;
        self
    }

    /// Returns the owner of a line, counted from 0.
    pub fn owner(&self, line: usize) -> Option<&RecordWriter> {
        let at = self.owned.partition_point(|owned| owned.end <= line);
        let owned = self.owned.get(at).filter(|owned| owned.start <= line)?;
        self.writers.get(owned.by)
    }

    /// Returns the records of an author, including records of stops.
    pub fn records_of<'a>(&'a self, author: &'a LineAuthor) -> impl Iterator<Item = &'a Text<64>> {
        let all = self.writers.iter().chain(&self.judged);
        all.filter(move |writer| writer.author == *author).map(|writer| &writer.record)
    }

    /// Returns the author if all writers are the same author.
    pub fn only_author(&self) -> Option<&LineAuthor> {
        let first = &self.writers.first()?.author;
        self.writers.iter().all(|writer| writer.author == *first).then_some(first)
    }
}

fn spans(ranges: &[LineRange]) -> Vec<(usize, usize)> {
    let mut spans: Vec<(usize, usize)> = ranges
        .iter()
        .map(|range| ((range.start as usize).saturating_sub(1), range.end as usize))
        .filter(|(start, end)| start < end)
        .collect();
    spans.sort_unstable();
    spans
}

/// Shifts owned lines past removed and added lines. The added lines belong to `by`.
fn moved(
    owned: &[OwnedLines],
    gone: &[(usize, usize)],
    came: &[(usize, usize)],
    by: usize,
) -> Vec<OwnedLines> {
    let mut kept: Vec<OwnedLines> = Vec::new();
    let (mut at, mut before) = (0, 0);
    for owned in owned {
        let mut start = owned.start;
        while start < owned.end {
            while gone.get(at).is_some_and(|span| span.1 <= start) {
                before += gone[at].1 - gone[at].0;
                at += 1;
            }
            let next = gone.get(at).copied().unwrap_or((usize::MAX, usize::MAX));
            if next.0 <= start {
                start = next.1.min(owned.end);
                continue;
            }
            let end = owned.end.min(next.0);
            // Saturates, because a damaged record must not crash the program.
            let shifted = |line: usize| line.saturating_sub(before);
            kept.push(OwnedLines { start: shifted(start), end: shifted(end), by: owned.by });
            start = end;
        }
    }
    let mut out: Vec<OwnedLines> = Vec::new();
    let (mut next, mut shift) = (0, 0);
    for owned in kept {
        let mut start = owned.start;
        while start < owned.end {
            while came.get(next).is_some_and(|span| span.0 <= start + shift) {
                let span = came[next];
                out.push(OwnedLines { start: span.0, end: span.1, by });
                shift += span.1 - span.0;
                next += 1;
            }
            let room = came.get(next).map_or(usize::MAX, |span| span.0.saturating_sub(shift)).max(start + 1);
            let end = owned.end.min(room);
            out.push(OwnedLines { start: start + shift, end: end + shift, by: owned.by });
            start = end;
        }
    }
    out.extend(came[next..].iter().map(|span| OwnedLines { start: span.0, end: span.1, by }));
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{ChangeSource, RecordedClassification, blocks};

    fn seen(id: &str, before: Option<&str>, after: Option<&str>) -> Record {
        let found =
            blocks::between(before.unwrap_or_default().as_bytes(), after.unwrap_or_default().as_bytes());
        let file = TracedFile {
            path: "a".to_owned(),
            before: before.map(|text| Sha256Sum::hash_bytes(text.as_bytes())),
            after: after.map(|text| Sha256Sum::hash_bytes(text.as_bytes())),
            ranges: found.ranges,
            deleted: found.deleted,
            ..TracedFile::default()
        };
        let trace = TraceRecord {
            stage: Finality::Provisional { base: None },
            source: ChangeSource::Found,
            place: None,
            session: None,
            intent: Some(ServedIntent { id: Text::from(id), fingerprint: Text::default() }),
            declared: None,
            contributor: Contributor::ai(None),
            verdict: RecordedClassification::unproven("language"),
            files: vec![file],
            is_cut: false,
            prev: None,
        };
        let mut record = ChangeRecord::Seen(trace).record(Timestamp::from_millis(0));
        record.id = id.to_owned();
        record
    }

    fn told(open: &UncommittedLines, count: usize) -> String {
        let pending = open.get("", "a").unwrap();
        let name = |line| pending.owner(line).map_or("-", |writer| writer.record.as_str());
        (0..count).map(name).collect()
    }

    #[test]
    fn lines_are_followed_through_later_changes() {
        let mut open = UncommittedLines::default();
        open.apply(&seen("1", Some("x\ny\n"), Some("x\na\nb\nc\ny\n")));
        assert_eq!(told(&open, 5), "-111-");
        open.apply(&seen("2", Some("x\na\nb\nc\ny\n"), Some("new\nx\na\nB\nc\ny\n")));
        assert_eq!(told(&open, 6), "2-121-");
        open.apply(&seen("3", Some("new\nx\na\nB\nc\ny\n"), Some("c\ny\n")));
        assert_eq!(told(&open, 2), "1-");
    }

    #[test]
    fn what_nobody_saw_is_nobodys() {
        let mut open = UncommittedLines::default();
        open.apply(&seen("1", Some(""), Some("a\nb\n")));
        open.apply(&seen("2", Some("b\na\n"), Some("b\na\nc\n")));
        assert_eq!(told(&open, 3), "--2");
    }

    proptest! {
        /// Every line belongs to its last writer.
        #[test]
        fn a_unique_line_is_its_writers(edits in prop::collection::vec((any::<u16>(), any::<u16>(), 0_usize..4), 1..20)) {
            let mut lines: Vec<(String, String)> = Vec::new();
            let mut open = UncommittedLines::default();
            let mut text = String::new();
            for (n, (from, to, count)) in edits.into_iter().enumerate() {
                let id = char::from(b'a' + n as u8).to_string();
                let (from, to) = (from as usize % (lines.len() + 1), to as usize % (lines.len() + 1));
                let new = (0..count).map(|k| (format!("{id}{k}\n"), id.clone()));
                lines.splice(from.min(to)..from.max(to), new);
                let now: String = lines.iter().map(|(line, _)| line.as_str()).collect();
                open.apply(&seen(&id, Some(&text), Some(&now)));
                text = now;
                let wanted: String = lines.iter().map(|(_, id)| id.as_str()).collect();
                prop_assert_eq!(told(&open, lines.len()), wanted);
            }
        }
    }
}
