//! Decides on sessions: records their ends, ends those that are not needed, and answers agents.

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
    /// Records ends of sessions and ends agents that no stage needs.
    pub(super) fn sessions(&mut self) {
        for (session, id) in self.run.live_sessions() {
            // It is not known yet whether the session has started.
            if self.run.effect(session).is_some() {
                continue;
            }
            match self.world.sessions.get(session) {
                Some(AgentSession::Over(ended)) => self.ended(id, session, ended.clone()),
                Some(AgentSession::Alive(_)) if !self.is_wanted(id, session) => self.end(session),
                Some(AgentSession::Alive(_)) => {}
                // No supervisor watches it and no end is recorded.
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

    /// Ends all agents and records how they ended.
    pub(super) fn send_home(&mut self) {
        for (session, id) in self.run.live_sessions() {
            match self.world.sessions.get(session) {
                Some(AgentSession::Over(ended)) => self.ended(id, session, ended.clone()),
                Some(AgentSession::Alive(_)) => self.end(session),
                // At most its start was requested; the next daemon checks that.
                None => {}
            }
        }
        // Readers of the records should not find a stage at work whose agent is gone.
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

    /// Reports whether the stage still needs the session. In a review it does not: a new agent continues.
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

    /// Interrupts a wedged agent first, and kills it if it stays wedged.
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
            // An agent that ends after a request to hand over has handed over and claims nothing.
            if *ended == SessionOutcome::Well && self.run.is_nudged(session, NudgeTopic::Handoff) {
                return self.happened(id, StageEvent::ContextFull { why: Text::new(sentences::HANDED_OVER) });
            }
            return self.happened(id, follows(ended, entry, spec, first, *at));
        }
        match self.alive(session) {
            Some(AgentSign::Working) => self.answer(id, entry, session),
            // The agent asks until it has received the answer.
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

    /// Sends an agent the answers that arrived since it began.
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
            // The next agent gets the answer.
            Some((SessionOutcome::Well | SessionOutcome::Stopped, _)) if is_asked => {}
            // The agent finished without an answer.
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
            // A claim is checked even if its agent has failed since.
            Some(_) if *has_claimed => self.verify(id, entry, verification),
            Some(_) => self.happened(id, StageEvent::ResolverFailed),
            None => match self.alive(session) {
                Some(AgentSign::Claiming) => self.verify(id, entry, verification),
                // Only the main agent of a stage asks questions or hands over.
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
