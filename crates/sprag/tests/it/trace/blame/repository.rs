//! A generated repository. Every distinctive line has a unique word, so that its author is known after any
//! change. Intents write through commits with records, people without.

use std::collections::{BTreeMap, HashMap};
use std::fs;

use serde_json::json;

use sprag_base::record::Record;
use sprag_base::result::Discard as _;
use sprag_base::sha256::Sha256Sum;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_host::store::new_record;
use sprag_trace::{
    ChangeRecord, ChangeSource, Contributor, ContributorKind, Finality, RecordedClassification, ServedIntent,
    TraceRecord, TracedFile, blocks,
};

use crate::support::Sandbox;

/// The author of a line: an intent by its number, or a person.
pub(super) type By = Option<usize>;

pub(super) struct Repository {
    pub sandbox: Sandbox,
    pub dice: Dice,
    /// Authors by the unique word of their line.
    pub truth: HashMap<String, By>,
    words: usize,
    clock: i64,
    /// Whether each commit has a separate time.
    has_clock: bool,
}

/// Pseudo-random numbers, the same in every run.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end.max(1)
    }

    pub(super) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}

pub(super) const INTENTS: usize = 4;

pub(super) fn intent(number: usize) -> String {
    format!("INT-{number}")
}

impl Repository {
    pub(super) fn new(seed: u64) -> Repository {
        let mut dice = Dice::new(seed);
        let has_clock = dice.one_in(2);
        let sandbox = Sandbox::new();
        let mut repository =
            Repository { sandbox, dice, truth: HashMap::new(), words: 0, clock: 1_700_000_000, has_clock };
        repository.sandbox.write("secret.txt", "nobody should see this\n");
        for path in ["src/a.rs", "src/b.rs", "src/c.rs"] {
            let text = (0..2).map(|_| repository.function(None)).collect::<Vec<_>>().join("\n");
            repository.sandbox.write(path, &text);
        }
        repository.git(&["add", "-A"]);
        repository.commit("by a person");
        repository
    }

    pub(super) fn git(&mut self, args: &[&str]) -> String {
        self.try_git(args).unwrap_or_else(|error| panic!("git {args:?}: {error}"))
    }

    pub(super) fn try_git(&mut self, args: &[&str]) -> Result<String, String> {
        if self.has_clock {
            self.clock += 60;
            let time = format!("{} +0000", self.clock);
            self.sandbox.vars.retain(|(name, _)| !name.ends_with("_DATE"));
            for name in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
                self.sandbox.vars.push((name.to_owned(), time.clone()));
            }
        }
        let done = self.sandbox.git(args);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if done.status.success() {
            Ok(text(&done.stdout).trim_end().to_owned())
        } else {
            Err(text(&done.stdout) + &text(&done.stderr))
        }
    }

    pub(super) fn commit(&mut self, message: &str) -> String {
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub(super) fn files(&mut self) -> Vec<String> {
        let all = self.git(&["ls-files"]);
        all.lines().filter(|path| path.ends_with(".rs")).map(str::to_owned).collect()
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.sandbox.project.join(path)).unwrap()
    }

    /// Returns a new unique word for a line of this author.
    fn word(&mut self, by: By) -> String {
        self.words += 1;
        let word = format!("q{}z", self.words);
        self.truth.insert(word.clone(), by);
        word
    }

    pub(super) fn line(&mut self, by: By) -> String {
        let word = self.word(by);
        match self.dice.below(3) {
            0 => format!("    let value_{word} = compute({});", self.words),
            1 => format!("    call_{word}(alpha, beta, gamma);"),
            _ => format!("    if ready_{word}() {{ return; }}"),
        }
    }

    /// Returns a function with some lines that every file has.
    pub(super) fn function(&mut self, by: By) -> String {
        let mut text = format!("fn start_{}() {{\n", self.word(by));
        for _ in 0..2 + self.dice.below(4) {
            text += &(self.line(by) + "\n");
            if self.dice.one_in(4) {
                text += &format!("    while more_{}() {{\n        step();\n    }}\n", self.word(by));
            }
        }
        text + "}\n"
    }

    /// Returns a function around three lines that other intents write too.
    fn common(&mut self, by: By) -> String {
        let common =
            "    let shared = lookup(everything);\n    shared.prepare(now);\n    shared.finish(later);\n";
        format!("fn common_{}() {{\n{common}}}\n", self.word(by))
    }

    /// Changes one file in the name of this author.
    pub(super) fn edit(&mut self, by: By) -> String {
        let files = self.files();
        if files.len() < 5 && self.dice.one_in(6) {
            let path = format!("src/new_{}.rs", self.words);
            let text = self.function(by);
            self.sandbox.write(&path, &text);
            return path;
        }
        let path = files[self.dice.below(files.len())].clone();
        let mut items = items(&self.read(&path));
        let at = self.dice.below(items.len() + 1);
        match self.dice.below(6) {
            0 | 1 => items.insert(at, self.function(by)),
            2 if by.is_some() => items.insert(at, self.common(by)),
            3 if items.len() > 3 => drop(items.remove(at.min(items.len() - 1))),
            3 | 4 => {
                let at = at.min(items.len().saturating_sub(1));
                let line = self.line(by);
                if let Some(item) = items.get_mut(at) {
                    *item = inserted(item, &line, self.dice.below(item.lines().count()));
                }
            }
            _ => {
                let at = at.min(items.len().saturating_sub(1));
                let line = self.line(by);
                if let Some(item) = items.get_mut(at) {
                    *item = replaced(item, &line, self.dice.below(item.lines().count()));
                }
            }
        }
        self.sandbox.write(&path, &items.join("\n"));
        path
    }

    /// Makes a commit of one or two intents, and sometimes of a person too, with a record for each intent.
    pub(super) fn work(&mut self) -> String {
        let first = self.dice.below(INTENTS);
        let mut writers = vec![Some(first)];
        if self.dice.one_in(4) {
            writers.push(Some((first + 1) % INTENTS));
        }
        if self.dice.one_in(4) {
            writers.push(None);
        }
        let before = self.texts();
        for by in writers {
            for _ in 0..1 + self.dice.below(2) {
                self.edit(by);
            }
        }
        self.git(&["add", "-A"]);
        let revision = self.commit("work");
        self.record(&revision, &before);
        revision
    }

    /// Makes a commit of a person.
    pub(super) fn by_hand(&mut self) {
        self.edit(None);
        self.git(&["add", "-A"]);
        self.commit("by a person");
    }

    pub(super) fn texts(&mut self) -> BTreeMap<String, String> {
        let files = self.files();
        files.into_iter().map(|path| (path.clone(), self.read(&path))).collect()
    }

    /// Records the lines that each intent has written since `before`.
    fn record(&mut self, revision: &str, before: &BTreeMap<String, String>) {
        let after = self.texts();
        for number in 0..INTENTS {
            let mut files = Vec::new();
            for (path, text) in &after {
                let old = before.get(path).map(String::as_str).unwrap_or_default();
                let new_lines = blocks::lines(text.as_bytes());
                let hunks = blocks::diff(&blocks::lines(old.as_bytes()), &new_lines);
                let mut ranges = Vec::new();
                for hunk in hunks {
                    let mut start = hunk.new.start;
                    while start < hunk.new.end {
                        let by = self.writer_near(&new_lines, start);
                        let end = (start..hunk.new.end)
                            .find(|&at| self.writer_near(&new_lines, at) != by)
                            .unwrap_or(hunk.new.end);
                        if by == Some(number) {
                            ranges.extend(blocks::block(&new_lines, start..end));
                        }
                        start = end;
                    }
                }
                if !ranges.is_empty() {
                    let after = Some(Sha256Sum::hash_bytes(text.as_bytes()));
                    files.push(TracedFile { path: path.clone(), after, ranges, ..TracedFile::default() });
                }
            }
            if !files.is_empty() {
                self.log(trace(revision, number, files));
            }
        }
    }

    pub(super) fn log(&mut self, trace: TraceRecord) -> String {
        let now = Timestamp::from_millis(1_790_000_000_000);
        let record = new_record::record(&ChangeRecord::Final(trace), now, None, None);
        self.append(&record);
        record.id
    }

    pub(super) fn append(&self, record: &Record) {
        let path = self.sandbox.store().join("log/2026-09.jsonl");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut lines = fs::read(&path).unwrap_or_default();
        lines.extend(record.line());
        fs::write(path, lines).unwrap();
    }

    /// Removes every commit that no branch has.
    pub(super) fn forget(&mut self) {
        for name in ["ORIG_HEAD", "REBASE_HEAD", "AUTO_MERGE", "refs/original"] {
            let path = self.sandbox.project.join(".git").join(name);
            fs::remove_file(&path)
                .or_else(|_| fs::remove_dir_all(&path))
                .discard("most of these files do not exist");
        }
        self.try_git(&["branch", "-q", "-D", "topic"]).discard("the branch may not exist");
        self.git(&["reflog", "expire", "--expire=now", "--all"]);
        self.git(&["gc", "-q", "--prune=now"]);
    }

    /// Returns the author of a line; a line without a unique word belongs to the author of the line before.
    fn writer_near(&self, lines: &[&[u8]], at: usize) -> By {
        (0..=at).rev().find_map(|at| self.writer_of(lines[at])).unwrap_or(None)
    }

    /// Returns the author of a line, if it has a unique word.
    pub(super) fn writer_of(&self, line: &[u8]) -> Option<By> {
        word_of(&String::from_utf8_lossy(line)).and_then(|word| self.truth.get(&word).copied())
    }
}

pub(super) fn trace(revision: &str, number: usize, files: Vec<TracedFile>) -> TraceRecord {
    TraceRecord {
        stage: Finality::Final { revision: Text::from(revision), base: None },
        intent: Some(ServedIntent { id: Text::from(intent(number)), fingerprint: Text::from("sha256:00") }),
        contributor: Contributor { kind: ContributorKind::Ai, model: None },
        files,
        ..empty()
    }
}

fn empty() -> TraceRecord {
    serde_json::from_value(json!({
        "stage": {"provisional": {"base": null}}, "source": ChangeSource::Commit, "contributor": {"kind": "ai"},
        "verdict": RecordedClassification::unproven("language"), "files": [],
    }))
    .unwrap()
}

/// Returns the unique word: `q12z` in `let value_q12z = compute(12);`.
pub(super) fn word_of(line: &str) -> Option<String> {
    let words = line.split(|c: char| !c.is_ascii_alphanumeric());
    let is_own = |word: &&str| {
        let digits = word.strip_prefix('q').and_then(|rest| rest.strip_suffix('z'));
        digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
    };
    words.into_iter().find(is_own).map(str::to_owned)
}

/// Returns the functions of a file.
pub(super) fn items(text: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let last = items.last_mut().unwrap();
        *last += line;
        *last += "\n";
        if line == "}" {
            items.push(String::new());
        }
    }
    items.retain(|item| !item.is_empty());
    items
}

/// Inserts a line after the head of a function, or later. Lines that several intents write stay together.
fn inserted(item: &str, line: &str, after: usize) -> String {
    let mut lines: Vec<&str> = item.lines().collect();
    if item.contains("fn common_") {
        return item.to_owned();
    }
    let mut at = (after + 1).min(lines.len() - 1);
    // A line without a unique word takes its author from the line before it.
    let is_told_by_another =
        |line: &str| ["step();", "alpha,", "beta,", "gamma,", ");"].contains(&line.trim());
    while is_told_by_another(lines[at]) {
        at -= 1;
    }
    lines.insert(at, line);
    lines.join("\n") + "\n"
}

fn replaced(item: &str, line: &str, at: usize) -> String {
    let mut lines: Vec<&str> = item.lines().collect();
    if item.contains("fn common_") {
        return item.to_owned();
    }
    if let Some(old) = lines[1..].iter_mut().skip(at).find(|old| old.contains(';') && old.contains("q")) {
        *old = line;
    }
    lines.join("\n") + "\n"
}
