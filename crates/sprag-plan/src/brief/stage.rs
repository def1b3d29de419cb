//! The third section: the stage, its assignment and its history.

use sprag_base::text::{quoted, quoted_list};

use super::section::{SectionPart, fit, items, quote, quote_agent};
use super::{BriefInput, BriefNeed, BriefTask, DYNAMIC};
use crate::run::PersonAnswer;
use crate::spec::checks::{StageCheck, StageChecks, StderrCheck};
use crate::spec::{MergeMode, StageKind, StageScope};

/// Items of one list.
const ITEMS: usize = 40;

pub(crate) fn dynamic(told: &BriefInput) -> String {
    let part = |rank, most, head, body| SectionPart { rank, most, head, body };
    let (head, body) = task(told);
    let handoff = told.handoff.as_ref().map(|handoff| quote_agent(&handoff.lines().join("\n")));
    let parts = vec![
        part(0, 2 * 1024, "## Branch", target(told)),
        part(8, 6 * 1024, "## The plan", quote(told.overview.as_str())),
        part(1, 8 * 1024, "## Assignment", assignment(told)),
        part(6, 2 * 1024, "## Dependencies", needs(&told.needs)),
        part(3, 3 * 1024, "## Checks", checks(&told.spec.checks)),
        part(4, 2 * 1024, "## Scope", scope(&told.spec.scope, told.spec.kind)),
        part(7, 1024, "## Outputs", outputs(told)),
        part(3, 3 * 1024, "## Answers from people", answers(told)),
        part(5, 5 * 1024, "## Handoff", handoff.unwrap_or_default()),
        part(2, 5 * 1024, head, body),
    ];
    fit("# This stage\n", parts, DYNAMIC)
}

fn target(told: &BriefInput) -> String {
    let place = &told.place;
    let mut lines = vec![
        format!("stage `{}` of plan `{}`, attempt {}", told.spec.id.as_str(), told.plan, told.attempt),
        format!("worktree `{}`, branch `{}`", quoted(&place.worktree), quoted(&place.branch)),
    ];
    let dir = told.spec.working_dir.as_str();
    if dir != "." {
        lines.push(format!("working directory `{}` of the worktree", quoted(dir)));
    }
    lines.extend(place.base.as_ref().map(|base| format!("based on `{}`", base.0)));
    let who = match told.spec.merge {
        MergeMode::Auto => "merged by Sprag",
        MergeMode::Person => "merged by Sprag after a person approves",
    };
    lines.push(format!(
        "{who} into `{}`, which Sprag promotes to `{}`",
        quoted(&place.trunk),
        quoted(&place.target)
    ));
    items(lines.into_iter(), ITEMS)
}

fn assignment(told: &BriefInput) -> String {
    let spec = &told.spec;
    let mut text = quote(&format!("{}\n\n{}", spec.name, spec.description));
    if !spec.tasks.is_empty() {
        let tasks = spec.tasks.iter().map(|task| {
            let done =
                if told.ticked.iter().any(|id| id.as_str() == task.id.as_str()) { " (done)" } else { "" };
            format!("`{}`{done}: {}", task.id.as_str(), quoted(task.text.as_str()))
        });
        text.push_str(&format!("\n\nTasks:\n\n{}", items(tasks, ITEMS)));
    }
    text
}

fn needs(needs: &[BriefNeed]) -> String {
    let one = |need: &BriefNeed| {
        let merged = match &need.merged {
            Some(commit) => format!("merged as `{}`", commit.0),
            None => "not merged".to_owned(),
        };
        let head = format!("- `{}`, {merged}: {}", need.id.as_str(), quoted(need.name.as_str()));
        let outputs = need.outputs.iter().map(|(name, value)| {
            format!("\n  `{}`:\n{}", quoted(name.as_str()), quote_agent(value.as_str()))
        });
        head + &outputs.collect::<String>()
    };
    needs.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// Lists the latest answers only: earlier ones are already part of the work.
fn answers(told: &BriefInput) -> String {
    let from = told.answers.len().saturating_sub(5);
    let one = |answer: &PersonAnswer| match &answer.to {
        Some(to) => {
            format!("Asked:\n\n{}\n\nAnswered:\n\n{}", quote_agent(to.as_str()), quote(answer.text.as_str()))
        }
        None => quote(answer.text.as_str()),
    };
    told.answers[from..].iter().map(one).collect::<Vec<_>>().join("\n\n")
}

fn outputs(told: &BriefInput) -> String {
    let outputs = told
        .spec
        .outputs
        .iter()
        .map(|output| format!("`{}`: {}", output.name.as_str(), quoted(output.description.as_str())));
    let told = items(outputs, ITEMS);
    if told.is_empty() { told } else { format!("{told}\n\nSet each with `sprag stage output NAME VALUE`.") }
}

fn checks(checks: &StageChecks) -> String {
    let mut lines: Vec<String> = Vec::new();
    let commands = [&checks.acceptance, &checks.after_stage, &checks.wiring_tests, &checks.truths];
    lines.extend(commands.into_iter().flatten().map(check));
    lines.extend(
        checks
            .artifacts
            .iter()
            .map(|glob| format!("must exist and not be empty: `{}`", quoted(glob.as_str()))),
    );
    lines.extend(checks.wiring.iter().map(|wiring| {
        format!(
            "`{}` must be in `{}`: {}",
            quoted(wiring.pattern.as_str()),
            quoted(wiring.source.as_str()),
            quoted(wiring.description.as_str())
        )
    }));
    lines.extend(
        checks
            .dead_code_check
            .iter()
            .map(|dead| format!("must report no dead code: `{}`", quoted(dead.command.as_str()))),
    );
    lines.extend(checks.regression_test.iter().map(|test| {
        format!(
            "must contain the regression test, which fails without the fix: `{}`",
            quoted(test.file.as_str())
        )
    }));
    items(lines.into_iter(), ITEMS)
}

fn check(check: &StageCheck) -> String {
    let mut line = match check.exit_code {
        0 => format!("must succeed: `{}`", quoted(check.command.as_str())),
        code => format!("must end with exit code {code}: `{}`", quoted(check.command.as_str())),
    };
    for text in &check.stdout_contains {
        line.push_str(&format!(", must print `{}`", quoted(text.as_str())));
    }
    for text in &check.stdout_not_contains {
        line.push_str(&format!(", must not print `{}`", quoted(text.as_str())));
    }
    match &check.stderr {
        StderrCheck::Any => {}
        StderrCheck::Empty => line.push_str(", must print nothing to stderr"),
        StderrCheck::Contains(texts) => texts.iter().for_each(|text| {
            line.push_str(&format!(", must print `{}` to stderr", quoted(text.as_str())));
        }),
    }
    line
}

fn scope(scope: &StageScope, kind: StageKind) -> String {
    match kind {
        StageKind::Knowledge => "Change no file.".to_owned(),
        StageKind::Standard | StageKind::IntegrationVerify | StageKind::KnowledgeDistill
            if scope.is_open() =>
        {
            "The whole worktree.".to_owned()
        }
        StageKind::Standard | StageKind::IntegrationVerify | StageKind::KnowledgeDistill => {
            let globs = scope.globs.iter().map(|glob| format!("`{}`", quoted(glob.as_str())));
            let list = items(globs, ITEMS);
            if scope.intents.is_empty() {
                list
            } else {
                let intents = quoted_list(scope.intents.iter().map(|id| quoted(id.as_str())));
                format!("{list}\n\nIntents: {intents}.")
            }
        }
    }
}

/// Returns the heading and the text of the most urgent task.
fn task(told: &BriefInput) -> (&'static str, String) {
    let trunk = quoted(&told.place.trunk);
    match &told.task {
        BriefTask::Assignment => ("", String::new()),
        BriefTask::After { failure } => {
            let how = serde_json::to_value(failure).ok();
            let how = how.as_ref().and_then(|value| value.as_str()).unwrap_or("unknown").to_owned();
            let body = format!(
                "The previous agent ended without a claim (`{how}`). Its work in the worktree may be incomplete."
            );
            ("## Previous agent", body)
        }
        BriefTask::Mend { report } => ("## Failures to fix", quote(report.as_str())),
        BriefTask::Red { report } => {
            let body = format!("Failures after the merge with `{trunk}`:\n\n{}", quote(report.as_str()));
            ("## Checks failed after the merge", body)
        }
        BriefTask::Pair { with } => {
            let body = format!(
                "Checks pass alone and fail together with stage `{}`, which is merged into `{trunk}`. Merge the trunk, run the \
                 checks, and fix this side.",
                with.as_str()
            );
            ("## Checks failed after the merge", body)
        }
        BriefTask::Conflict { against, paths, red } => {
            let paths = paths.iter().map(|path| format!("`{}`", quoted(path.as_str())));
            let list = match paths.len() {
                0 => "The files are not known; a merge shows them.".to_owned(),
                _ => items(paths, ITEMS),
            };
            let before = red.as_ref().map(|report| {
                format!("\n\nFailures of the previous resolution:\n\n{}", quote(report.as_str()))
            });
            let before = before.unwrap_or_default();
            (
                "## Conflict",
                format!("Merge `{}` into this branch. Both changed:\n\n{list}{before}", against.0),
            )
        }
    }
}
