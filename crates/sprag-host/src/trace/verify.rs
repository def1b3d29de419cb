//! Verifies the records: the chain of the log, all committed versions of the shared files, and the proofs,
//! replayed on their commits.

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

/// Most versions of one file that are compared.
const VERSIONS: usize = 1_000;
/// Most bytes of one file.
const BYTES: u64 = 64 * 1024 * 1024;
/// Most files of clones.
const CLONES: usize = 100;

/// Result of the verification.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ChainReport {
    pub records: usize,
    pub shared: usize,
    pub versions: usize,
    pub proofs: usize,
    /// Proofs that cannot be checked: nothing is committed, or the commit is gone.
    pub unchecked: usize,
    pub problems: Vec<ChainProblem>,
}

/// First problem of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainProblem {
    /// Id of the first wrong record.
    pub id: String,
    /// Place of the problem: `log`, a file or a commit.
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
    // Read the note before the log: later lines are after it.
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
            format!("line {line} does not follow the line before it, which was changed, removed or moved")
        }
        ChainFault::Unreadable { line } => format!("line {line} is not readable"),
        ChainFault::Missing(book) => {
            format!("the last record of the {} chain is missing or changed", book.name())
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
    // A removed file is searched in the commits.
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
        // Every version must start like the log.
        if is_own {
            versions.push(("log".to_owned(), logged.clone()));
        }
        if report.problems.len() == before {
            prefixes(&versions, report);
        }
    }
    Ok(())
}

/// Returns the final records of a file.
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

/// Returns all committed versions. Reports a version that does not start with the one before it.
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
        // A merge may reorder lines of other kinds; final lines have only one order.
        if commit.parents.len() < 2 && !to.starts_with(from) {
            let at = old.iter().zip(&new).position(|(a, b)| a != b).unwrap_or(old.len().min(new.len()));
            let line = old.get(at).or_else(|| old.last());
            report.problems.push(ChainProblem {
                id: line.map(|line| id_of(line)).unwrap_or_default(),
                place: place.clone(),
                why: "this version does not start with the version before it".to_owned(),
            });
            return Vec::new();
        }
        versions.push((place, new));
    }
    versions
}

/// Checks that each version is a prefix of the next longer one.
fn prefixes(versions: &[(String, Vec<Vec<u8>>)], report: &mut ChainReport) {
    let mut sorted: Vec<&(String, Vec<Vec<u8>>)> = versions.iter().collect();
    sorted.sort_by_key(|(_, lines)| lines.len());
    for pair in sorted.windows(2) {
        let ((place, short), (other, long)) = (pair[0], pair[1]);
        let plain = |line: &Vec<u8>| chain::sum_of(line);
        if let Some((line, _)) = short.iter().zip(long).find(|(a, b)| plain(a) != plain(b)) {
            let why = format!("this record differs from the one in {other}");
            report.problems.push(ChainProblem { id: id_of(line), place: place.clone(), why });
            return;
        }
    }
    // A final record is written to the log first.
    if let (Some((_, log)), Some((place, longest))) =
        (versions.iter().find(|(place, _)| place == "log"), sorted.last())
        && log.len() < longest.len()
    {
        let why = format!("this record is in {place} but not in the log");
        report.problems.push(ChainProblem { id: id_of(&longest[log.len()]), place: "log".to_owned(), why });
    }
}

fn id_of(line: &[u8]) -> String {
    Record::parse(line).map(|record| record.id).unwrap_or_default()
}

/// Replays the proof of a commit on the files of the commit.
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
        Err(_) => Some("the proof is not readable".to_owned()),
        Ok(proof) => match sprag_syntax::check(&classify::change(&sides), &proof) {
            Err(refused) => Some(format!("the proof is invalid: {}", refused.why)),
            Ok(claims) => stranger(places, revision.as_str(), &claims, &classify::paths(&sides)),
        },
    };
    report.proofs += 1;
    if let Some(why) = why {
        report.problems.push(ChainProblem { id: record.id.clone(), place: "log".to_owned(), why });
    }
}

/// Returns a problem if another file in the commit's tree uses a name that the proof claims. If git fails,
/// the proof is accepted.
fn stranger(places: &Locations, revision: &str, claims: &Claims, paths: &[&str]) -> Option<String> {
    let around = classify::TreeAfter { worktree: places.worktree.as_ref()?, tree: SearchTree::Of(revision) };
    let file = around.stranger(claims, paths).ok()??;
    Some(format!("the proof is invalid: `{file}` also uses one of the names"))
}
