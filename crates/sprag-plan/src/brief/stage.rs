//! The third section: what this stage is about, and what has become of it so far.

use sprag_base::text::quoted;

use super::section::{SectionPart, fit, items, quote, quote_agent};
use super::{BriefInput, BriefNeed, BriefTask, DYNAMIC};
use crate::run::PersonAnswer;
use crate::spec::checks::{StageCheck, StageChecks, StderrCheck};
use crate::spec::{MergeMode, StageKind, StageScope};

/// Things of one list.
const ITEMS: usize = 40;

pub(crate) fn dynamic(told: &BriefInput) -> String {
    let part = |rank, most, head, body| SectionPart { rank, most, head, body };
    let (head, body) = task(told);
    let handoff = told.handoff.as_ref().map(|handoff| quote_agent(&handoff.lines().join("\n")));
    let parts = vec![
        part(0, 2 * 1024, "## Target", target(told)),
        part(8, 6 * 1024, "## The plan", quote(told.overview.as_str())),
        part(1, 8 * 1024, "## Assignment", assignment(told)),
        part(6, 2 * 1024, "## Built on", needs(&told.needs)),
        part(3, 3 * 1024, "## Checks", checks(&told.spec.checks)),
        part(4, 2 * 1024, "## Scope", scope(&told.spec.scope, told.spec.kind)),
        part(7, 1024, "## Outputs", outputs(told)),
        part(3, 3 * 1024, "## What people have answered", answers(told)),
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
        lines.push(format!("commands are run in `{}` of it", quoted(dir)));
    }
    lines.extend(place.base.as_ref().map(|base| format!("begun from `{}`", base.0)));
    let who = match told.spec.merge {
        MergeMode::Auto => "merged by Sprag",
        MergeMode::Person => "merged by Sprag once a person has said so",
    };
    lines.push(format!("{who} into `{}`, which goes to `{}`", quoted(&place.trunk), quoted(&place.target)));
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
        text.push_str(&format!("\n\nIn these tasks:\n\n{}", items(tasks, ITEMS)));
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

/// The last ones: what was asked first was answered long ago.
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
    if told.is_empty() { told } else { format!("{told}\n\nEach is left by `sprag stage output NAME VALUE`.") }
}

fn checks(checks: &StageChecks) -> String {
    let mut lines: Vec<String> = Vec::new();
    let commands = [&checks.acceptance, &checks.after_stage, &checks.wiring_tests, &checks.truths];
    lines.extend(commands.into_iter().flatten().map(check));
    lines.extend(
        checks
            .artifacts
            .iter()
            .map(|glob| format!("has to be there, with something in it: `{}`", quoted(glob.as_str()))),
    );
    lines.extend(checks.wiring.iter().map(|wiring| {
        format!(
            "`{}` has to stand in `{}`: {}",
            quoted(wiring.pattern.as_str()),
            quoted(wiring.source.as_str()),
            quoted(wiring.description.as_str())
        )
    }));
    lines.extend(
        checks
            .dead_code_check
            .iter()
            .map(|dead| format!("must list nothing that nobody calls: `{}`", quoted(dead.command.as_str()))),
    );
    lines.extend(checks.regression_test.iter().map(|test| {
        format!("the test that would have shown it has to be in `{}`", quoted(test.file.as_str()))
    }));
    items(lines.into_iter(), ITEMS)
}

fn check(check: &StageCheck) -> String {
    let mut line = match check.exit_code {
        0 => format!("has to end well: `{}`", quoted(check.command.as_str())),
        code => format!("has to end with {code}: `{}`", quoted(check.command.as_str())),
    };
    for text in &check.stdout_contains {
        line.push_str(&format!(", printing `{}`", quoted(text.as_str())));
    }
    for text in &check.stdout_not_contains {
        line.push_str(&format!(", not printing `{}`", quoted(text.as_str())));
    }
    match &check.stderr {
        StderrCheck::Any => {}
        StderrCheck::Empty => line.push_str(", without an error printed"),
        StderrCheck::Contains(texts) => texts.iter().for_each(|text| {
            line.push_str(&format!(", with `{}` among its errors", quoted(text.as_str())));
        }),
    }
    line
}

fn scope(scope: &StageScope, kind: StageKind) -> String {
    match kind {
        StageKind::Knowledge => "No file is to be changed.".to_owned(),
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
                let intents: Vec<String> =
                    scope.intents.iter().map(|id| format!("`{}`", quoted(id.as_str()))).collect();
                format!("{list}\n\nOf these intents: {}.", intents.join(", "))
            }
        }
    }
}

/// What there is to do before all else.
fn task(told: &BriefInput) -> (&'static str, String) {
    let trunk = quoted(&told.place.trunk);
    match &told.task {
        BriefTask::Assignment => ("", String::new()),
        BriefTask::After { failure } => {
            let how = serde_json::to_value(failure).ok();
            let how = how.as_ref().and_then(|value| value.as_str()).unwrap_or("unknown").to_owned();
            let body = format!(
                "The agent before did not say that it was done (`{how}`). What it left in the worktree may be half done."
            );
            ("## How it ended before", body)
        }
        BriefTask::Mend { report } => ("## What is to be mended", quote(report.as_str())),
        BriefTask::Red { report } => {
            let body = format!("Merged with `{trunk}` this was found:\n\n{}", quote(report.as_str()));
            ("## Red when merged", body)
        }
        BriefTask::Pair { with } => {
            let body = format!(
                "Green by itself, and red together with stage `{}`, which has landed on `{trunk}`. Merge that, run the \
                 checks, and mend this side.",
                with.as_str()
            );
            ("## Red when merged", body)
        }
        BriefTask::Conflict { against, paths, red } => {
            let paths = paths.iter().map(|path| format!("`{}`", quoted(path.as_str())));
            let list = match paths.len() {
                0 => "Git did not say which files; a merge will.".to_owned(),
                _ => items(paths, ITEMS),
            };
            let before = red.as_ref().map(|report| {
                format!("\n\nIt was tried before, and this was red then:\n\n{}", quote(report.as_str()))
            });
            let before = before.unwrap_or_default();
            (
                "## Conflict",
                format!("Merge `{}` into this branch. Both changed:\n\n{list}{before}", against.0),
            )
        }
    }
}
