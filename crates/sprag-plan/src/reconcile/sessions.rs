//! What sessions do, and what is done about it.

use sprag_base::text::Text;

use super::Reconciler;
use crate::ids::{EffectKey, StageId};
use crate::reconcile::observed::{AgentSession, AgentSign};
use crate::run::StageEntry;
use crate::run::effect::{Effect, KillReason, NudgeTopic, SessionSignal, StageStep};
use crate::run::record::{CommitProgress, RunRecord, SessionOutcome};
use crate::run::retry::follows;
use crate::sentences;
use crate::spec::StageSpec;
use crate::stage::state::StageState;
use crate::stage::{Phase, QuestionSource, Resolver, StageEvent, StageFailure};

impl Reconciler<'_> {
    /// Ends that nobody has written down, and agents that nobody wants.
    pub(super) fn sessions(&mut self) {
        for (session, id) in self.run.live_sessions() {
            // Whether it has started at all is not known yet.
            if self.run.effect(session).is_some() {
                continue;
            }
            match self.world.sessions.get(session) {
                Some(AgentSession::Over(ended)) => self.ended(id, session, ended.clone()),
                Some(AgentSession::Alive(_)) if !self.is_wanted(id, session) => self.end(session),
                Some(AgentSession::Alive(_)) => {}
                // Nobody watches it and nobody has written how it ended.
                None => {
                    let ended = SessionOutcome::Failed {
                        failure: StageFailure::Crash,
                        progress: CommitProgress::Nothing,
                    };
                    self.ended(id, session, ended);
                }
            }
        }
    }

    /// Everybody who is at work is told to end, and how they ended is written down.
    pub(super) fn send_home(&mut self) {
        for (session, id) in self.run.live_sessions() {
            match self.world.sessions.get(session) {
                Some(AgentSession::Over(ended)) => self.ended(id, session, ended.clone()),
                Some(AgentSession::Alive(_)) => self.end(session),
                // It was asked for at most, and whoever comes back looks at that.
                None => {}
            }
        }
        // Whoever reads the records meanwhile finds nobody at work who is not.
        for spec in self.run.plan().stages() {
            let Some(entry) = self.run.entry(&spec.id) else { continue };
            match &entry.state {
                StageState::Running(work) if work.phase == Phase::Working && self.is_gone(&work.session) => {
                    self.at_work(spec, entry, &work.session);
                }
                StageState::Asking { work, .. } if self.is_gone(&work.session) => {
                    self.asking(spec, entry, &work.session);
                }
                _ => {}
            }
        }
    }

    fn ended(&mut self, stage: &StageId, session: &EffectKey, ended: SessionOutcome) {
        let (stage, session) = (stage.clone(), session.clone());
        let record = RunRecord::Ended { stage, session, at: self.now, ended };
        self.actions.push(super::Action::Record(record));
    }

    /// Whether its stage still has something for it to do. In a review it has not: who goes on starts anew.
    fn is_wanted(&self, id: &StageId, session: &EffectKey) -> bool {
        self.run.entry(id).is_some_and(|entry| match &entry.state {
            StageState::Review { .. } => false,
            stage => stage.session() == Some(session),
        })
    }

    pub(super) fn is_gone(&self, session: &EffectKey) -> bool {
        self.run.ended(session).is_some()
    }

    pub(super) fn end(&mut self, session: &EffectKey) {
        self.kill(session, KillReason::Over);
    }

    fn kill(&mut self, session: &EffectKey, reason: KillReason) {
        if self.run.killed(session).is_none() {
            let key = EffectKey(Text::new(format!("{}/kill", session.0)));
            self.act(key, Effect::Session { session: session.clone(), step: SessionSignal::Kill { reason } });
        }
    }

    fn alive(&self, session: &EffectKey) -> Option<&AgentSign> {
        match self.world.sessions.get(session)? {
            AgentSession::Alive(alive) => Some(alive),
            AgentSession::Over(_) => None,
        }
    }

    /// An interruption first; whoever does not move then is ended.
    fn wedged(&mut self, session: &EffectKey) {
        if self.run.is_interrupted(session) {
            self.kill(session, KillReason::Wedged)
        } else {
            let key = EffectKey(Text::new(format!("{}/interrupt", session.0)));
            self.act(key, Effect::Session { session: session.clone(), step: SessionSignal::Interrupt });
        }
    }

    pub(super) fn at_work(&mut self, spec: &StageSpec, entry: &StageEntry, session: &EffectKey) {
        let (id, first) = (&spec.id, self.run.plan().head.backoff);
        if let Some((ended, at)) = self.run.ended(session) {
            // Whoever ends as it was asked to has handed over, and claims nothing.
            if *ended == SessionOutcome::Well && self.run.is_nudged(session, NudgeTopic::Handoff) {
                return self.happened(id, StageEvent::ContextFull { why: Text::new(sentences::HANDED_OVER) });
            }
            return self.happened(id, follows(ended, entry, spec, first, *at));
        }
        match self.alive(session) {
            Some(AgentSign::Working) => self.answer(id, entry, session),
            // It asks until it has heard the answer.
            Some(AgentSign::Asking { question }) if entry.answers.has_answer_to(question) => {
                self.answer(id, entry, session);
            }
            Some(AgentSign::Filling { about, .. }) if self.run.is_nudged(session, *about) => {
                self.answer(id, entry, session);
            }
            Some(AgentSign::Filling { about, percent }) => {
                let (about, text) = (*about, Text::new(sentences::context_fills(*about, *percent)));
                let name = if about == NudgeTopic::Handoff { "full" } else { "filling" };
                let key = EffectKey(Text::new(format!("{}/{name}", session.0)));
                let nudge = StageStep::Nudge { session: session.clone(), text, topic: about };
                self.act(key, nudge.for_stage(id));
            }
            None => {}
            Some(AgentSign::Claiming) => self.happened(id, StageEvent::Claimed),
            Some(AgentSign::Asking { question }) => {
                let (question, source) = (question.clone(), QuestionSource::Prompt);
                self.happened(id, StageEvent::Asked { question, source });
            }
            Some(AgentSign::Full) => {
                self.happened(id, StageEvent::ContextFull { why: Text::new(sentences::CONTEXT_FULL) });
            }
            Some(AgentSign::Wedged) => self.wedged(session),
        }
    }

    /// Tells an agent what was answered since it began.
    fn answer(&mut self, id: &StageId, entry: &StageEntry, session: &EffectKey) {
        if let Some(answer) = entry.answers.undelivered() {
            let key = EffectKey(Text::new(format!("{}/answer.{}", session.0, entry.answers.delivered)));
            let (session, text) = (session.clone(), Text::new(answer));
            let nudge = StageStep::Nudge { session, text, topic: NudgeTopic::Answer };
            self.act(key, nudge.for_stage(id));
        }
    }

    pub(super) fn asking(&mut self, spec: &StageSpec, entry: &StageEntry, session: &EffectKey) {
        let (id, first) = (&spec.id, self.run.plan().head.backoff);
        let is_asked = matches!(&entry.state, StageState::Asking { source: QuestionSource::Command, .. });
        match self.run.ended(session) {
            // Whoever follows it is told the answer.
            Some((SessionOutcome::Well | SessionOutcome::Stopped, _)) if is_asked => {}
            // It did without an answer.
            Some((SessionOutcome::Well, _)) => self.happened(id, StageEvent::Answered),
            Some((ended, at)) => self.happened(id, follows(ended, entry, spec, first, *at)),
            None => match self.alive(session) {
                None | Some(AgentSign::Asking { .. }) => {}
                Some(AgentSign::Working | AgentSign::Filling { .. }) if is_asked => {}
                Some(
                    AgentSign::Working
                    | AgentSign::Filling { .. }
                    | AgentSign::Claiming
                    | AgentSign::Full
                    | AgentSign::Wedged,
                ) => {
                    self.happened(id, StageEvent::Answered);
                }
            },
        }
    }

    pub(super) fn resolving(&mut self, id: &StageId, entry: &StageEntry, resolver: &Resolver) {
        let Resolver { session, has_claimed, verification } = resolver;
        match self.run.ended(session) {
            Some((SessionOutcome::Well, _)) => self.verify(id, entry, verification),
            // A claim is checked, whatever became of the agent that made it.
            Some(_) if *has_claimed => self.verify(id, entry, verification),
            Some(_) => self.happened(id, StageEvent::ResolverFailed),
            None => match self.alive(session) {
                Some(AgentSign::Claiming) => self.verify(id, entry, verification),
                // Nobody but the agent of the stage itself asks questions or hands over.
                Some(AgentSign::Asking { .. } | AgentSign::Full) => self.end(session),
                Some(AgentSign::Wedged) => self.wedged(session),
                Some(AgentSign::Working | AgentSign::Filling { .. }) if *has_claimed => {
                    self.verify(id, entry, verification)
                }
                None | Some(AgentSign::Working | AgentSign::Filling { .. }) => {}
            },
        }
    }
}
