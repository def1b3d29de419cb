//! What sessions do, and what is done about it.

use sprag_base::text::Text;

use super::Next;
use crate::ids::{Key, StageId};
use crate::reconcile::observed::{Alive, Session};
use crate::run::Standing;
use crate::run::record::{About, Because, Effect, Ended, Progress, Recorded};
use crate::run::retry::follows;
use crate::spec::StageSpec;
use crate::stage::{Failure, Happened, Phase, Stage};

impl Next<'_> {
    /// Ends that nobody has written down, and agents that nobody wants.
    pub(super) fn sessions(&mut self) {
        for (session, id) in self.run.sessions() {
            // Whether it has started at all is not known yet.
            if self.run.ended(session).is_some() || self.run.open().contains_key(session) {
                continue;
            }
            match self.world.sessions.get(session) {
                Some(Session::Over(ended)) => self.ended(id, session, ended.clone()),
                Some(Session::Alive(_)) if !self.is_wanted(id, session) => self.end(session),
                Some(Session::Alive(_)) => {}
                // Nobody watches it and nobody has written how it ended.
                None => {
                    let ended = Ended::Failed { failure: Failure::Crash, progress: Progress::Nothing };
                    self.ended(id, session, ended);
                }
            }
        }
    }

    /// Everybody who is at work is told to end, and how they ended is written down.
    pub(super) fn send_home(&mut self) {
        for (session, id) in self.run.sessions() {
            if self.run.ended(session).is_some() {
                continue;
            }
            match self.world.sessions.get(session) {
                Some(Session::Over(ended)) => self.ended(id, session, ended.clone()),
                Some(Session::Alive(_)) => self.end(session),
                // It was asked for at most, and whoever comes back looks at that.
                None => {}
            }
        }
        // Whoever reads the records meanwhile finds nobody at work who is not.
        for spec in self.run.plan().stages() {
            let Some(standing) = self.run.standing(&spec.id) else { continue };
            match &standing.stage {
                Stage::Running(work) if work.phase == Phase::Work && self.is_gone(&work.session) => {
                    self.at_work(spec, standing, &work.session);
                }
                Stage::Asking { work, .. } if self.is_gone(&work.session) => {
                    self.asking(spec, standing, &work.session);
                }
                _ => {}
            }
        }
    }

    fn ended(&mut self, stage: &StageId, session: &Key, ended: Ended) {
        let (stage, session) = (stage.clone(), session.clone());
        let record = Recorded::Ended { stage, session, at: self.now, ended };
        self.actions.push(super::Action::Record(record));
    }

    /// Whether its stage still has something for it to do. In a review it has not: who goes on starts anew.
    fn is_wanted(&self, id: &StageId, session: &Key) -> bool {
        self.run.standing(id).is_some_and(|standing| match &standing.stage {
            Stage::Review { .. } => false,
            stage => stage.session() == Some(session),
        })
    }

    pub(super) fn is_gone(&self, session: &Key) -> bool {
        self.run.ended(session).is_some()
    }

    pub(super) fn end(&mut self, session: &Key) {
        self.kill(session, Because::Over);
    }

    fn kill(&mut self, session: &Key, because: Because) {
        if self.run.killed(session).is_none() {
            let key = Key(Text::new(format!("{}/kill", session.0)));
            self.act(key, Effect::Kill { session: session.clone(), because });
        }
    }

    fn alive(&self, session: &Key) -> Option<&Alive> {
        match self.world.sessions.get(session)? {
            Session::Alive(alive) => Some(alive),
            Session::Over(_) => None,
        }
    }

    /// An interruption first; whoever does not move then is ended.
    fn wedged(&mut self, session: &Key) {
        match self.run.is_interrupted(session) {
            false => {
                let key = Key(Text::new(format!("{}/interrupt", session.0)));
                self.act(key, Effect::Interrupt { session: session.clone() });
            }
            true => self.kill(session, Because::Wedged),
        }
    }

    pub(super) fn at_work(&mut self, spec: &StageSpec, standing: &Standing, session: &Key) {
        let (id, first) = (&spec.id, self.run.plan().head.backoff);
        if let Some((ended, at)) = self.run.ended(session) {
            // Whoever ends as it was asked to has handed over, and claims nothing.
            if *ended == Ended::Well && self.run.is_nudged(session, About::Handoff) {
                return self.happened(id, Happened::ContextFull { why: Text::new("it has handed over") });
            }
            return self.happened(id, follows(ended, standing, spec, first, *at));
        }
        match self.alive(session) {
            Some(Alive::Working) => self.answer(id, standing, session),
            // It asks until it has heard the answer.
            Some(Alive::Asking { question }) if standing.is_answered(question) => {
                self.answer(id, standing, session);
            }
            Some(Alive::Filling { about, .. }) if self.run.is_nudged(session, *about) => {
                self.answer(id, standing, session);
            }
            Some(Alive::Filling { about, percent }) => {
                let (about, text) = (*about, filling(*about, *percent));
                let name = if about == About::Handoff { "full" } else { "filling" };
                let key = Key(Text::new(format!("{}/{name}", session.0)));
                let (stage, session) = (id.clone(), session.clone());
                self.act(key, Effect::Nudge { stage, session, text, about });
            }
            None => {}
            Some(Alive::Claiming) => self.happened(id, Happened::Claimed),
            Some(Alive::Asking { question }) => {
                let question = question.clone();
                self.happened(id, Happened::Asked { question });
            }
            Some(Alive::Full) => {
                self.happened(id, Happened::ContextFull { why: Text::new("its context is full") });
            }
            Some(Alive::Wedged) => self.wedged(session),
        }
    }

    /// Tells an agent what was answered since it began.
    fn answer(&mut self, id: &StageId, standing: &Standing, session: &Key) {
        if let Some(answer) = standing.untold() {
            let key = Key(Text::new(format!("{}/answer.{}", session.0, standing.told)));
            let (stage, session, text) = (id.clone(), session.clone(), Text::new(answer));
            self.act(key, Effect::Nudge { stage, session, text, about: About::Answer });
        }
    }

    pub(super) fn asking(&mut self, spec: &StageSpec, standing: &Standing, session: &Key) {
        let (id, first) = (&spec.id, self.run.plan().head.backoff);
        match self.run.ended(session) {
            // Whoever follows it is told the answer.
            Some((Ended::Well | Ended::Stopped, _)) if standing.is_asked => {}
            // It did without an answer.
            Some((Ended::Well, _)) => self.happened(id, Happened::Answered),
            Some((ended, at)) => self.happened(id, follows(ended, standing, spec, first, *at)),
            None => match self.alive(session) {
                None | Some(Alive::Asking { .. }) => {}
                Some(Alive::Working | Alive::Filling { .. }) if standing.is_asked => {}
                Some(
                    Alive::Working | Alive::Filling { .. } | Alive::Claiming | Alive::Full | Alive::Wedged,
                ) => {
                    self.happened(id, Happened::Answered);
                }
            },
        }
    }

    pub(super) fn resolving(&mut self, id: &StageId, standing: &Standing, session: &Key) {
        match self.run.ended(session) {
            Some((Ended::Well, _)) => self.verify(id, standing),
            // What was claimed is looked at, whatever became of whoever claimed it.
            Some(_) if standing.claimed.as_ref() == Some(session) => self.verify(id, standing),
            Some(_) => self.happened(id, Happened::ResolverFailed),
            None => match self.alive(session) {
                Some(Alive::Claiming) => self.verify(id, standing),
                // Nobody but the agent of the stage itself asks questions or hands over.
                Some(Alive::Asking { .. } | Alive::Full) => self.end(session),
                Some(Alive::Wedged) => self.wedged(session),
                Some(Alive::Working | Alive::Filling { .. })
                    if standing.claimed.as_ref() == Some(session) =>
                {
                    self.verify(id, standing)
                }
                None | Some(Alive::Working | Alive::Filling { .. }) => {}
            },
        }
    }
}

/// What an agent is told whose context fills.
fn filling(about: About, percent: u8) -> Text<4000> {
    Text::new(match about {
        About::Handoff => format!(
            "your context is {percent} % full, which is as far as it goes here. Commit what is whole, run `sprag handoff --next \
             TEXT` once for each thing that is still to be done, and end your turn: somebody else goes on from there."
        ),
        About::Notes | About::Report | About::Answer => format!(
            "your context is {percent} % full. Commit what is whole, and note what somebody who goes on from here has to \
             know: `sprag note TEXT`, `sprag decision TEXT --because WHY`."
        ),
    })
}
