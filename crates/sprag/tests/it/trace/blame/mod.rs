//! The author of a line after any rewrite of history: blame never names a wrong one.

#![expect(clippy::print_stderr, reason = "how much is found again is shown where somebody runs these alone")]

mod repository;
mod rewrite;
mod stories;

use std::collections::BTreeMap;

use sprag_trace::anchor::distinctive::{LETTERS, is_telling, letters};
use sprag_trace::blocks;

use repository::{By, Repository, intent};
use rewrite::Rewrite;

/// Results of blame for lines that intents wrote and for other lines. Common lines count separately, because
/// nothing shows which of several equal lines is new.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    right: usize,
    lost: usize,
    wrong: usize,
    braces: usize,
    lost_braces: usize,
}

impl Score {
    fn add(&mut self, other: Score) {
        self.right += other.right;
        self.lost += other.lost;
        self.wrong += other.wrong;
        self.braces += other.braces;
        self.lost_braces += other.lost_braces;
    }

    fn percent(self) -> usize {
        self.right * 100 / (self.right + self.lost).max(1)
    }
}

/// Returns the seeds. `SPRAG_BLAME_SEEDS=50` sets more of them, `7-7` only one.
fn seeds(usual: u64) -> std::ops::Range<u64> {
    let wanted = std::env::var("SPRAG_BLAME_SEEDS").unwrap_or_default();
    match wanted.split_once('-') {
        Some((first, last)) => first.parse().unwrap()..last.parse::<u64>().unwrap() + 1,
        None => 1..1 + wanted.parse().unwrap_or(usual),
    }
}

fn base(seed: u64) -> Repository {
    let mut repository = Repository::new(seed);
    for _ in 0..3 {
        repository.work();
    }
    repository.by_hand();
    repository
}

/// Runs blame on every line of every file and compares the results.
fn score(repository: &mut Repository, what: &str) -> Score {
    let mut score = Score::default();
    for path in repository.files() {
        let told = repository.sandbox.json(&["trace", "blame", &path, "--json"]);
        let text = repository.read(&path);
        let lines = blocks::lines(text.as_bytes());
        let told = told["lines"].as_array().unwrap_or_else(|| panic!("{what}: {told}"));
        assert_eq!(told.len(), lines.len(), "{what}: {path}");
        for (at, told) in told.iter().enumerate() {
            let said = told["intent"].as_str();
            let may = who_may(repository, &lines, at);
            let names: Vec<Option<String>> = may.iter().map(|by| by.map(intent)).collect();
            match said {
                Some(said) if names.iter().flatten().any(|name| name == said) => {
                    if is_long(lines[at]) {
                        score.right += 1
                    } else {
                        score.braces += 1
                    }
                }
                Some(said) => {
                    score.wrong += 1;
                    eprintln!("{what}: {path}:{}: {said} and not {names:?}: {told}", at + 1);
                    eprintln!("    {}", String::from_utf8_lossy(lines[at]).trim_end());
                }
                None if names.iter().all(|name| *name == names[0] && name.is_some()) => {
                    if is_long(lines[at]) {
                        score.lost += 1
                    } else {
                        score.lost_braces += 1
                    }
                    if std::env::var_os("SPRAG_BLAME_TELL").is_some() {
                        let line = String::from_utf8_lossy(lines[at]);
                        eprintln!("{what}: {path}:{}: {told} {}", at + 1, line.trim_end());
                    }
                }
                None => {}
            }
        }
    }
    score
}

/// Reports whether a line is unlikely to occur twice.
fn is_long(line: &[u8]) -> bool {
    is_telling(line) && letters(line) >= LETTERS
}

/// Returns the possible authors of a line. A common line may belong to the author of its function, of the
/// next function, or of a line beside it. Among equal braces a diff may take any for the new one.
fn who_may(repository: &Repository, lines: &[&[u8]], at: usize) -> Vec<By> {
    let above = (0..=at).rev().find_map(|at| repository.writer_of(lines[at])).unwrap_or(None);
    if is_telling(lines[at]) {
        return vec![above];
    }
    let is_head = |at: &usize| lines[*at].starts_with(b"fn ");
    let heads = [(0..=at).rev().find(is_head), (at..lines.len()).find(is_head)];
    let below = (at..lines.len()).find_map(|at| repository.writer_of(lines[at]));
    let heads = heads.into_iter().flatten().filter_map(|at| repository.writer_of(lines[at]));
    let mut may: Vec<By> = heads.chain(below).chain([above]).collect();
    may.dedup();
    may
}

/// Each kind of rewrite alone, twice in a row.
#[test]
fn every_rewrite_leaves_lines_with_their_intent() {
    let mut all: BTreeMap<Rewrite, Score> = BTreeMap::new();
    for rewrite in Rewrite::ALL {
        for seed in seeds(2) {
            let mut repository = base(seed * 31 + rewrite as u64);
            rewrite.apply(&mut repository);
            rewrite.apply(&mut repository);
            let what = format!("{rewrite:?} with seed {seed}");
            all.entry(rewrite).or_default().add(score(&mut repository, &what));
        }
    }
    for (rewrite, score) in &all {
        eprintln!("{rewrite:?}: {score:?} {}%", score.percent());
    }
    for (rewrite, score) in all {
        assert_eq!(score.wrong, 0, "{rewrite:?}: {score:?}");
        assert!(score.percent() >= rewrite.target(), "{rewrite:?}: {score:?}");
        assert!(score.lost_braces * 10 <= score.braces, "{rewrite:?}: {score:?}");
    }
}

/// Without the old commits there is less evidence, but still no wrong result.
#[test]
fn no_line_gets_the_wrong_intent_when_the_old_commits_are_gone() {
    let mut all = Score::default();
    for seed in seeds(3) {
        let mut repository = base(seed * 77 + 3);
        let rewrites =
            [Rewrite::Amend, Rewrite::Rebase, Rewrite::Fixup, Rewrite::Squash, Rewrite::FilterRepo];
        let rewrite = rewrites[repository.dice.below(rewrites.len())];
        rewrite.apply(&mut repository);
        repository.forget();
        let found = score(&mut repository, &format!("{rewrite:?} and gone with seed {seed}"));
        eprintln!("{rewrite:?} and gone: {found:?} {}%", found.percent());
        all.add(found);
    }
    assert_eq!(all.wrong, 0, "{all:?}");
    assert!(all.percent() >= 60, "{all:?}");
}

#[test]
fn rewrites_of_rewrites_leave_no_line_with_the_wrong_intent() {
    let mut all = Score::default();
    for seed in seeds(5) {
        let mut repository = base(seed * 1_000 + 7);
        let mut applied = Vec::new();
        for _ in 0..4 {
            let rewrite = Rewrite::ALL[repository.dice.below(Rewrite::ALL.len())];
            applied.push(rewrite);
            rewrite.apply(&mut repository);
        }
        let found = score(&mut repository, &format!("{applied:?} with seed {seed}"));
        eprintln!("{applied:?}: {found:?} {}%", found.percent());
        all.add(found);
    }
    eprintln!("all: {all:?} {}%", all.percent());
    assert_eq!(all.wrong, 0, "{all:?}");
    assert!(all.percent() >= 95, "{all:?}");
}
