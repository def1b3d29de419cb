//! `sprag run`: a plan becomes merged, tested work.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::json;
use sprag_core::plan::record::{Outcome, Recorded, TargetHeld};
use sprag_core::plan::run::Run;
use sprag_core::plan::spec::Client;
use sprag_core::plan::stage::StageId;
use sprag_host::daemon::begin::{self, Was};
use sprag_host::daemon::runner::{Rest, Runner};
use sprag_host::disk::RealDisk;
use sprag_host::person;

use super::{Cx, Ending, plan};
use crate::failure::Failure;
use crate::output;

/// Run a plan, until every stage is merged or a person is needed
///
/// Each stage is worked at in a worktree and on a branch of its own; what its checks find good is merged, tested as
/// exactly what would land, and landed on the plan's trunk. A run that was cut short goes on where it was. Agents
/// are commands of the plan (`client: {command: [...]}`) so far.
#[derive(clap::Args)]
pub struct Args {
    /// The plan
    file: PathBuf,
    /// The programs the plan starts are known and wanted
    #[arg(long)]
    trust: bool,
    /// Print one JSON object for every change of a stage
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args, cx: &Cx) -> super::Outcome {
    let plan = plan::good(cx, &args.file)?;
    let places = cx.places()?;
    person::check_not_agent(places.user.as_ref())?;
    // Told before anything is begun: a stage that cannot start would block all that builds on it.
    let cannot = plan.stages().iter().find_map(|stage| match &stage.agent.client {
        Client::Known(known) => Some((stage, known)),
        Client::Command { .. } => None,
    });
    if let Some((stage, known)) = cannot {
        return Err(Failure::not_run_yet(stage.id.as_str(), known.name(), &args.file));
    }
    if !args.trust && !is_wanted(&plan::show::programs(&plan)) {
        return Err(Failure::not_trusted(&args.file));
    }
    let begun = begin::begin(&places, plan, &RealDisk)?;
    if begun.was == Was::UnderWay && !args.json {
        output::line("the run goes on where it was, with the plan as it was");
    }
    let (trunk, target) = (begun.ground.trunk(), begun.ground.target.clone());
    let shown = RefCell::new(BTreeMap::new());
    let held: RefCell<Option<TargetHeld>> = RefCell::default();
    let branch = begun.ground.target_name().to_owned();
    let watch = |record: &Recorded, run: &Run| {
        tell(run, &mut shown.borrow_mut(), args.json);
        if run.target_held() != held.borrow().as_ref() {
            held.replace(run.target_held().cloned());
            run.target_held().into_iter().for_each(|why| output::note(told(why, &branch, &trunk)));
        }
        if let Recorded::Outcome { key, outcome: Outcome::Failed { why, .. } } = record {
            output::note(format!("sprag: `{}`: {why}", key.0));
        }
    };
    let rest = Runner::new(begun.log, begun.ground, &watch).run().map_err(begin::Cannot::Io)?;
    drop(begun.reign);
    match rest {
        Rest::Over => {
            if !args.json {
                let branch = target.trim_start_matches("refs/heads/");
                output::line(format!("all stages are merged: `{trunk}`"));
                output::line(format!("  next: git switch {branch} && git merge --ff-only {trunk}"));
            }
            Ok(Ending::Done)
        }
        Rest::Waits => {
            if !args.json {
                output::line("nothing more happens by itself");
            }
            Ok(Ending::No)
        }
    }
}

/// Why the target is not moved on, and what helps.
fn told(why: &TargetHeld, branch: &str, trunk: &str) -> String {
    let what = match why {
        TargetHeld::Rewritten { .. } => {
            format!("`{branch}` does not have any more what it had when the run began, and is left as it is")
        }
        TargetHeld::Gone => format!("`{branch}` is gone, and is not made again"),
        TargetHeld::Conflicted { paths, .. } => {
            let paths: Vec<String> = paths.iter().take(5).map(|path| format!("`{path}`")).collect();
            format!("`{branch}` has commits that do not go with the trunk: {}", paths.join(", "))
        }
        TargetHeld::Red { report, .. } => {
            format!("`{branch}` has commits with which the gates of the plan fail: {report}")
        }
    };
    let next = match why {
        TargetHeld::Gone => format!("git branch {branch} {trunk}"),
        TargetHeld::Rewritten { .. } | TargetHeld::Conflicted { .. } | TargetHeld::Red { .. } => {
            format!("git switch {branch} && git merge {trunk}")
        }
    };
    format!("sprag: {what}\n  next: {next}")
}

fn is_wanted(programs: &[String]) -> bool {
    output::line("this plan starts:");
    programs.iter().for_each(|program| output::line(format!("  {program}")));
    output::confirm("run it?")
}

/// Every stage whose state is another one than was told last.
fn tell(run: &Run, shown: &mut BTreeMap<StageId, &'static str>, is_json: bool) {
    for (id, standing) in run.standings() {
        let state = standing.stage.name();
        if shown.insert(id.clone(), state) == Some(state) {
            continue;
        }
        match is_json {
            true => output::json(
                json!({"stage": id.as_str(), "state": state, "attempt": standing.stage.attempt()}),
            ),
            false => output::line(format!("{:<24} {state}", id.as_str())),
        }
    }
}
