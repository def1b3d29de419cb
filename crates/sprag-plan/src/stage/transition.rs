//! The one relation between the states of a stage.

use sprag_base::text::Text;

use super::{Case, Failure, Happened, Phase, Stage, Turn, Word, Work};

/// What became of a stage.
#[derive(Clone, Debug, PartialEq)]
pub enum Stepped {
    To(Stage),
    /// It means nothing here.
    Ignored,
}

/// Times checks send a stage back before a person is asked.
pub const FIXES: u8 = 3;
/// Times a conflict is tried to be resolved.
pub const TRIES: u8 = 3;

/// The one relation between states.
pub fn step(stage: &Stage, happened: &Happened) -> Stepped {
    use Happened as H;
    let to = match (stage, happened) {
        (Stage::Waiting { .. }, H::Freed) => Stage::Ready(Turn { attempt: 1, ..Turn::default() }),

        (Stage::Ready(turn), H::Started { session, base }) if !turn.is_held => Stage::Running(Work {
            attempt: turn.attempt,
            session: session.clone(),
            base: base.clone(),
            phase: Phase::Work,
            fixes: 0,
        }),
        (Stage::Ready(turn), H::Told(Word::Hold)) => Stage::Ready(Turn { is_held: true, ..turn.clone() }),
        (Stage::Ready(turn), H::Told(Word::Release)) => Stage::Ready(Turn { is_held: false, ..turn.clone() }),
        (Stage::Ready(turn), H::Told(Word::GoOn)) => {
            Stage::Ready(Turn { is_held: false, not_before: None, ..turn.clone() })
        }
        (Stage::Ready(turn), H::Failed { failure, again: None }) => blocked(turn.attempt, *failure),

        (Stage::Running(work), H::Asked { question }) if work.phase == Phase::Work => {
            Stage::Asking { work: work.clone(), question: question.clone() }
        }
        (Stage::Running(work), H::Claimed) if work.phase == Phase::Work => in_phase(work, Phase::Verify),
        (Stage::Running(work), H::WentOn) if work.phase == Phase::Verify => in_phase(work, Phase::Work),
        (Stage::Running(work), H::Red { report }) if work.phase == Phase::Verify => {
            Stage::Failing { work: work.clone(), report: report.clone() }
        }
        (Stage::Running(work), H::Green { verified, entry }) if work.phase == Phase::Verify => {
            Stage::Merging { verified: verified.clone(), entry: *entry }
        }
        (Stage::Running(work), H::ContextFull { why }) => {
            Stage::HandingOff { work: work.clone(), why: why.clone() }
        }
        (Stage::Asking { work, .. }, H::Answered) => Stage::Running(work.clone()),
        (Stage::Asking { work, .. }, H::ContextFull { why }) => {
            Stage::HandingOff { work: work.clone(), why: why.clone() }
        }
        (Stage::HandingOff { work, .. }, H::HandedOff { carry }) => {
            Stage::Ready(Turn { attempt: work.attempt, carry: Some(carry.clone()), ..Turn::default() })
        }

        // It heard what is red where it claimed, and was quicker than whoever hands the report over.
        (Stage::Failing { work, .. }, H::Claimed) if work.fixes < FIXES => {
            Stage::Running(Work { phase: Phase::Verify, fixes: work.fixes + 1, ..work.clone() })
        }
        (Stage::Failing { work, .. }, H::SentBack { session }) if work.fixes < FIXES => {
            Stage::Running(Work {
                session: session.clone(),
                phase: Phase::Work,
                fixes: work.fixes + 1,
                ..work.clone()
            })
        }

        (
            Stage::Running(work) | Stage::Asking { work, .. } | Stage::Failing { work, .. },
            H::Failed { again: Some(at), .. },
        ) => Stage::Ready(Turn { attempt: work.attempt + 1, not_before: Some(*at), ..Turn::default() }),
        (
            Stage::Running(work)
            | Stage::Asking { work, .. }
            | Stage::Failing { work, .. }
            | Stage::HandingOff { work, .. },
            H::Failed { failure, again: None },
        ) => blocked(work.attempt, *failure),
        (
            Stage::Running(work) | Stage::Asking { work, .. } | Stage::Failing { work, .. },
            H::Paused { until },
        ) => Stage::Ready(Turn { attempt: work.attempt, not_before: *until, ..Turn::default() }),

        (Stage::Merging { .. }, H::Landed { merged }) => Stage::Done { merged: merged.clone() },
        (Stage::Merging { verified, .. }, H::Conflicted { against, paths }) => Stage::Conflicted {
            verified: verified.clone(),
            against: against.clone(),
            paths: paths.clone(),
            resolver: None,
            tries: 0,
        },
        (Stage::Merging { verified, .. }, H::MergeRed { cause }) => {
            Stage::MergeHeld { verified: verified.clone(), cause: cause.clone() }
        }
        (
            Stage::Conflicted { verified, against, paths, resolver: None, tries },
            H::ResolverStarted { session },
        ) if *tries < TRIES => Stage::Conflicted {
            verified: verified.clone(),
            against: against.clone(),
            paths: paths.clone(),
            resolver: Some(session.clone()),
            tries: tries + 1,
        },
        (Stage::Conflicted { verified, against, paths, resolver: Some(_), tries }, H::ResolverFailed) => {
            Stage::Conflicted {
                verified: verified.clone(),
                against: against.clone(),
                paths: paths.clone(),
                resolver: None,
                tries: *tries,
            }
        }
        (Stage::Conflicted { verified, .. }, H::Failed { failure, again: None }) => {
            blocked(verified.attempt, *failure)
        }
        (Stage::Conflicted { .. } | Stage::MergeHeld { .. }, H::Queued { verified, entry }) => {
            Stage::Merging { verified: verified.clone(), entry: *entry }
        }
        (Stage::MergeHeld { verified, .. }, H::Failed { again: Some(at), .. }) => {
            Stage::Ready(Turn { attempt: verified.attempt + 1, not_before: Some(*at), ..Turn::default() })
        }

        (
            Stage::Running(_) | Stage::Failing { .. } | Stage::Conflicted { .. } | Stage::MergeHeld { .. },
            H::Raised { case },
        ) => Stage::Review { case: *case, back: Box::new(stage.clone()) },
        (Stage::Running(work) | Stage::Failing { work, .. }, H::Told(Word::Verify)) => {
            in_phase(work, Phase::Verify)
        }
        (
            Stage::Ready(_)
            | Stage::Running(_)
            | Stage::Asking { .. }
            | Stage::HandingOff { .. }
            | Stage::Failing { .. }
            | Stage::Merging { .. }
            | Stage::Conflicted { .. }
            | Stage::MergeHeld { .. }
            | Stage::Review { .. }
            | Stage::Blocked { .. },
            H::Told(Word::Reset),
        ) => Stage::Ready(Turn { attempt: 1, ..Turn::default() }),
        (
            Stage::Ready(_)
            | Stage::Running(_)
            | Stage::Asking { .. }
            | Stage::HandingOff { .. }
            | Stage::Failing { .. },
            H::Told(Word::Block),
        ) => blocked(stage.attempt(), Failure::Told),
        (Stage::Review { case: Case::Held, back }, H::Told(Word::Release | Word::GoOn)) => (**back).clone(),
        // It is let go, and a person is asked something else now.
        (Stage::Review { case: Case::Held, back }, H::Raised { case }) => {
            Stage::Review { case: *case, back: back.clone() }
        }
        (Stage::Review { back, .. }, H::Told(word)) => match reviewed(back, word) {
            Some(to) => to,
            None => return Stepped::Ignored,
        },

        // Whoever said that it cannot go on is answered.
        (Stage::Blocked { attempt, failure: Failure::Told }, H::Told(Word::GoOn)) => {
            Stage::Ready(Turn { attempt: *attempt, ..Turn::default() })
        }
        (Stage::Blocked { attempt, .. }, H::Told(Word::Retry)) => {
            Stage::Ready(Turn { attempt: attempt + 1, ..Turn::default() })
        }
        (
            Stage::Waiting { .. } | Stage::Ready(_) | Stage::Blocked { .. },
            H::Told(Word::Skip { by, why }),
        ) => Stage::Skipped { by: by.clone(), why: why.clone() },

        (stage, H::Overtaken) if !stage.is_over() => {
            Stage::Skipped { by: Text::new("sprag"), why: Text::new("it was done by others") }
        }

        (
            Stage::Waiting { .. }
            | Stage::Ready(_)
            | Stage::Running(_)
            | Stage::Asking { .. }
            | Stage::HandingOff { .. }
            | Stage::Failing { .. }
            | Stage::Merging { .. }
            | Stage::Conflicted { .. }
            | Stage::MergeHeld { .. }
            | Stage::Review { .. }
            | Stage::Blocked { .. }
            | Stage::Skipped { .. }
            | Stage::Done { .. },
            _,
        ) => return Stepped::Ignored,
    };
    // One that is ready may have work in its worktree: to begin anew means something there, too.
    let is_reset = matches!(happened, H::Told(Word::Reset));
    if to == *stage && !is_reset { Stepped::Ignored } else { Stepped::To(to) }
}

fn blocked(attempt: u32, failure: Failure) -> Stage {
    Stage::Blocked { attempt, failure }
}

fn in_phase(work: &Work, phase: Phase) -> Stage {
    Stage::Running(Work { phase, ..work.clone() })
}

/// Where a person's word leads from a review; `None`: nowhere.
fn reviewed(back: &Stage, word: &Word) -> Option<Stage> {
    let again = || Turn { attempt: back.attempt() + 1, ..Turn::default() };
    Some(match (word, back) {
        (Word::GoOn, Stage::Running(work) | Stage::Failing { work, .. }) => {
            Stage::Running(Work { phase: Phase::Work, fixes: 0, ..work.clone() })
        }
        (Word::Verify, Stage::Running(work) | Stage::Failing { work, .. }) => in_phase(work, Phase::Verify),
        (Word::Verify, Stage::Conflicted { resolver: Some(_), .. }) => back.clone(),
        (Word::Verify, _) => return None,
        (Word::Merge { verified, entry }, _) => Stage::Merging { verified: verified.clone(), entry: *entry },
        (Word::Block, back) => blocked(back.attempt(), Failure::Told),
        (Word::Skip { by, why }, _) => Stage::Skipped { by: by.clone(), why: why.clone() },
        // What cannot simply go on starts again.
        (Word::GoOn | Word::Retry, _) => Stage::Ready(again()),
        (Word::Hold | Word::Release, _) => return None,
        (Word::Reset, _) => Stage::Ready(Turn { attempt: 1, ..Turn::default() }),
    })
}
