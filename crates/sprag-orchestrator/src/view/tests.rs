use std::fs::OpenOptions;
use std::io::Write as _;

use serde_json::{Value, json};

use sprag_base::text::Text;
use sprag_host::sys::processes;
use sprag_plan::agent::activity::SessionCost;
use sprag_plan::ids::{CommitId, StageId};
use sprag_plan::run::effect::{EffectOutcome, StageStep};
use sprag_plan::run::record::{RunRecord, key};
use sprag_plan::view::{RunView, StateLabel};

use super::*;
use crate::view::board_cache;

const NOW: i64 = 1_800_000_000_000;

fn now() -> Timestamp {
    Timestamp::from_millis(NOW)
}

fn stage(number: usize) -> Value {
    let id = format!("s{number}");
    let nothing = json!([]);
    json!({
        "id": id, "name": id, "description": "", "dependencies": [], "parallel_group": null,
        "type": "standard", "scope": {"intents": [], "files": [id], "globs": [id]},
        "working_dir": ".", "setup": nothing, "before_stage": nothing, "acceptance": nothing,
        "after_stage": nothing, "artifacts": [id], "wiring": nothing, "wiring_tests": nothing,
        "truths": nothing, "tasks": nothing, "context_budget": 75, "client": "claude", "mode": "headless",
        "sandbox": {"confine": "auto", "network": "open"}, "budget": {"on_exceed": "pause"}, "retries": 3,
        "merge": "auto", "empty": "refused", "sharing": "shared", "outputs": nothing, "verify": "standard",
    })
}

pub(crate) fn started(run: &str, stages: usize) -> RunRecord {
    let stages: Vec<Value> = (0..stages).map(stage).collect();
    let plan = json!({
        "name": "p", "target": null, "gates": [], "slots": 4, "budget": {"on_exceed": "pause"},
        "sandbox": {"confine": "auto", "network": "open"}, "overview": "", "stages": stages,
    });
    let plan: sprag_plan::spec::Plan = serde_json::from_value(plan).unwrap();
    let digest = plan.digest();
    RunRecord::Started { run: Text::new(run), plan: Box::new(plan), digest, trunk: CommitId(Text::new("t")) }
}

struct Place {
    dir: tempfile::TempDir,
    log: PathBuf,
}

impl Place {
    /// Creates a run with a number of stages.
    fn new(stages: usize) -> Place {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("plans/p.jsonl");
        fs::create_dir_all(log.parent().unwrap()).unwrap();
        let place = Place { dir, log };
        place.write(&started("r", stages));
        place
    }

    fn write(&self, record: &RunRecord) {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.log).unwrap();
        file.write_all(&record.record(now()).line()).unwrap();
    }

    fn start(&self, number: usize) -> EffectKey {
        let id = format!("s{number}");
        let key = key(&Text::new("r"), &id, 1, "spawn.0");
        let effect = StageStep::Spawn.for_stage(&StageId::new(&id));
        self.write(&RunRecord::EffectBegun { key: key.clone(), epoch: 1, effect });
        self.write(&RunRecord::Outcome { key: key.clone(), outcome: EffectOutcome::Spawned });
        key
    }

    fn board(&self) -> Option<RunBoard> {
        board(self.dir.path(), &self.log, BoardPart::All, now()).unwrap()
    }

    fn running(&self) -> usize {
        self.board()
            .map_or(0, |board| board.rows.iter().filter(|row| row.state == StateLabel::Running).count())
    }

    /// Overwrites bytes in the middle of the log, which only a fold would notice.
    fn damage(&self) {
        let file = OpenOptions::new().write(true).open(&self.log).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, b"}}}", 10_000).unwrap();
    }
}

#[test]
fn a_short_log_is_folded_at_every_look() {
    let place = Place::new(3);
    let session = place.start(1);
    let site = site_of(place.dir.path(), &session);
    fs::create_dir_all(site.dir()).unwrap();
    let seen =
        AgentActivity { used: Some(SessionCost { tokens: 5, micros: None }), ..AgentActivity::default() };
    site.note_seen(&RealDisk, &seen).unwrap();
    let board = place.board().unwrap();
    assert_eq!(super::seen(place.dir.path(), &board), BTreeMap::from([(session, seen)]));
    assert_eq!(place.running(), 1);
    place.start(2);
    assert_eq!(place.running(), 2);
    assert!(!board_cache::path(&place.log).exists(), "a short log needs no cache");
}

#[test]
fn a_long_log_is_folded_once_and_again_when_it_grows() {
    let place = Place::new(500);
    place.start(1);
    assert_eq!(place.running(), 1);
    place.damage();
    assert_eq!(place.running(), 1, "the cache counts while the end of the log is unchanged");
    fs::remove_file(board_cache::path(&place.log)).unwrap();
    assert_eq!(place.board(), None, "without the cache the log is folded");
}

#[test]
fn who_wants_what_tells_reads_the_rows_at_work_and_the_counts_of_all_others() {
    let place = Place::new(500);
    place.start(1);
    let all = place.board().unwrap();
    let telling = board(place.dir.path(), &place.log, BoardPart::Telling, now()).unwrap().unwrap();
    assert_eq!((all.rows.len(), telling.rows.len()), (500, 1));
    let none = BTreeMap::new();
    let progress = |board| RunView::new(board, &none, now()).progress;
    assert_eq!(progress(&telling), progress(&all));
    assert_eq!(place.board().unwrap(), all, "the whole board is still available");
}

#[test]
fn nobody_keeps_it_up_so_that_a_longer_log_is_folded() {
    let place = Place::new(500);
    place.start(1);
    assert_eq!(place.running(), 1);
    place.start(2);
    assert_eq!(place.running(), 2);
}

#[test]
fn a_daemon_keeps_it_up_and_may_be_a_moment_behind() {
    let place = Place::new(500);
    place.start(1);
    let log = RunLog::resume(&place.log, &RealDisk).unwrap().unwrap();
    let mut keeper = BoardWriter::default();
    let at = |millis| Timestamp::from_millis(NOW + millis);
    assert_eq!(keeper.keep(&log, place.dir.path(), at(0)), None);
    let first = board_cache::load(&place.log, BoardPart::All).unwrap();
    place.start(2);
    assert_eq!(keeper.keep(&log, place.dir.path(), at(400)), Some(Duration::from_millis(600)));
    assert_eq!(
        board_cache::load(&place.log, BoardPart::All).unwrap().bytes,
        first.bytes,
        "not before the interval ends"
    );
    assert_eq!(keeper.keep(&log, place.dir.path(), at(1000)), None);
    assert!(board_cache::load(&place.log, BoardPart::All).unwrap().bytes > first.bytes);
    assert_eq!(first.by, processes::this_process());
    assert!(is_kept_up(Some(Duration::ZERO), first.by));
    assert!(!is_kept_up(Some(BEHIND), first.by), "a stuck daemon does not count");
    let gone = Process { start: 1, ..first.by.unwrap() };
    assert!(!is_kept_up(Some(Duration::ZERO), Some(gone)) && !is_kept_up(Some(Duration::ZERO), None));
}

#[test]
fn the_board_of_another_run_is_not_taken() {
    let place = Place::new(500);
    place.start(1);
    assert_eq!(place.running(), 1);
    let length = fs::metadata(&place.log).unwrap().len();
    fs::remove_file(&place.log).unwrap();
    place.write(&started("q", 500));
    place.start(1);
    assert_eq!(fs::metadata(&place.log).unwrap().len(), length, "the same length");
    assert_eq!(place.board().unwrap().run.as_str(), "q");
    fs::write(board_cache::path(&place.log), b"damaged").unwrap();
    assert_eq!(place.board().unwrap().run.as_str(), "q");
}

#[test]
fn the_last_run_of_every_plan_is_listed() {
    let place = Place::new(1);
    let plans = place.dir.path().join("plans");
    for name in ["p.r0.jsonl", "p.board", "q.jsonl.lock", "README"] {
        fs::write(plans.join(name), "").unwrap();
    }
    let names: Vec<String> = list(place.dir.path()).unwrap().into_iter().map(|it| it.plan).collect();
    assert_eq!(names, ["p"]);
    assert_eq!(list(&plans).unwrap(), []);
}
