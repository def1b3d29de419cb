//! What the loop is told by others, and what it answers them. A word of a person is also heard while no daemon runs:
//! whoever says it takes the reign for that moment.

use std::io;
use std::path::Path;
use std::sync::mpsc::SyncSender;

use sprag_host::sys::disk::Disk;
use sprag_plan::ids::StageId;
use sprag_plan::run::Run;
use sprag_plan::run::amend::{NotAmended, amend};
use sprag_plan::run::command::{Role, Said, Speaker, Unmeant, hear};
use sprag_plan::run::record::Recorded;
use sprag_plan::spec::Plan;
use sprag_plan::stage::{Case, Phase, Stage};

use super::protocol::{Reply, Stopping, Verdict};
use crate::layout::run_log_path;
use crate::lock;
use crate::observe::session_exits;
use crate::run_log::Log;

/// Something that is asked of the loop, and where it answers.
pub struct Asked {
    pub speaker: Speaker,
    pub ask: Ask,
    pub reply: SyncSender<Reply>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// `None`: the stage of the agent that says it.
    Say {
        stage: Option<StageId>,
        said: Said,
    },
    Amend {
        plan: Box<Plan>,
    },
    Stop {
        how: Stopping,
    },
}

/// Why nobody could be told.
#[derive(Debug)]
pub enum Unsaid {
    /// No run has such a stage.
    NoRun,
    /// A daemon rules, and does not answer.
    AtWork {
        pid: u32,
    },
    Refused {
        code: String,
        message: String,
    },
    Io(io::Error),
}

impl From<io::Error> for Unsaid {
    fn from(error: io::Error) -> Unsaid {
        Unsaid::Io(error)
    }
}

/// Writes down what a person says while no daemon runs. They speak of what is, not of agents that are gone.
pub fn say_alone(
    root: &Path,
    run: &Path,
    plan: &str,
    disk: &dyn Disk,
    speaker: &Speaker,
    ask: &Ask,
) -> Result<(), Unsaid> {
    let Some(_reign) = lock::begin(run, disk)? else {
        return Err(Unsaid::AtWork { pid: lock::ruler(run)?.unwrap_or(0) });
    };
    let mut log = Log::resume(&run_log_path(run, plan), disk)?.ok_or(Unsaid::NoRun)?;
    session_exits::settle(&mut log, root, run)?;
    let record = record(log.run(), speaker, ask).map_err(|reply| match reply {
        Reply::Refused { code, message } => Unsaid::Refused { code, message },
        _ => Unsaid::NoRun,
    })?;
    Ok(log.append(&record)?)
}

/// What is to be written down, or why not.
pub fn record(run: &Run, speaker: &Speaker, ask: &Ask) -> Result<Recorded, Reply> {
    match ask {
        Ask::Say { stage, said } => {
            let stage =
                stage_of(run, speaker, stage.as_ref()).ok_or_else(|| refused(&Unmeant::NoStage, ""))?;
            hear(run, speaker, &stage, said).map_err(|why| refused(&why, stage.as_str()))
        }
        Ask::Amend { plan } => amend(run, (**plan).clone(), speaker.name()).map_err(|why| not_amended(&why)),
        Ask::Stop { .. } => {
            Err(Reply::Refused { code: "no_daemon".to_owned(), message: "no daemon runs".to_owned() })
        }
    }
}

/// What whoever said it is told, beside that it was heard; `run` is as it was before.
pub fn heard(run: &Run, record: &Recorded) -> Reply {
    let Recorded::Said { stage, said: Said::Hold, .. } = record else { return Reply::Done };
    let text = match run.standing(stage).map(|standing| &standing.stage) {
        None | Some(Stage::Ready(_)) => return Reply::Done,
        Some(Stage::Waiting { .. }) => format!("stage `{}` is held once it could start", stage.as_str()),
        Some(_) => format!(
            "what is under way for stage `{}` goes on; after that nobody new is started for it, and it is not merged",
            stage.as_str()
        ),
    };
    Reply::Heard { text }
}

/// The stage that is meant.
pub fn stage_of(run: &Run, speaker: &Speaker, named: Option<&StageId>) -> Option<StageId> {
    match (named, speaker) {
        (Some(named), _) => Some(named.clone()),
        (None, Speaker::Agent { session }) => run.sessions().get(session).cloned(),
        (None, Speaker::Person { .. }) => None,
    }
}

/// How the checks of a stage went; `None` while they are under way.
pub fn verdict(run: &Run, stage: &StageId) -> Option<Verdict> {
    let Some(standing) = run.standing(stage) else { return Some(Verdict::None { state: String::new() }) };
    let red = |report: &str| Some(Verdict::Red { report: report.to_owned() });
    match &standing.stage {
        Stage::Running(work) if work.phase == Phase::Verify => None,
        Stage::Conflicted { resolver: Some(_), .. } if standing.claimed.is_some() => None,
        Stage::Conflicted { .. } => red("what was merged into the branch is not good as it is"),
        Stage::Merging { .. }
        | Stage::Done { .. }
        | Stage::Review { case: Case::Merge | Case::Unreviewed, .. } => Some(Verdict::Green),
        Stage::Review { case: Case::Held, .. } if standing.verified.is_some() => Some(Verdict::Green),
        Stage::Review { case: Case::Held, back } => match &**back {
            Stage::Failing { report, .. } => red(report.as_str()),
            _ => Some(Verdict::None { state: standing.stage.name().to_owned() }),
        },
        Stage::Failing { report, .. } => red(report.as_str()),
        Stage::Review { case: Case::Checks, back } => match &**back {
            Stage::Failing { report, .. } => red(report.as_str()),
            _ => red("its checks were red too often"),
        },
        Stage::Review { case: Case::NoChange, .. } => red("nothing was committed, or something is left over"),
        other => Some(Verdict::None { state: other.name().to_owned() }),
    }
}

/// In words.
pub fn refused(why: &Unmeant, stage: &str) -> Reply {
    let (code, message) = match why {
        Unmeant::NoStage => ("no_stage", format!("the run has no stage `{stage}`")),
        Unmeant::NotYours { least } => {
            let who = match least {
                Role::Agent => "anybody",
                Role::User => "a person",
                Role::Admin => "an admin",
            };
            ("not_yours", format!("this is for {who} to say"))
        }
        Unmeant::OtherSession => ("not_your_stage", format!("stage `{stage}` is not this agent's")),
        Unmeant::State { state } => {
            ("state", format!("stage `{stage}` is {state}, where this means nothing"))
        }
        Unmeant::NoTask => ("no_task", format!("stage `{stage}` has no such task")),
        Unmeant::NoOutput => ("no_output", format!("stage `{stage}` has no such output in the plan")),
        Unmeant::NoCheck => ("no_check", format!("stage `{stage}` has no check that is called so")),
        Unmeant::NoAnswer => ("no_answer", format!("stage `{stage}` has asked something: `--answer TEXT`")),
        Unmeant::NotGreen => ("not_green", format!("the checks of stage `{stage}` have not been green")),
        Unmeant::TooMany => ("too_many", format!("three checks of stage `{stage}` were given up already")),
    };
    Reply::Refused { code: code.to_owned(), message }
}

fn not_amended(why: &NotAmended) -> Reply {
    let (code, message) = match why {
        NotAmended::OtherName => ("other_plan", "the plan that is run has another name".to_owned()),
        NotAmended::OtherTarget => ("other_target", "the target of a run stays what it is".to_owned()),
        NotAmended::Begun { stage } => {
            ("begun", format!("stage `{}` was begun and cannot leave the plan", stage.as_str()))
        }
        NotAmended::Same => ("same_plan", "the plan says what the run goes by already".to_owned()),
    };
    Reply::Refused { code: code.to_owned(), message }
}
