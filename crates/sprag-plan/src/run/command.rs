//! What people and agents say of a stage, and whether it means anything there. A word that means nothing is refused
//! with the reason; one that does is written down as it was said, and the fold of the run takes it from there.

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;

use serde::{Deserialize, Serialize};

use sprag_base::redact;
use sprag_base::text::{Text, plain};

use super::record::Recorded;
use super::{Run, Standing};
use crate::accept::reviewer;
use crate::ids::{Key, StageId};
pub use crate::run::allowed::{Name, meant};
use crate::spec::values::Slug;
use crate::stage::{Case, Stage};

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
    /// The word, without what is said with it.
    pub fn name(&self) -> Name {
        match self {
            Said::Complete => Name::Complete,
            Said::Block { .. } => Name::Block,
            Said::Ask { .. } => Name::Ask,
            Said::Task { .. } => Name::Task,
            Said::Output { .. } => Name::Output,
            Said::Dispute { .. } => Name::Dispute,
            Said::Hold => Name::Hold,
            Said::Release => Name::Release,
            Said::Skip { .. } => Name::Skip,
            Said::Retry => Name::Retry,
            Said::Reset => Name::Reset,
            Said::Resume { .. } => Name::Resume,
            Said::Merge => Name::Merge,
            Said::Verify => Name::Verify,
            Said::Accept => Name::Accept,
            Said::Reject => Name::Reject,
            Said::Bypass { .. } => Name::Bypass,
        }
    }

    /// Who may say it at least.
    pub fn least(&self) -> Role {
        self.name().least()
    }

    /// As it is written down: what is told to people, with all that it quotes, goes without secrets. Answers and outputs
    /// are for an agent to use.
    fn written(&self) -> Said {
        match self {
            Said::Ask { question } => Said::Ask { question: clean(question) },
            Said::Block { why } => Said::Block { why: clean(why) },
            Said::Dispute { check, why } => Said::Dispute { check: check.clone(), why: clean(why) },
            Said::Skip { why } => Said::Skip { why: clean(why) },
            Said::Bypass { why } => Said::Bypass { why: clean(why) },
            Said::Complete
            | Said::Task { .. }
            | Said::Output { .. }
            | Said::Hold
            | Said::Release
            | Said::Retry
            | Said::Reset
            | Said::Resume { .. }
            | Said::Merge
            | Said::Verify
            | Said::Accept
            | Said::Reject => self.clone(),
        }
    }

    /// Whether whoever says it is told how its checks went.
    pub fn wants_verdict(&self) -> bool {
        matches!(self, Said::Complete | Said::Verify | Said::Accept | Said::Bypass { .. })
    }
}

fn clean<const N: usize>(text: &Text<N>) -> Text<N> {
    redact::short(&plain(text.as_str()))
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
    Ok(Recorded::Said { stage: stage.clone(), by: speaker.name(), said: said.written() })
}

/// Whether it means anything there, and what is said with it, too.
fn means(run: &Run, standing: &Standing, id: &StageId, said: &Said) -> Result<(), Unmeant> {
    let state = || Unmeant::State { state: standing.stage.name() };
    let spec = run.plan().find(id.as_str()).ok_or(Unmeant::NoStage)?;
    let is_one = |is_there: bool, none: Unmeant| if is_there { Ok(()) } else { Err(none) };
    match said {
        Said::Task { id } => is_one(spec.tasks.iter().any(|task| task.id == *id), Unmeant::NoTask)?,
        Said::Output { name, .. } => {
            is_one(spec.outputs.iter().any(|output| output.name == *name), Unmeant::NoOutput)?;
        }
        Said::Dispute { check, .. } => {
            let is_review = check.as_str() == reviewer::NAME && reviewer::reviewer(spec).is_some();
            is_one(spec.checks.has(check.as_str()) || is_review, Unmeant::NoCheck)?;
        }
        _ => {}
    }
    if !meant(run, standing).contains(&said.name()) {
        return Err(match (said, &standing.stage) {
            (Said::Merge, Stage::Review { .. }) => Unmeant::NotGreen,
            (Said::Accept, Stage::Review { case: Case::Disputed, .. }) => Unmeant::TooMany,
            _ => state(),
        });
    }
    match (said, &standing.stage) {
        (Said::Resume { answer: None }, Stage::Asking { .. }) => Err(Unmeant::NoAnswer),
        _ => Ok(()),
    }
}
