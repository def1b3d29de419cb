//! `sprag trace classify`: proves that a change is a refactoring, or reports new behaviour.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use sprag_host::git::name_search::SearchTree;
use sprag_host::git::{self, ChangeRange, FileVersions};
use sprag_host::trace::classify::{TreeAfter, is_document};
use sprag_syntax::{ChangeJudgement, ChangeSet, ChangedFile, Classification, NodeBudget, classify};

use crate::commands::{CommandCx, CommandResult, show};
use crate::failure::Failure;
use crate::output::{self, OutputFormat};

mod answer;
mod lines;

/// Classify a change as refactoring or new behaviour, by proof
///
/// PROVED: same behaviour, with a proof. CHANGED: new behaviour, with its place. UNPROVEN: neither is
/// certain, with the reason; it counts as new behaviour.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Commit, or two commits as `A..B`
    #[arg(value_name = "REV|A..B", conflicts_with_all = ["staged", "jsonl"])]
    range: Option<String>,
    /// Classify the staged changes
    #[arg(long, conflicts_with = "jsonl")]
    staged: bool,
    /// Read change sets from stdin, one JSON object per line; print one answer per line
    #[arg(long, conflicts_with = "json")]
    jsonl: bool,
    /// Directory with the files of `--jsonl`
    #[arg(long, value_name = "DIR", requires = "jsonl", default_value = ".")]
    root: PathBuf,
    /// Number of change sets to classify in parallel
    #[arg(long, value_name = "N", requires = "jsonl")]
    jobs: Option<usize>,
    /// Also print the duration of each answer: `ms`
    #[arg(long, requires = "jsonl")]
    timing: bool,
    #[command(flatten)]
    format: OutputFormat,
}

pub(crate) fn run(args: &Args, cx: &CommandCx) -> CommandResult {
    if args.jsonl {
        let root = cx.cwd.join(&args.root);
        let jobs = args
            .jobs
            .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
            .clamp(1, 64);
        let clock = if args.timing { lines::Clock::Told } else { lines::Clock::Quiet };
        return lines::answer_all(&root, jobs, clock);
    }
    let range = match (&args.range, args.staged) {
        (None, true) => ChangeRange::Staged,
        (Some(text), false) => match text.split_once("..") {
            Some((from, to)) => {
                ChangeRange::Between { from: from.to_owned(), to: to.trim_start_matches('.').to_owned() }
            }
            None => ChangeRange::Commit(text.clone()),
        },
        _ => return Err(Failure::nothing_to_classify()),
    };
    let places = cx.places()?;
    let worktree = places.worktree.as_ref().ok_or_else(|| Failure::not_in_git("sprag trace classify REV"))?;
    let versions = git::versions(worktree, &range).ok_or_else(|| Failure::no_revision(&shown(&range)))?;
    let judged = lines::on_a_deep_stack(|| judge(&versions));
    let judged = settled(judged, worktree, &range, &versions);
    show(args.format, || answer::from_judgement(None, &judged).into_value(), || tell(&range, &judged))
}

/// Checks a proof against the files that did not change.
fn settled(
    judged: ChangeJudgement,
    worktree: &Path,
    range: &ChangeRange,
    versions: &[FileVersions],
) -> ChangeJudgement {
    let named;
    let tree = match range {
        ChangeRange::Staged => Some(SearchTree::Staged),
        ChangeRange::Commit(to) | ChangeRange::Between { to, .. } => {
            named = git::tree(worktree, to);
            named.as_deref().map(SearchTree::Of)
        }
    };
    let Some(tree) = tree else { return judged.refuted_in_tree() };
    let paths = versions.iter().flat_map(|file| [&file.path_before, &file.path_after]).flatten();
    TreeAfter { worktree, tree }.settle(judged, &paths.map(String::as_str).collect::<Vec<_>>())
}

fn judge(versions: &[FileVersions]) -> ChangeJudgement {
    let files = versions
        .iter()
        .filter(|file| !file.path_before.iter().chain(&file.path_after).all(|path| is_document(path)));
    let change = ChangeSet {
        files: files
            .map(|file| ChangedFile {
                path_before: file.path_before.as_deref(),
                path_after: file.path_after.as_deref(),
                before: file.before.as_deref(),
                after: file.after.as_deref(),
            })
            .collect(),
    };
    classify(&change, NodeBudget::COMMIT)
}

fn shown(range: &ChangeRange) -> String {
    match range {
        ChangeRange::Commit(commit) => commit.clone(),
        ChangeRange::Between { from, to } => format!("{from}..{to}"),
        ChangeRange::Staged => "--staged".to_owned(),
    }
}

fn tell(range: &ChangeRange, judged: &ChangeJudgement) {
    let what = shown(range);
    match &judged.verdict {
        Classification::Proved(proof) => {
            output::line(format!("{what}: PROVED at {}, a refactoring", proof.level));
            for step in &proof.steps {
                output::line(format!("  {}", serde_json::to_value(step).unwrap_or(Value::Null)));
            }
        }
        Classification::Changed(witness) => {
            output::line(format!("{what}: CHANGED, new behaviour"));
            let unit =
                if witness.unit.is_empty() { String::new() } else { format!(" in `{}`", witness.unit) };
            output::line(format!("  {}{unit}", witness.path));
            for (side, excerpt) in [("before", &witness.before), ("after", &witness.after)] {
                if let Some(excerpt) = excerpt {
                    output::line(format!(
                        "  {side}, line {}: {}",
                        excerpt.line,
                        excerpt.text.lines().next().unwrap_or_default()
                    ));
                }
            }
        }
        Classification::Unproven(reason) => {
            output::line(format!("{what}: UNPROVEN ({}), counts as new behaviour", reason.name()))
        }
    }
    for (about, names) in [("added", &judged.api.added), ("removed", &judged.api.removed)] {
        if !names.is_empty() {
            output::line(format!("  public names {about}: {}", names.join(", ")));
        }
    }
    let renamed: Vec<String> =
        judged.api.renamed.iter().map(|(from, to)| format!("{from} -> {to}")).collect();
    if !renamed.is_empty() {
        output::line(format!("  public names renamed: {}", renamed.join(", ")));
    }
}

/// Returns the changes of public names as JSON.
fn api(judged: &ChangeJudgement) -> Value {
    let api = &judged.api;
    let renamed: Vec<Value> = api.renamed.iter().map(|(from, to)| json!({"from": from, "to": to})).collect();
    json!({"added": api.added, "removed": api.removed, "renamed": renamed})
}
