//! Whether the records are what was written: the chain of the log, the files that clones share in every
//! version that was ever committed, and the proofs, replayed on the commits they are about.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use sprag_base::record::Record;
use sprag_syntax::{Claims, Proof};
use sprag_trace::chain::{self, BrokenChain, ChainFault, ChainName, ChainReader};
use sprag_trace::{Finality, RecordedClassification, TraceRecord};

use super::{classify, commit, records, share};
use crate::git::blobs;
use crate::git::name_search::SearchTree;
use crate::store::journal::lines_of;
use crate::store::projections::each_line;
use crate::store::{Store, chain as book, files_with_ending};
use crate::sys::disk::open_regular;
use crate::sys::exec::read_capped;
use crate::sys::locations::Locations;
use crate::world::World;

/// Versions of one file that are compared, and bytes of it.
const VERSIONS: usize = 1_000;
const BYTES: u64 = 64 * 1024 * 1024;
/// Files of clones.
const CLONES: usize = 100;

/// What was looked at, and what is wrong.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ChainReport {
    pub records: usize,
    pub shared: usize,
    pub versions: usize,
    pub proofs: usize,
    /// Proofs whose sources are not to be had: nothing is committed, or the commit is gone.
    pub unchecked: usize,
    pub problems: Vec<ChainProblem>,
}

/// The first thing that is wrong somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainProblem {
    /// Of the first record that is not what it was.
    pub id: String,
    /// `log`, or a file or commit.
    pub place: String,
    pub why: String,
}

pub fn verify(world: &World<'_>, mut progress: impl FnMut()) -> io::Result<ChainReport> {
    let store = world.store();
    let mut report = ChainReport::default();
    log(&store, &mut report)?;
    progress();
    if let Some(project) = world.places.project() {
        shared(&world.places, &store, &project, &mut report)?;
    }
    progress();
    for found in records::own(&store)? {
        proof(&world.places, &found.record, &found.trace, &mut report);
        progress();
    }
    Ok(report)
}

fn log(store: &Store, report: &mut ChainReport) -> io::Result<()> {
    // Before the log: what is written meanwhile is behind it.
    let noted = book::noted(store);
    let mut walk = ChainReader::default();
    let mut broken: Option<BrokenChain> = None;
    for path in store.log_files() {
        each_line(&path, 0, |line| {
            if broken.is_none() {
                broken = walk.read_line(line).err();
            }
        })?;
    }
    report.records = walk.count();
    if let Some(broken) = broken {
        report.problems.push(to_problem(broken, "log"));
        return Ok(());
    }
    for book in ChainName::ALL {
        let last = noted.as_ref().and_then(|noted| noted.last(book));
        if let Some(last) = last.filter(|last| !walk.has(&last.sum)) {
            let broken = BrokenChain { id: last.id.clone(), why: ChainFault::Missing(book) };
            report.problems.push(to_problem(broken, "log"));
        }
    }
    Ok(())
}

fn to_problem(broken: BrokenChain, place: &str) -> ChainProblem {
    let why = match broken.why {
        ChainFault::Behind { line } => {
            format!("line {line} does not follow the one before it: that was changed, removed or moved")
        }
        ChainFault::Unreadable { line } => format!("line {line} cannot be read"),
        ChainFault::Missing(book) => {
            format!("the last record of the {} book is missing or changed", book.name())
        }
    };
    ChainProblem { id: broken.id, place: place.to_owned(), why }
}

fn shared(places: &Locations, store: &Store, project: &Path, report: &mut ChainReport) -> io::Result<()> {
    let own = crate::store::clone::known_clone_id(store);
    let logged = share::lines(store)?;
    let mut paths: BTreeMap<String, PathBuf> = BTreeMap::new();
    for path in files_with_ending(&project.join("share"), "jsonl").into_iter().take(CLONES) {
        paths.insert(path.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default(), path);
    }
    // A file that was removed is looked for in the commits.
    if let Some(own) = &own {
        let name = format!("{own}.jsonl");
        paths.entry(name.clone()).or_insert_with(|| project.join("share").join(name));
    }
    for (name, path) in paths {
        let place = format!(".sprag/share/{name}");
        let bytes = open_regular(&path).and_then(|file| read_capped(file, BYTES)).ok();
        let is_own = own.as_ref().is_some_and(|own| name == format!("{own}.jsonl"));
        let before = report.problems.len();
        let now = bytes.as_deref().map(finals).unwrap_or_default();
        report.shared += now.len();
        hold_together(&now, &place, report);
        let mut versions = committed(places, &place, report);
        versions.extend(bytes.is_some().then(|| (place.clone(), now)));
        // Whatever is told anywhere begins as the log does.
        if is_own {
            versions.push(("log".to_owned(), logged.clone()));
        }
        if report.problems.len() == before {
            prefixes(&versions, report);
        }
    }
    Ok(())
}

/// The lines of a file that are final records.
fn finals(bytes: &[u8]) -> Vec<Vec<u8>> {
    lines_of(bytes)
        .filter(|line| share::is_final(line))
        .map(|line| line.strip_suffix(b"\n").unwrap_or(line).to_vec())
        .collect()
}

fn hold_together(lines: &[Vec<u8>], place: &str, report: &mut ChainReport) {
    let mut walk = ChainReader::default();
    if let Some(broken) = lines.iter().find_map(|line| walk.read_line(line).err()) {
        report.problems.push(to_problem(broken, place));
    }
}

/// Every committed version, and that none of them takes something back from the one before.
fn committed(places: &Locations, path: &str, report: &mut ChainReport) -> Vec<(String, Vec<Vec<u8>>)> {
    let Some(worktree) = &places.worktree else {
        return Vec::new();
    };
    let commits = blobs::versions(places, path, VERSIONS).unwrap_or_default();
    let sides = commits.iter().flat_map(|commit| commit.files.iter().map(move |file| (commit, file)));
    let sides: Vec<_> = sides.collect();
    let blob = |side: &Option<blobs::Blob>| side.as_ref().map_or_else(String::new, |blob| blob.name.clone());
    let names: Vec<String> = sides.iter().flat_map(|(_, file)| [blob(&file.from), blob(&file.to)]).collect();
    let Some(bytes) = blobs::blobs(worktree, &names) else {
        return Vec::new();
    };
    let mut versions = Vec::new();
    for ((commit, _), pair) in sides.iter().zip(bytes.chunks_exact(2)) {
        report.versions += 1;
        let (from, to) = (pair[0].as_deref().unwrap_or_default(), pair[1].as_deref().unwrap_or_default());
        let place = format!("{path} in commit {}", commit.name);
        let (old, new) = (finals(from), finals(to));
        // A merge may bring lines of other kinds together in any order; what is final has only one.
        if commit.parents.len() < 2 && !to.starts_with(from) {
            let at = old.iter().zip(&new).position(|(a, b)| a != b).unwrap_or(old.len().min(new.len()));
            let line = old.get(at).or_else(|| old.last());
            report.problems.push(ChainProblem {
                id: line.map(|line| id_of(line)).unwrap_or_default(),
                place: place.clone(),
                why: "it does not begin as the version before it did".to_owned(),
            });
            return Vec::new();
        }
        versions.push((place, new));
    }
    versions
}

/// Each of these is the beginning of the next longer one.
fn prefixes(versions: &[(String, Vec<Vec<u8>>)], report: &mut ChainReport) {
    let mut sorted: Vec<&(String, Vec<Vec<u8>>)> = versions.iter().collect();
    sorted.sort_by_key(|(_, lines)| lines.len());
    for pair in sorted.windows(2) {
        let ((place, short), (other, long)) = (pair[0], pair[1]);
        let plain = |line: &Vec<u8>| chain::sum_of(line);
        if let Some((line, _)) = short.iter().zip(long).find(|(a, b)| plain(a) != plain(b)) {
            let why = format!("it is not what {other} has in its place");
            report.problems.push(ChainProblem { id: id_of(line), place: place.clone(), why });
            return;
        }
    }
    // What is final is in the log before it is anywhere else.
    if let (Some((_, log)), Some((place, longest))) =
        (versions.iter().find(|(place, _)| place == "log"), sorted.last())
        && log.len() < longest.len()
    {
        let why = format!("{place} has it, and the log has not");
        report.problems.push(ChainProblem { id: id_of(&longest[log.len()]), place: "log".to_owned(), why });
    }
}

fn id_of(line: &[u8]) -> String {
    Record::parse(line).map(|record| record.id).unwrap_or_default()
}

/// Replays the proof of a commit on what the commit has.
fn proof(places: &Locations, record: &Record, trace: &TraceRecord, report: &mut ChainReport) {
    let RecordedClassification::Proved { proof, .. } = &trace.verdict else {
        return;
    };
    let Finality::Final { revision, base } = &trace.stage else {
        report.unchecked += 1;
        return;
    };
    let base = base.as_ref().map(|base| base.as_str());
    let Some(sides) = commit::sides_of(places, base, revision.as_str()) else {
        report.unchecked += 1;
        return;
    };
    let sides: Vec<classify::FileSides<'_>> = sides
        .iter()
        .map(|(path_before, path_after, before, after)| classify::FileSides {
            path_before: path_before.as_deref(),
            path_after: path_after.as_deref(),
            before: before.as_deref(),
            after: after.as_deref(),
        })
        .collect();
    let why = match serde_json::from_value::<Proof>(proof.clone()) {
        Err(_) => Some("its proof cannot be read".to_owned()),
        Ok(proof) => match sprag_syntax::check(&classify::change(&sides), &proof) {
            Err(refused) => Some(format!("its proof does not hold: {}", refused.why)),
            Ok(claims) => stranger(places, revision.as_str(), &claims, &classify::paths(&sides)),
        },
    };
    report.proofs += 1;
    if let Some(why) = why {
        report.problems.push(ChainProblem { id: record.id.clone(), place: "log".to_owned(), why });
    }
}

/// Who else in the commit's tree has a name that a proof takes for its own. Where git cannot say, it is taken as it was told.
fn stranger(places: &Locations, revision: &str, claims: &Claims, paths: &[&str]) -> Option<String> {
    let around = classify::TreeAfter { worktree: places.worktree.as_ref()?, tree: SearchTree::Of(revision) };
    let file = around.stranger(claims, paths).ok()??;
    Some(format!("its proof does not hold: `{file}` has one of the names, too"))
}
