//! What people and agents say of a stage, and whether it means anything there. A word that means nothing is refused
//! with the reason; one that does is written down as it was said, and the fold of the run takes it from there.

use serde::{Deserialize, Serialize};

use super::record::{Effect, Recorded};
use super::run::{Run, Standing};
use super::stage::{Case, Happened, Key, Phase, Stage, StageId, Stepped, Word, step};
use super::values::Slug;
use crate::text::Text;

/// Disputes of one stage that may be accepted.
pub const DISPUTES: usize = 3;
/// Answers that are kept for one stage.
pub const ANSWERS: usize = 50;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case", deny_unknown_fields)]
pub enum Said {
    /// It is done. A claim: Sprag looks.
    Complete,
    /// It cannot go on.
    Block {
        why: Text<300>,
    },
    Ask {
        question: Text<1000>,
    },
    /// A task of the plan is done.
    Task {
        id: Slug,
    },
    /// What it leaves for those that build on it.
    Output {
        name: Slug,
        value: Text<2000>,
    },
    /// A check is wrong.
    Dispute {
        check: Text<300>,
        why: Text<1000>,
    },
    Hold,
    Release,
    Skip {
        why: Text<300>,
    },
    Retry,
    /// From the start: what is in its worktree is kept under a name, and gone from there.
    Reset,
    /// It goes on: with an answer where one was asked for.
    Resume {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<Text<2000>>,
    },
    /// What was found good is merged.
    Merge,
    /// Its checks are run on what is there.
    Verify,
    /// The check that was disputed is wrong indeed.
    Accept,
    Reject,
    /// Its own checks count no more. Those of the plan do.
    Bypass {
        why: Text<300>,
    },
}

/// Who somebody is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Of its own stage alone.
    Agent,
    User,
    Admin,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Speaker {
    Agent { session: Key },
    Person { name: Text<64>, role: Role },
}

/// Why a word counts for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmeant {
    NoStage,
    /// Not with this role.
    NotYours {
        least: Role,
    },
    /// The stage has another agent by now.
    OtherSession,
    /// In this state it means nothing.
    State {
        state: &'static str,
    },
    NoTask,
    NoOutput,
    NoCheck,
    /// It was asked something.
    NoAnswer,
    /// Its checks have not been green.
    NotGreen,
    /// As many checks were given up as may be.
    TooMany,
}

impl Said {
    /// Who may say it at least.
    pub fn least(&self) -> Role {
        match self {
            Said::Complete
            | Said::Block { .. }
            | Said::Ask { .. }
            | Said::Task { .. }
            | Said::Output { .. }
            | Said::Dispute { .. } => Role::Agent,
            Said::Hold
            | Said::Release
            | Said::Skip { .. }
            | Said::Retry
            | Said::Reset
            | Said::Resume { .. }
            | Said::Merge
            | Said::Verify
            | Said::Accept
            | Said::Reject => Role::User,
            Said::Bypass { .. } => Role::Admin,
        }
    }

    /// Whether whoever says it is told how its checks went.
    pub fn wants_verdict(&self) -> bool {
        matches!(self, Said::Complete | Said::Verify | Said::Accept | Said::Bypass { .. })
    }
}

impl Speaker {
    /// As the record names it.
    pub fn name(&self) -> Text<64> {
        match self {
            Speaker::Agent { .. } => Text::new("agent"),
            Speaker::Person { name, .. } => name.clone(),
        }
    }

    pub fn role(&self) -> Role {
        match self {
            Speaker::Agent { .. } => Role::Agent,
            Speaker::Person { role, .. } => *role,
        }
    }
}

/// What is to be written down of it.
pub fn hear(run: &Run, speaker: &Speaker, stage: &StageId, said: &Said) -> Result<Recorded, Unmeant> {
    let standing = run.standing(stage).ok_or(Unmeant::NoStage)?;
    if speaker.role() < said.least() {
        return Err(Unmeant::NotYours { least: said.least() });
    }
    if let Speaker::Agent { session } = speaker
        && standing.stage.session() != Some(session)
    {
        return Err(Unmeant::OtherSession);
    }
    means(run, standing, stage, said)?;
    Ok(Recorded::Said { stage: stage.clone(), by: speaker.name(), said: said.clone() })
}

fn means(run: &Run, standing: &Standing, id: &StageId, said: &Said) -> Result<(), Unmeant> {
    let state = || Unmeant::State { state: standing.stage.name() };
    let spec = run.plan().find(id.as_str()).ok_or(Unmeant::NoStage)?;
    let moves = |happened: &Happened| match step(&standing.stage, happened) {
        Stepped::To(_) => Ok(()),
        Stepped::Ignored => Err(state()),
    };
    match said {
        Said::Complete => match &standing.stage {
            Stage::Running(_) | Stage::Conflicted { resolver: Some(_), .. } => Ok(()),
            _ => moves(&Happened::Claimed),
        },
        Said::Ask { question } => moves(&Happened::Asked { question: question.clone() }),
        Said::Task { id } => match spec.tasks.iter().any(|task| task.id == *id) {
            true => Ok(()),
            false => Err(Unmeant::NoTask),
        },
        Said::Output { name, .. } => match spec.outputs.iter().any(|output| output.name == *name) {
            true => Ok(()),
            false => Err(Unmeant::NoOutput),
        },
        Said::Dispute { check, .. } => {
            if !spec.checks.has(check.as_str()) {
                return Err(Unmeant::NoCheck);
            }
            moves(&Happened::Raised { case: Case::Disputed })
        }
        Said::Resume { answer } => match (&standing.stage, answer) {
            (Stage::Asking { .. }, Some(_)) => Ok(()),
            (Stage::Asking { .. }, None) => Err(Unmeant::NoAnswer),
            _ => moves(&Happened::Told(Word::GoOn)),
        },
        Said::Merge => match (&standing.stage, &standing.verified) {
            (Stage::Review { case: Case::Merge, .. }, Some(_)) => Ok(()),
            (Stage::Review { .. }, _) => Err(Unmeant::NotGreen),
            _ => Err(state()),
        },
        Said::Accept if standing.waived.len() >= DISPUTES => Err(Unmeant::TooMany),
        Said::Accept | Said::Reject => match (&standing.stage, &standing.dispute) {
            (Stage::Review { case: Case::Disputed, .. }, Some(_)) => Ok(()),
            _ => Err(state()),
        },
        Said::Bypass { .. } | Said::Verify => match &standing.stage {
            Stage::Running(work) if work.phase == Phase::Work && run.ended(&work.session).is_none() => {
                Err(state())
            }
            _ => moves(&Happened::Told(Word::Verify)),
        },
        Said::Block { .. } => moves(&Happened::Told(Word::Block)),
        Said::Hold => moves(&Happened::Told(Word::Hold)),
        Said::Release => moves(&Happened::Told(Word::Release)),
        Said::Retry => moves(&Happened::Told(Word::Retry)),
        // What is about to land cannot be taken back by then.
        Said::Reset if run.open().values().any(|effect| matches!(effect, Effect::Land { .. })) => {
            match &standing.stage {
                Stage::Merging { .. } => Err(state()),
                _ => moves(&Happened::Told(Word::Reset)),
            }
        }
        Said::Reset => moves(&Happened::Told(Word::Reset)),
        Said::Skip { why } => moves(&Happened::Told(Word::Skip { by: Text::default(), why: why.clone() })),
    }
}
