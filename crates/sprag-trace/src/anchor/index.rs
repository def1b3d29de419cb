//! An index of all recorded blocks and units, by commit, bytes and file.
//!
//! Records of other clones count for less, because anyone may write their file: they never overrule a record
//! of this clone. No record counts for lines whose bytes differ from the recorded hash.

use std::collections::{BTreeSet, HashMap, HashSet};

use sprag_base::sha256::Sha256Sum;
use sprag_base::text::Text;

use super::block_search::KnownBlock;
use super::distinctive;
use crate::{ContributorKind, Finality, LineRange, ServedIntent, TraceRecord, TracedUnit};

/// A block that a record names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The index of its record.
    pub source: usize,
    pub path: String,
    pub range: LineRange,
}

/// A function or type that a record names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitAnchor {
    pub source: usize,
    pub hash: Text<80>,
    pub is_whole: bool,
}

/// The record that an anchor belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct AnchorRecord {
    pub record: Text<64>,
    pub origin: RecordOrigin,
    pub trace: TraceRecord,
}

/// The clone that wrote the record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordOrigin {
    Own,
    Clone(Text<64>),
}

/// The writer of a line according to a record. Two anchors with equal writers do not contradict each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineWriter<'a> {
    Intent(&'a str),
    Nobody(ContributorKind),
}

#[derive(Clone, Debug, Default)]
pub struct Anchors {
    pub sources: Vec<AnchorRecord>,
    pub all: Vec<Anchor>,
    pub units: Vec<UnitAnchor>,
    at: HashMap<(String, String), Vec<usize>>,
    revisions: BTreeSet<String>,
}

impl Anchors {
    /// Builds the index. The records come in the order in which they were written.
    pub fn from_records(records: impl IntoIterator<Item = AnchorRecord>) -> Anchors {
        let sources: Vec<AnchorRecord> = records.into_iter().collect();
        let replaced = replaced(&sources);
        let mut anchors = Anchors::default();
        for (source, it) in sources.iter().enumerate() {
            let revision = it.trace.stage.revision();
            anchors.revisions.extend(revision.map(str::to_owned));
            for file in &it.trace.files {
                if replaced.contains(&(it.record.as_str(), file.path.as_str())) {
                    continue;
                }
                for range in file.ranges.iter().filter(|range| range.start > 0 && range.start <= range.end) {
                    if let Some(revision) = revision {
                        let place = (revision.to_owned(), file.path.clone());
                        anchors.at.entry(place).or_default().push(anchors.all.len());
                    }
                    anchors.all.push(Anchor { source, path: file.path.clone(), range: range.clone() });
                }
                anchors.units.extend(file.units.iter().map(|unit| UnitAnchor {
                    source,
                    hash: unit.hash.clone(),
                    is_whole: covers(&file.ranges, unit),
                }));
            }
        }
        anchors.sources = sources;
        anchors
    }

    /// Returns all commits that records name.
    pub fn revisions(&self) -> impl Iterator<Item = &str> {
        self.revisions.iter().map(String::as_str)
    }

    pub fn has_revision(&self, revision: &str) -> bool {
        self.revisions.contains(revision)
    }

    /// Returns the files that records of this commit name.
    pub fn paths_at<'a>(&'a self, revision: &'a str) -> impl Iterator<Item = &'a str> {
        let of = self.sources.iter().filter(move |it| it.trace.stage.revision() == Some(revision));
        of.flat_map(|it| &it.trace.files).map(|file| file.path.as_str())
    }

    pub fn source(&self, anchor: usize) -> &AnchorRecord {
        &self.sources[self.all[anchor].source]
    }

    pub fn writer(&self, anchor: usize) -> LineWriter<'_> {
        writer(self.source(anchor), self.all[anchor].range.contributor.as_ref().map(|it| it.kind))
    }

    pub fn writer_of(&self, source: usize) -> LineWriter<'_> {
        writer(&self.sources[source], None)
    }

    /// Returns the intent that the lines of an anchor served.
    pub fn served(&self, anchor: usize) -> Option<&ServedIntent> {
        let is_served = matches!(self.writer(anchor), LineWriter::Intent(_));
        self.source(anchor).trace.intent.as_ref().filter(|_| is_served)
    }

    /// Returns the first anchor of this record in this file.
    pub fn of_record(&self, record: &str, path: &str) -> Option<usize> {
        self.all.iter().position(|it| it.path == path && self.sources[it.source].record.as_str() == record)
    }

    /// Returns commit and path of the files that had exactly these bytes.
    pub fn with_after(&self, sum: Sha256Sum) -> Vec<(&str, &str)> {
        let mut found = Vec::new();
        for source in &self.sources {
            let Some(revision) = source.trace.stage.revision() else { continue };
            let files = source.trace.files.iter().filter(|file| file.after == Some(sum));
            found.extend(files.map(|file| (revision, file.path.as_str())));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the recorded writer for each line of a file at a commit. Blocks whose bytes differ from the
    /// record are ignored.
    pub fn lines_at(&self, revision: &str, path: &str, lines: &[&[u8]]) -> Vec<LineClaim> {
        let mut said = vec![LineClaim::Nothing; lines.len()];
        let place = (revision.to_owned(), path.to_owned());
        for &anchor in self.at.get(&place).into_iter().flatten() {
            let LineRange { start, end, content_hash, .. } = &self.all[anchor].range;
            let Some(block) = lines.get(*start as usize - 1..*end as usize) else { continue };
            if Sha256Sum::hash_bytes(&block.concat()) != *content_hash {
                continue;
            }
            for line in &mut said[*start as usize - 1..*end as usize] {
                *line = self.with(*line, anchor);
            }
        }
        said
    }

    /// Combines an earlier claim about a line with another anchor.
    fn with(&self, said: LineClaim, anchor: usize) -> LineClaim {
        let is_own = |anchor: usize| self.source(anchor).origin == RecordOrigin::Own;
        match said {
            LineClaim::Nothing => LineClaim::By(anchor),
            LineClaim::By(other) if is_own(anchor) != is_own(other) => {
                LineClaim::By(if is_own(anchor) { anchor } else { other })
            }
            LineClaim::By(other) if self.writer(other) == self.writer(anchor) => LineClaim::By(anchor),
            // Own anchors that disagree stay disputed; records of other clones cannot decide.
            LineClaim::By(other) => LineClaim::Disputed { by_own: is_own(other) },
            LineClaim::Disputed { by_own: false } if is_own(anchor) => LineClaim::By(anchor),
            LineClaim::Disputed { by_own } => LineClaim::Disputed { by_own },
        }
    }

    /// Returns the blocks that can be found by their bytes alone.
    pub fn wanted(&self) -> Vec<KnownBlock> {
        self.wanted_of(|_| true)
    }

    pub fn wanted_of(&self, fits: impl Fn(&Anchor) -> bool) -> Vec<KnownBlock> {
        let anchors = self.all.iter().enumerate().filter(|(_, anchor)| fits(anchor));
        anchors
            .map(|(owner, anchor)| KnownBlock {
                len: (anchor.range.end - anchor.range.start + 1) as usize,
                sum: anchor.range.content_hash,
                owner,
            })
            .collect()
    }

    /// Returns an anchor if all anchors name the same writer. Prefers a record of this clone.
    pub fn agreed(&self, anchors: &[usize]) -> Option<usize> {
        let own = |anchor: &&usize| self.source(**anchor).origin == RecordOrigin::Own;
        let first = *anchors.iter().find(own).or(anchors.first())?;
        anchors.iter().all(|&anchor| self.writer(anchor) == self.writer(first)).then_some(first)
    }
}

/// The recorded writer of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineClaim {
    Nothing,
    By(usize),
    Disputed { by_own: bool },
}

/// Returns the writer of a source. Lines of a human or of an unknown contributor never count for the intent.
fn writer(source: &AnchorRecord, who: Option<ContributorKind>) -> LineWriter<'_> {
    match (&source.trace.intent, who) {
        (_, Some(who @ (ContributorKind::Human | ContributorKind::Unknown))) => LineWriter::Nobody(who),
        (Some(intent), _) => LineWriter::Intent(intent.id.as_str()),
        (None, who) => LineWriter::Nobody(who.unwrap_or(source.trace.contributor.kind)),
    }
}

/// Returns provisional records, by file, that a later record of the same clone replaced. A final record is
/// never replaced, because users may still have a commit that was rewritten elsewhere.
fn replaced(sources: &[AnchorRecord]) -> HashSet<(&str, &str)> {
    let of: HashMap<&str, &AnchorRecord> = sources.iter().map(|it| (it.record.as_str(), it)).collect();
    let mut replaced = HashSet::new();
    for source in sources {
        for file in &source.trace.files {
            for id in &file.supersedes {
                let Some(old) = of.get(id.as_str()).filter(|old| old.origin == source.origin) else {
                    continue;
                };
                if !matches!(old.trace.stage, Finality::Provisional { .. }) {
                    continue;
                }
                let names = [Some(&file.path), file.from.as_ref()].into_iter().flatten();
                replaced.extend(names.map(|path| (old.record.as_str(), path.as_str())));
            }
        }
    }
    replaced
}

/// Reports whether the ranges cover every line of a unit.
fn covers(ranges: &[LineRange], unit: &TracedUnit) -> bool {
    let mut next = unit.start;
    let mut sorted: Vec<&LineRange> = ranges.iter().collect();
    sorted.sort();
    for range in sorted {
        if range.start <= next && range.end >= next {
            next = range.end.saturating_add(1);
        }
    }
    next > unit.end
}

/// The number of distinctive lines by which a block can be found from its bytes alone.
pub const LEAST: usize = 3;

/// Reports whether a block can be found by its bytes alone.
pub fn is_enough(lines: &[&[u8]]) -> bool {
    distinctive::count(lines) >= LEAST
}
