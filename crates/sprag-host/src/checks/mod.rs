//! Runs checks. A result belongs to the tree that the check ran on. Sprag does not check the same tree twice.
//! A check that changes the tree proves nothing about either tree.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::result::Discard as _;
use sprag_base::text::{Text, one_line};
use sprag_check::{CheckOutcome, CheckRan, CompletionCheck, Profile, Results, tail};

use crate::git;
use crate::purpose::{self, program};
use crate::store::Store;
use crate::sys::disk::{self, Disk, read_small};
use crate::sys::exec::{self, ProcessEnd, run_for_end};

pub mod session;
#[cfg(test)]
mod tests;

/// Marks a program as part of a check.
pub const VARIABLE: &str = "SPRAG_CHECK";

/// Maximum stored bytes of the output of a check.
const OUTPUT: usize = 64 * 1024;
/// Maximum number of stored results, and bytes of one.
const KEPT: usize = 200;
const KEPT_BYTES: u64 = 16 * 1024;

/// Exit codes of a shell for a command that it could not start.
const NOT_STARTED: [i32; 2] = [126, 127];

/// The worktree and the tools of a check run.
pub struct CheckSite<'a> {
    pub store: &'a Store,
    pub worktree: &'a Path,
    pub disk: &'a dyn Disk,
    /// The present hash of the worktree; `None` if it is unknown. Results without a hash are not stored.
    pub tree: &'a dyn Fn() -> Option<String>,
    /// The token of the purpose guard of this run.
    pub run: &'a str,
    /// Called before each check.
    pub watch: &'a dyn Fn(&CompletionCheck),
}

/// Runs the checks of a profile in their order, all within one budget. The other checks run after a failure
/// too, so that the agent sees all failures at once.
pub fn run(site: &CheckSite<'_>, checks: &[CompletionCheck], profile: Profile, budget: Duration) -> Results {
    let started = Instant::now();
    let first = site.tree();
    let mut tree = first.clone();
    let mut ran = Vec::new();
    for check in checks.iter().filter(|check| check.profile <= profile) {
        (site.watch)(check);
        let outcome = match recall(site, check, tree.as_deref()) {
            Some(outcome) => outcome,
            None => {
                let left = budget.saturating_sub(started.elapsed());
                let (outcome, after) = judged(site, check, left, tree);
                tree = after;
                outcome
            }
        };
        ran.push(CheckRan { check: check.name.clone(), mandatory: check.mandatory, outcome });
    }
    Results { profile, tree: first.map(Text::new), ran }
}

impl CheckSite<'_> {
    fn tree(&self) -> Option<String> {
        (self.tree)().filter(|tree| !tree.is_empty())
    }
}

/// Runs a check and compares the trees. Returns the outcome and the tree after the check.
fn judged(
    site: &CheckSite<'_>,
    check: &CompletionCheck,
    left: Duration,
    before: Option<String>,
) -> (CheckOutcome, Option<String>) {
    let deadline = left.min(Duration::from_secs(u64::from(check.timeout)));
    if deadline.is_zero() {
        return (CheckOutcome::Unrunnable { why: Text::from("no time left") }, before);
    }
    let ended = execute(site, check, deadline);
    let after = site.tree();
    let changed = after.as_ref().filter(|after| before.as_ref().is_some_and(|before| before != *after));
    let outcome = match (ended, changed) {
        (Err(error), _) => CheckOutcome::Unrunnable { why: Text::new(error.to_string()) },
        (Ok(ran), Some(left)) if ran.ending != ProcessEnd::TimedOut => CheckOutcome::ChangedTree {
            left: Text::from(left.as_str()),
            code: code(&ran.ending),
            tail: tail(&words(ran)),
        },
        (Ok(ran), _) => outcome(ran, deadline),
    };
    if outcome.is_lasting()
        && before == after
        && let Some(tree) = &after
    {
        keep(site, check, tree, &outcome).discard("a result that is not stored costs time only");
    }
    (outcome, after)
}

fn outcome(ran: exec::ProcessOutput, deadline: Duration) -> CheckOutcome {
    match ran.ending {
        ProcessEnd::Code(0) => CheckOutcome::Passed,
        // The tree did not cause this failure, so the outcome is not stored for the tree.
        ProcessEnd::Code(code) if NOT_STARTED.contains(&code) => {
            let said = tail(&words(ran));
            let last = one_line(said.as_str().lines().last().unwrap_or_default());
            CheckOutcome::Unrunnable { why: Text::new(format!("exit code {code}: {last}")) }
        }
        ProcessEnd::Code(_) | ProcessEnd::Signal => {
            CheckOutcome::Failed { code: code(&ran.ending), tail: tail(&words(ran)) }
        }
        ProcessEnd::TimedOut => {
            let seconds = deadline.as_millis().div_ceil(1000);
            let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
            CheckOutcome::TimedOut { seconds, tail: tail(&words(ran)) }
        }
    }
}

fn code(ending: &ProcessEnd) -> Option<i32> {
    match ending {
        ProcessEnd::Code(code) => Some(*code),
        ProcessEnd::Signal | ProcessEnd::TimedOut => None,
    }
}

fn words(ran: exec::ProcessOutput) -> Vec<u8> {
    let mut words = ran.stdout;
    words.extend(ran.stderr);
    words
}

fn execute(
    site: &CheckSite<'_>,
    check: &CompletionCheck,
    deadline: Duration,
) -> io::Result<exec::ProcessOutput> {
    // One stream keeps related lines together. Syntax errors of the shell itself still go to stderr.
    let script = format!("exec 2>&1; {}", check.command);
    let unset = unset();
    run_for_end(&exec::ProcessSpec {
        dir: site.worktree,
        env: &[(VARIABLE, OsStr::new("1")), (purpose::VARIABLE, OsStr::new(site.run))],
        unset: &unset,
        cap: OUTPUT,
        ..exec::ProcessSpec::new(OsStr::new("sh"), &[OsStr::new("-c"), OsStr::new(&script)], deadline)
    })
}

/// Returns the variables that would tie a program of the check to the judged session or to another
/// repository.
pub fn unset() -> Vec<&'static str> {
    [program::UNSET, git::ELSEWHERE, &[crate::purpose::program::TOKEN, crate::purpose::program::PASS]]
        .concat()
}

/// A stored result. It names its tree and check, because the file name alone proves neither.
#[derive(Serialize, Deserialize)]
struct CachedResult {
    v: u32,
    tree: String,
    check: Digest,
    outcome: CheckOutcome,
}

const VERSION: u32 = 1;

fn dir(site: &CheckSite<'_>) -> PathBuf {
    site.store.cache_dir().join("checks")
}

fn path(site: &CheckSite<'_>, check: &CompletionCheck, tree: &str) -> PathBuf {
    dir(site).join(format!("{}.json", Digest::hash_parts([tree, &check.digest().to_string()])))
}

/// Returns the stored outcome of a check on this tree. Ignores a damaged file.
fn recall(site: &CheckSite<'_>, check: &CompletionCheck, tree: Option<&str>) -> Option<CheckOutcome> {
    let tree = tree?;
    let text = read_small(&path(site, check, tree), KEPT_BYTES).ok()?;
    let kept: CachedResult = serde_json::from_str(&text).ok()?;
    let is_it = kept.v == VERSION && kept.tree == tree && kept.check == check.digest();
    (is_it && kept.outcome.is_lasting()).then_some(kept.outcome)
}

fn keep(site: &CheckSite<'_>, check: &CompletionCheck, tree: &str, outcome: &CheckOutcome) -> io::Result<()> {
    let path = path(site, check, tree);
    let kept =
        CachedResult { v: VERSION, tree: tree.to_owned(), check: check.digest(), outcome: outcome.clone() };
    disk::make_parent(site.disk, &path)?;
    disk::replace_derived(site.disk, &path, &serde_json::to_vec(&kept)?)?;
    forget_oldest(site)
}

fn forget_oldest(site: &CheckSite<'_>) -> io::Result<()> {
    let mut files: Vec<(SystemTime, PathBuf)> = fs::read_dir(dir(site))?
        .flatten()
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    files.sort();
    let surplus = files.len().saturating_sub(KEPT);
    files.iter().take(surplus).try_for_each(|(_, path)| site.disk.remove(path))
}
