//! Lines of every kind of record that version 0.1 writes, byte for byte. Every later version reads them and
//! writes the same bytes. Lines of these files never change; a new kind or field adds lines.

mod variants;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use sprag_base::record as log;
use sprag_base::record::{Projection, Record};
use sprag_base::record_kinds::TypedRecord;
use sprag_govern::event::EventKind;
use sprag_govern::event_records::{EventRecord, SnapshotRecord};
use sprag_govern::gates;
use sprag_govern::gates::records::GateRecord;
use sprag_govern::gates::review::history::Reviews;
use sprag_govern::history::{self, SessionList};
use sprag_govern::judge::{JudgeRecord, Reliability};
use sprag_govern::obligation::Debts;
use sprag_govern::obligation::records::DebtRecord;
use sprag_govern::session::{Session, UnreadableParts};
use sprag_host::store::journal;
use sprag_host::sys::locations::Locations;
use sprag_host::trace::blame::rewrite_map;
use sprag_intent::{IntentHistories, IntentRecord, IntentStatus};
use sprag_memory::answers::AnsweredQuestions;
use sprag_memory::episode::FailurePatterns;
use sprag_memory::learnings::Learnings;
use sprag_memory::lifecycle::tiers::Summaries;
use sprag_memory::mirror::Mirrored;
use sprag_memory::recall::floor::{Feedback, FloorVersion, FloorVersions};
use sprag_memory::records::{MemoryRecord, Surfaced};
use sprag_memory::shared_log as union;
use sprag_memory::stats::Stats;
use sprag_memory::write_gate::rejected::RecentRejections;
use sprag_plan::notes::StageNote;
use sprag_plan::run::Run;
use sprag_plan::run::record::RunRecord;
use sprag_trace::ChangeRecord;
use sprag_trace::chain::ChainReader;
use sprag_trace::uncommitted::UncommittedLines;

const MEMORY: &str = include_str!("memory.jsonl");
const INTENT: &str = include_str!("intent.jsonl");
const TRACE: &str = include_str!("trace.jsonl");
const GOVERN: &str = include_str!("govern.jsonl");
const JOURNAL: &str = include_str!("journal.jsonl");
const RUN: &str = include_str!("run.jsonl");
/// Two runs from start to end, in the order of their files.
const RUNS: &str = include_str!("runs.jsonl");
const NOTES: &str = include_str!("notes.jsonl");
const FLOATS: &str = include_str!("floats.jsonl");

/// Files of the log of a clone and of a user.
const LOG: [&str; 4] = [MEMORY, INTENT, TRACE, GOVERN];

fn parsed(text: &str) -> Vec<Record> {
    let parse = |line: &str| Record::parse(line.as_bytes()).unwrap_or_else(|error| panic!("{error}: {line}"));
    text.lines().map(parse).collect()
}

fn logged() -> Vec<Record> {
    LOG.into_iter().flat_map(parsed).collect()
}

fn kinds_of(records: &[Record]) -> BTreeSet<&str> {
    records.iter().map(|record| record.kind.as_str()).collect()
}

#[test]
fn every_record_of_version_0_1_reads_and_writes_the_same_bytes() {
    for text in LOG.into_iter().chain([JOURNAL, RUN, RUNS]) {
        for (line, record) in text.lines().zip(parsed(text)) {
            assert_eq!(String::from_utf8(record.line()).unwrap(), format!("{line}\n"));
            assert_eq!(record.v, log::VERSION, "{line}");
            assert!(record.rest.keys().all(|name| name == union::FROM), "no field is unknown: {line}");
        }
        assert_eq!(log::lines(&parsed(text)), text.as_bytes());
    }
}

#[test]
fn every_note_of_version_0_1_reads_and_writes_the_same_bytes() {
    for line in NOTES.lines() {
        let note: StageNote = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(serde_json::to_string(&note).unwrap(), line);
    }
}

#[test]
fn every_record_of_a_run_reads_as_its_type_and_writes_the_same_bytes() {
    for (line, record) in [RUN, RUNS].into_iter().flat_map(|text| text.lines().zip(parsed(text))) {
        let recorded: RunRecord =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(RunRecord::read(&record).as_ref(), Some(&recorded), "{line}");
        assert_eq!(String::from_utf8(recorded.record(record.at).line()).unwrap(), format!("{line}\n"));
    }
}

#[test]
fn every_record_of_a_whole_run_moves_it_and_the_run_ends_settled() {
    let temp = tempfile::tempdir().unwrap();
    let lines: Vec<&str> = RUNS.lines().collect();
    let starts = |line: &&str| line.contains(r#""kind":"plan.started""#);
    let runs: Vec<&[&str]> = lines.chunk_by(|_, next| !starts(next)).collect();
    assert_eq!(runs.len(), 2);
    for (at, lines) in runs.into_iter().enumerate() {
        let records: Vec<RunRecord> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let mut run = Run::fold(records.first()).unwrap();
        for (record, line) in records.iter().zip(lines).skip(1) {
            let before = run.clone();
            run.apply(record);
            assert_ne!(run, before, "it changes nothing: {line}");
        }
        assert!(run.is_over() && run.is_settled());
        let path = temp.path().join(format!("{at}.jsonl"));
        fs::write(&path, format!("{}\n", lines.join("\n"))).unwrap();
        assert_eq!(
            sprag_orchestrator::run_log::read(&path).unwrap(),
            Some(run),
            "the host reads the same run"
        );
    }
}

/// Returns the state that the host reads from a journal with this one line.
fn state_of(line: &str, path: &Path) -> Session {
    fs::write(path, format!("{line}\n")).unwrap();
    let (loaded, records) = journal::read(path).unwrap();
    assert_eq!((loaded.damage, loaded.is_newer, records.len()), (Vec::new(), false, 1), "{line}");
    loaded.session
}

#[test]
fn every_part_of_the_state_of_a_session_reads_and_writes_the_same_bytes() {
    let temp = tempfile::tempdir().unwrap();
    let own = ["about", "breaker", "stops"].map(str::to_owned);
    let gates = gates::ALL.iter().map(|gate| format!("gate.{}", gate.name));
    let known: BTreeSet<String> = own.into_iter().chain(gates).collect();
    let mut found = BTreeSet::new();
    for (line, record) in JOURNAL.lines().zip(parsed(JOURNAL)) {
        let loaded = state_of(line, &temp.path().join("s.jsonl"));
        let set = record.set.unwrap_or_default();
        let mut session = Session::default();
        assert_eq!(session.apply(set.clone()), UnreadableParts::default(), "{line}");
        assert_eq!(loaded, session, "the host reads the same state: {line}");
        let whole = session.whole();
        for (name, value) in set {
            assert!(known.contains(&name), "`{name}` is no part of the state: {line}");
            // A session omits a part that still has its initial value.
            if let Some(written) = whole.get(&name) {
                assert_eq!(written.to_string(), value.to_string(), "{line}");
                found.insert(name);
            }
        }
    }
    let missing: Vec<&String> = known.difference(&found).collect();
    assert_eq!(missing, ["gate.hooks", "gate.notes", "gate.protection"], "all other gates have a state");
}

#[test]
fn every_event_of_a_session_has_a_line_and_counts_for_its_session() {
    let records = parsed(JOURNAL);
    let events: BTreeSet<&str> = EventKind::ALL
        .into_iter()
        // A report has its own kind of record. Sprag writes no tick.
        .filter(|kind| !matches!(kind, EventKind::Reported | EventKind::Tick))
        .map(EventKind::name)
        .chain(variants::REPORTS.iter().copied())
        // A journal also has the learnings that are only for its session.
        .chain(["snapshot", "warned", "learning.accepted", "learning.rejected"])
        .collect();
    assert_eq!(kinds_of(&records), events);
    for record in records.iter().filter(|record| record.kind != "snapshot") {
        assert!(changes::<SessionList>(&[], record), "{record:?}");
        // `sprag session explain` knows these two only by their names.
        let told = history::sentence(record).unwrap();
        let is_known = !told.starts_with(&format!("`{}`", record.kind));
        assert!(is_known || ["answered", "went"].contains(&record.kind.as_str()), "{told}");
    }
}

#[test]
fn every_kind_of_record_has_a_line() {
    let typed = [
        IntentRecord::KINDS,
        DebtRecord::KINDS,
        ChangeRecord::KINDS,
        MemoryRecord::KINDS,
        GateRecord::KINDS,
        JudgeRecord::KINDS,
    ];
    let logged = logged();
    assert_eq!(kinds_of(&logged), typed.concat().into_iter().collect());
}

fn reads<T: DeserializeOwned>(body: &Value) -> Option<T> {
    serde_json::from_value(body.clone()).ok()
}

/// Returns a record whose kind and body the type that reads them has written again.
fn retyped(record: &Record) -> Option<Record> {
    fn written<T: TypedRecord>(record: &Record) -> Option<(&'static str, Value)> {
        T::read(record).map(|read| (read.kind(), read.body()))
    }
    let types = [
        written::<IntentRecord>,
        written::<DebtRecord>,
        written::<ChangeRecord>,
        written::<MemoryRecord>,
        written::<GateRecord>,
        written::<JudgeRecord>,
        written::<EventRecord>,
        written::<SnapshotRecord>,
    ];
    let read: Vec<_> = types.iter().filter_map(|written| written(record)).collect();
    let [(kind, body)] = &read[..] else { return None };
    Some(Record { kind: (*kind).to_owned(), body: body.clone(), ..record.clone() })
}

#[test]
fn every_record_reads_as_one_type_and_writes_the_same_bytes() {
    for text in LOG.into_iter().chain([JOURNAL, FLOATS]) {
        for (line, record) in text.lines().zip(parsed(text)) {
            let retyped = retyped(&record).unwrap_or_else(|| panic!("no type reads it: {line}"));
            assert_eq!(String::from_utf8(retyped.line()).unwrap(), format!("{line}\n"));
        }
    }
}

#[test]
fn a_record_of_a_later_version_stays_as_it_is_and_no_type_reads_it() {
    let later = |kind: &str, body: &str| {
        format!(r#"{{"v":2,"kind":"{kind}","id":"1","at":"2026-11-17T04:00:00.000Z","body":{body}}}"#)
    };
    for line in
        [later("learning.grown", r#"{"id":"a"}"#), later("debt.met", r#"{"ids":7}"#), later("prompted", "3")]
    {
        let record = Record::parse(line.as_bytes()).unwrap();
        assert_eq!(retyped(&record), None, "{line}");
        assert_eq!(String::from_utf8(record.line()).unwrap(), format!("{line}\n"));
        assert!(changed(&[], &record).is_empty(), "{line}");
    }
}

/// Reports whether a record changes a fold of the records before it. A fold reads only the kinds that it
/// names.
fn changes<P: Projection>(before: &[Record], record: &Record) -> bool {
    if !P::KINDS.iter().any(|prefix| record.kind.starts_with(prefix)) {
        return false;
    }
    let mut state = P::default();
    for record in before {
        state.apply(record);
    }
    let old = serde_json::to_value(&state).unwrap();
    state.apply(record);
    serde_json::to_value(&state).unwrap() != old
}

/// Returns the names of the folds that a record changes.
fn changed(before: &[Record], record: &Record) -> BTreeSet<&'static str> {
    macro_rules! folds {
        ($($fold:ty),+ $(,)?) => {
            [$((<$fold>::NAME, changes::<$fold>(before, record))),+]
        };
    }
    let folds = folds![
        AnsweredQuestions,
        Debts,
        Feedback,
        Learnings,
        Mirrored,
        UncommittedLines,
        FailurePatterns,
        RecentRejections,
        Reliability,
        Reviews,
        Stats,
        Summaries,
        FloorVersions,
    ];
    folds.into_iter().filter(|(_, is_changed)| *is_changed).map(|(name, _)| name).collect()
}

/// Folds that every record of a kind changes, and the kind that comes before it.
const FOLDED: &[(&str, &str, &[&str])] = &[
    ("backend.acked", "", &["mirrored"]),
    ("debt.cleared", "debt.opened", &["debts"]),
    ("debt.met", "debt.opened", &["debts"]),
    ("debt.opened", "", &["debts"]),
    ("debt.shown", "debt.opened", &["debts"]),
    ("episode", "", &["episodes"]),
    ("judge.answered", "judge.failed", &["judge"]),
    ("judge.failed", "", &["judge"]),
    ("learning.accepted", "", &["feedback", "learnings", "stats"]),
    ("learning.archived", "", &["learnings", "stats"]),
    ("learning.corrected", "", &["learnings", "stats"]),
    ("learning.dismissed", "", &["feedback", "learnings", "stats"]),
    ("learning.implied", "", &["feedback", "learnings", "stats"]),
    ("learning.outcome", "", &["learnings", "stats"]),
    ("learning.rated", "", &["feedback", "learnings", "stats"]),
    ("learning.referred", "", &["feedback", "learnings", "stats"]),
    ("learning.rejected", "", &["learnings", "rejected", "stats"]),
    ("learning.restored", "", &["learnings", "stats"]),
    ("learning.stale", "", &["learnings", "stats"]),
    ("learning.superseded", "", &["learnings", "stats"]),
    ("learning.surfaced", "", &["learnings", "stats"]),
    ("learning.verified", "", &["learnings", "stats"]),
    ("policy", "", &["feedback", "policy"]),
    ("qa.answered", "", &["answers"]),
    ("reflection.skipped", "", &["stats"]),
    ("review.attempt", "", &["reviews"]),
    ("review.decided", "", &["reviews"]),
    ("summary", "", &["summaries"]),
    ("trace.final", "trace.seen", &["trace-open"]),
    ("trace.judged", "trace.seen", &["trace-open"]),
    ("trace.seen", "", &["trace-open"]),
];

/// Kinds that no fold takes as a whole: people read them, or another test here reads them.
const UNFOLDED: &[&str] = &[
    "document.loaded",
    "intent.accepted",
    "intent.done",
    "intent.expanded",
    "intent.reopened",
    "intent.selected",
    "intent.strayed",
    "observed",
    "protection.damaged",
    "reflection.done",
    "retroflect",
    "review.used",
    "trace.rewritten",
    "verified",
    "warned",
];

#[test]
fn every_record_changes_the_folds_that_it_is_for() {
    let all = logged();
    let told = FOLDED.iter().map(|(kind, _, _)| *kind).chain(UNFOLDED.iter().copied());
    assert_eq!(kinds_of(&all), told.collect());
    for (kind, first, folds) in FOLDED {
        let before: Vec<Record> = all.iter().filter(|record| record.kind == *first).cloned().collect();
        // One story has all its lines here. The earlier lines of the others are missing.
        let is_later = ["trace.judged", "trace.final"].contains(kind);
        let records = all.iter().filter(|record| record.kind == *kind && (!is_later || is_of_story(record)));
        // An episode whose check passed teaches nothing, and the fold omits it.
        for record in records.filter(|record| *kind != "episode" || record.body["outcome"] != "passed") {
            let changed = changed(&before, record);
            assert!(
                folds.iter().all(|fold| changed.contains(fold)),
                "{changed:?}, not {folds:?}: {record:?}"
            );
        }
    }
}

#[test]
fn every_record_of_an_intent_tells_what_became_of_it() {
    for record in parsed(INTENT) {
        let mut standings = IntentHistories::default();
        standings.apply(&record);
        let (body, standings) = (&record.body, serde_json::to_value(&standings).unwrap());
        let standing = &standings["of"][body["id"].as_str().unwrap()];
        let now = body["fingerprint"].as_str().unwrap_or_default();
        match record.kind.as_str() {
            "intent.selected" => assert_eq!(standing["seen"], json!([now])),
            "intent.done" => assert_eq!(standing["status"], json!(IntentStatus::Done)),
            "intent.reopened" => assert_eq!(standing["status"], json!(IntentStatus::InProgress)),
            "intent.accepted" => {
                assert_eq!((&standing["accepted"], &standing["met"]), (&json!([now]), &body["met"]));
            }
            "intent.expanded" => {
                let before = body["before"].as_str().unwrap();
                assert_eq!(standing["carried"], json!({ before: now }));
            }
            kind => assert_eq!(kind, "intent.strayed", "only the names of files are in it"),
        }
    }
}

/// `serde_json` reads some numbers with another last digit, and an untyped record writes that digit. The
/// types hold shorter numbers and write the same numbers.
#[test]
fn every_number_of_a_record_reads_as_it_was_written() {
    let [surfaced, policy] = &parsed(FLOATS)[..] else { panic!("{FLOATS}") };
    let lines: Vec<&str> = FLOATS.lines().collect();
    let told = json!(reads::<Surfaced>(&surfaced.body).unwrap());
    assert!(lines[0].contains(&format!("\"body\":{told}")), "{told}");
    let told = json!(reads::<FloorVersion>(&policy.body).unwrap());
    assert!(lines[1].contains(&format!("\"body\":{told}")), "{told}");
}

fn is_of_story(record: &Record) -> bool {
    record.session.as_ref().is_some_and(|session| session.as_str() == "story")
}

#[test]
fn the_chain_of_a_trace_holds_over_its_lines() {
    let mut story: Vec<(Record, &str)> = parsed(TRACE).into_iter().zip(TRACE.lines()).collect();
    story.retain(|(record, _)| is_of_story(record));
    story.sort_by_key(|(record, _)| record.at);
    assert_eq!(story.len(), 8);
    let mut walk = ChainReader::default();
    for (_, line) in &story {
        assert_eq!(walk.read_line(line.as_bytes()), Ok(()), "{line}");
    }
    let mut changed = ChainReader::default();
    let mut taken =
        story.iter().map(|(_, line)| changed.read_line(line.replace("call-1", "call-2").as_bytes()));
    assert!(taken.any(|taken| taken.is_err()), "every byte counts");
}

#[test]
fn a_rewritten_commit_is_followed_to_the_one_it_was() {
    let temp = tempfile::tempdir().unwrap();
    let store = temp.path().join("sprag");
    fs::create_dir_all(store.join("log")).unwrap();
    fs::write(store.join("log/2026-11.jsonl"), TRACE).unwrap();
    let places = Locations { worktree: None, git_dir: None, common: None, store, user: None };
    let told = rewrite_map::RewriteMap::load(&places).unwrap();
    let records = parsed(TRACE);
    let pairs = records.iter().filter(|record| record.kind == "trace.rewritten").map(|it| &it.body["pairs"]);
    for pair in pairs.flat_map(|pairs| pairs.as_array().unwrap()) {
        let [old, new] = [&pair[0], &pair[1]].map(|name| name.as_str().unwrap());
        assert_eq!(told.sources_of(new), [old]);
    }
}
