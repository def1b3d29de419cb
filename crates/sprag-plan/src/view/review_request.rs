//! What a person is told who is asked about a stage: what has happened to it, where that can be looked at, and every
//! word that can be said of it now.

use sprag_base::redact;
use sprag_base::text::plain;

use crate::ids::StageId;
use crate::run::command::{Name, Role, meant};
use crate::run::{Run, Standing, open_tasks};
use crate::sentences::{case_of, failed, left_out};
use crate::stage::{Case, Failure, Stage};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// What has happened, the first line in short.
    pub what: Vec<String>,
    pub look: Vec<Look>,
    /// Those for people.
    pub words: Vec<Name>,
}

/// Where there is something to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// What its agents have printed, and what was written down of it.
    Logs,
    Worktree,
    /// What it would bring to the trunk.
    Work,
    /// What this machine has.
    Machine,
}

/// `None`: there is no such stage.
pub fn asked(run: &Run, id: &StageId) -> Option<Asked> {
    let standing = run.standing(id)?;
    let (mut what, mut look) = of(standing);
    let open: Vec<String> = open_tasks(run, id).iter().map(|task| format!("`{task}`")).collect();
    if !open.is_empty() && !standing.stage.is_over() {
        what.push(format!("open tasks: {}", open.join(", ")));
    }
    what.extend(standing.bypass.as_ref().map(|why| format!("its checks are passed by: {why}")));
    if standing.is_held && !matches!(standing.stage, Stage::Ready(_) | Stage::Review { .. }) {
        what.push(
            "a person holds what comes next: nobody new is started for it, and it is not merged".to_owned(),
        );
    }
    // What is not there shows nothing.
    look.retain(|look| match look {
        Look::Worktree | Look::Work => standing.worktree.is_some(),
        Look::Logs | Look::Machine => true,
    });
    // Much of it is what agents have said, and records may be older than what is kept from them.
    let what = what.iter().map(|line| redact::text(&plain(line)).into_inner().into_owned()).collect();
    let words = meant(run, standing).into_iter().filter(|word| word.least() >= Role::User).collect();
    Some(Asked { what, look, words })
}

fn of(standing: &Standing) -> (Vec<String>, Vec<Look>) {
    let one = |line: String, look: &[Look]| (vec![line], look.to_vec());
    match &standing.stage {
        Stage::Waiting { on } => {
            let on: Vec<String> = on.iter().map(|id| format!("`{}`", id.as_str())).collect();
            one(format!("it builds on {}, not merged yet", on.join(", ")), &[])
        }
        Stage::Ready(turn) if turn.is_held => one("a person holds it".to_owned(), &[]),
        Stage::Ready(_) => one("it may start".to_owned(), &[]),
        Stage::Running(_) => {
            one("its agent is at work, or what it did is being checked".to_owned(), &[Look::Logs])
        }
        Stage::Asking { question, .. } => one(format!("it asks: {question}"), &[Look::Logs]),
        Stage::HandingOff { .. } => {
            one("its agent ends, and what the next one needs is written down".to_owned(), &[Look::Logs])
        }
        Stage::Failing { report, .. } => {
            one(format!("its checks say:\n{report}"), &[Look::Logs, Look::Worktree])
        }
        Stage::Merging { .. } => one("it is in the merge queue".to_owned(), &[Look::Work]),
        Stage::Conflicted { .. } => (conflicts(&standing.stage), vec![Look::Worktree]),
        Stage::MergeHeld { .. } => one("merged with what is there it is red".to_owned(), &[Look::Work]),
        Stage::Review { case, back } => reviewed(standing, *case, back),
        Stage::Blocked { failure, .. } => blocked(standing, *failure),
        Stage::Skipped { by, why } => one(left_out(by, why), &[]),
        Stage::Done { merged } => one(format!("it is merged as `{}`", merged.commit().0), &[]),
    }
}

fn blocked(standing: &Standing, failure: Failure) -> (Vec<String>, Vec<Look>) {
    let line = match (failure, &standing.why) {
        // Whoever stopped it has said why.
        (Failure::Told, Some(why)) => format!("it was blocked: {why}"),
        (failure, Some(why)) => format!("{}: {why}", failed(failure)),
        (Failure::Crash, None) if standing.crashes > 1 => {
            format!("{}, {} times in a row without a commit", failed(failure), standing.crashes)
        }
        (failure, None) => failed(failure).to_owned(),
    };
    let look = match failure {
        Failure::Crash | Failure::Timeout | Failure::Wedged | Failure::Unknown => {
            vec![Look::Logs, Look::Worktree]
        }
        Failure::Overload | Failure::Auth | Failure::Budget => vec![Look::Logs],
        Failure::Sandbox => vec![Look::Machine, Look::Logs],
        Failure::Setup | Failure::Told | Failure::Context => vec![Look::Logs, Look::Worktree],
        Failure::Conflict => vec![Look::Worktree],
    };
    (vec![line], look)
}

fn reviewed(standing: &Standing, case: Case, back: &Stage) -> (Vec<String>, Vec<Look>) {
    let mut what = vec![case_of(case).to_owned()];
    let look = match case {
        Case::Merge => {
            let head = standing.verified.as_ref().map(|verified| format!(" as `{}`", verified.head.0));
            what = vec![format!(
                "its checks are good{}, and a person has to say that it is merged (`auto_merge: false`)",
                head.unwrap_or_default()
            )];
            vec![Look::Work]
        }
        Case::Checks => vec![Look::Logs, Look::Worktree],
        Case::Disputed => {
            what.extend(standing.dispute.as_ref().map(|dispute| {
                format!("the check `{}` is said to be wrong: {}", dispute.check, dispute.why)
            }));
            vec![Look::Logs, Look::Work]
        }
        Case::NoChange => {
            what = vec![
                "its agent said twice that it was done, and had committed nothing or left files that no commit has"
                    .to_owned(),
            ];
            vec![Look::Worktree, Look::Logs]
        }
        Case::Unreviewed => {
            what = vec!["its checks are good, and nobody but its author has looked at it".to_owned()];
            what.extend(standing.why.as_ref().map(ToString::to_string));
            vec![Look::Work, Look::Logs]
        }
        Case::Protected => vec![Look::Work],
        Case::Conflict => vec![Look::Worktree, Look::Logs],
        Case::Red => vec![Look::Work],
        Case::Held => {
            if standing.verified.is_some() {
                what = vec!["its checks are good, and a person holds it".to_owned()];
            }
            vec![Look::Work]
        }
    };
    match back {
        Stage::Failing { report, .. } => what.push(format!("its checks say:\n{report}")),
        Stage::Conflicted { .. } => what.extend(conflicts(back)),
        Stage::MergeHeld { cause, .. } => what.push(red(cause)),
        _ => {}
    }
    (what, look)
}

fn red(cause: &crate::merge::Cause) -> String {
    match cause {
        crate::merge::Cause::Red { report } => format!("the gates say:\n{report}"),
        crate::merge::Cause::Pair { with } => {
            format!("green by itself, and red together with stage `{}`", with.as_str())
        }
    }
}

fn conflicts(stage: &Stage) -> Vec<String> {
    let Stage::Conflicted { paths, against, .. } = stage else { return Vec::new() };
    let mut lines = vec![format!("it does not go with `{}`", against.0)];
    lines.extend(paths.iter().map(|path| format!("conflict in `{path}`")));
    lines
}
