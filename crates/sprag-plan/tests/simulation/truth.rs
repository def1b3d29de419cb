//! The world that outlives a daemon: the real state of git, worktrees and agents. Effects change it, and
//! each of them checks the invariants.

use std::collections::{BTreeMap, BTreeSet};

use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_plan::ids::{CommitId, EffectKey, StageId};
use sprag_plan::reconcile::observed::{AgentSession, AgentSign, TargetBranch};
use sprag_plan::reconcile::recovery::{EffectTrace, TrunkHas};
use sprag_plan::run::Run;
use sprag_plan::run::effect::{
    BriefKind, CheckPhase, Effect, EffectOutcome, KillReason, NudgeTopic, QueueStep, RefStep, SessionSignal,
    StageStep,
};
use sprag_plan::run::record::{BudgetOwner, CommitProgress, SessionOutcome};
use sprag_plan::run::target_stage::is_base;
use sprag_plan::spec::Plan;
use sprag_plan::stage::StageFailure;

use super::chance::Chance;
use super::daemon::is_at_work;
use super::reviews;

/// The name of the changes of others on the target.
const FOREIGN: &str = "foreign";

/// The contents of a commit: the last change of each stage.
type Contents = BTreeMap<String, Change>;

#[derive(Clone, Debug, PartialEq)]
struct Change {
    number: u32,
    quality: Quality,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Quality {
    Good,
    /// Its own checks find it.
    Bad,
    /// Only the merge checks find it.
    BadForAll,
    /// It includes the changes of others that it has to fit.
    Fitted,
}

struct Tree {
    base: CommitId,
    head: CommitId,
}

pub(crate) struct Truth {
    commits: BTreeMap<CommitId, Contents>,
    next: u32,
    pub trunk: CommitId,
    /// Every commit that the trunk has pointed to.
    pub history: Vec<CommitId>,
    tested: BTreeSet<CommitId>,
    made: BTreeMap<(CommitId, CommitId), CommitId>,
    trees: BTreeMap<StageId, Tree>,
    /// Worktrees that someone deleted. Their branches still exist.
    pub deleted: BTreeSet<StageId>,
    pub sessions: BTreeMap<EffectKey, AgentSession>,
    /// Budgets that are mostly used.
    pub nearly: BTreeSet<BudgetOwner>,
    whose: BTreeMap<EffectKey, StageId>,
    progress: BTreeSet<EffectKey>,
    briefs: BTreeMap<StageId, BriefKind>,
    salvaged: BTreeSet<StageId>,
    pub target: CommitId,
    /// Someone removed commits from the target.
    pub is_rewritten: bool,
    landed: Contents,
    /// Stages that change the same lines, and stages that fail together.
    conflicts: Vec<(String, String)>,
    pairs: Vec<(String, String)>,
}

impl Truth {
    pub(crate) fn new(chance: &mut Chance, plan: &Plan) -> Truth {
        let start = CommitId(Text::new("c0"));
        let stages = plan.stages().iter().map(|stage| stage.id.as_str().to_owned());
        let ids: Vec<String> = stages.chain([FOREIGN.to_owned()]).collect();
        let mut pairs = |times: u64| -> Vec<(String, String)> {
            let mut found = Vec::new();
            for one in &ids {
                for other in &ids {
                    // Others often change files of a stage.
                    let times = if one == FOREIGN { times.div_ceil(2) } else { times };
                    if one < other && chance.once_in(times) {
                        found.push((one.clone(), other.clone()));
                    }
                }
            }
            found
        };
        Truth {
            conflicts: pairs(5),
            pairs: pairs(8),
            commits: [(start.clone(), Contents::new())].into(),
            next: 1,
            trunk: start.clone(),
            history: vec![start.clone()],
            tested: [start.clone()].into(),
            made: BTreeMap::new(),
            trees: BTreeMap::new(),
            deleted: BTreeSet::new(),
            sessions: BTreeMap::new(),
            nearly: BTreeSet::new(),
            whose: BTreeMap::new(),
            progress: BTreeSet::new(),
            briefs: BTreeMap::new(),
            salvaged: BTreeSet::new(),
            target: start,
            is_rewritten: false,
            landed: Contents::new(),
        }
    }

    fn commit(&mut self, contents: Contents) -> CommitId {
        let name = CommitId(Text::new(format!("c{}", self.next)));
        self.next += 1;
        self.commits.insert(name.clone(), contents);
        name
    }

    fn joined(&self, one: &CommitId, other: &CommitId) -> Contents {
        let mut contents = self.commits[one].clone();
        for (stage, change) in &self.commits[other] {
            let known = contents.entry(stage.clone()).or_insert_with(|| change.clone());
            if change.number > known.number {
                *known = change.clone();
            }
        }
        contents
    }

    fn is_green(&self, contents: &Contents) -> bool {
        let is_fitted = |stage: &String| contents[stage].quality == Quality::Fitted;
        let is_clash = |(one, other): &(String, String)| {
            contents.contains_key(one) && contents.contains_key(other) && !is_fitted(one) && !is_fitted(other)
        };
        contents.values().all(|change| matches!(change.quality, Quality::Good | Quality::Fitted))
            && !self.pairs.iter().any(is_clash)
    }

    fn conflict(&self, on: &CommitId, head: &CommitId) -> bool {
        let (ours, theirs) = (&self.commits[on], &self.commits[head]);
        // Both sides changed a line, and neither contains the change of the other.
        let is_new = |stage: &String, here: &Contents, there: &Contents| {
            here.get(stage).is_some_and(|change| there.get(stage) != Some(change))
        };
        self.conflicts.iter().any(|(one, other)| {
            is_new(one, ours, theirs) && is_new(other, theirs, ours)
                || is_new(other, ours, theirs) && is_new(one, theirs, ours)
        })
    }

    pub(crate) fn alive_of(&self, stage: &StageId) -> usize {
        let is_alive = |(key, session): &(&EffectKey, &AgentSession)| {
            self.whose[*key] == *stage && matches!(session, AgentSession::Alive(_))
        };
        self.sessions.iter().filter(is_alive).count()
    }

    pub(crate) fn has_tree(&self, stage: &StageId) -> bool {
        self.trees.contains_key(stage) && !self.deleted.contains(stage)
    }

    pub(crate) fn delete_a_worktree(&mut self, chance: &mut Chance) {
        let stages: Vec<StageId> = self.trees.keys().cloned().collect();
        self.deleted.extend(chance.pick(&stages).cloned());
    }

    /// Does an effect and returns its outcome.
    pub(crate) fn perform(
        &mut self,
        chance: &mut Chance,
        run: &Run,
        key: &EffectKey,
        effect: &Effect,
    ) -> EffectOutcome {
        match effect {
            Effect::Stage { stage, step: StageStep::AddWorktree { base } } => {
                let spec = run.plan().find(stage.as_str()).unwrap();
                let has = |need: &StageId| self.commits[base].contains_key(need.as_str());
                assert!(
                    spec.dependencies.iter().all(has),
                    "`{}` starts without its dependencies",
                    stage.as_str()
                );
                let (base, head) = (base.clone(), base.clone());
                let tree = self.trees.entry(stage.clone()).or_insert(Tree { base, head });
                self.salvaged.remove(stage);
                self.deleted.remove(stage);
                EffectOutcome::Worktree { base: tree.base.clone() }
            }
            Effect::Stage {
                step: StageStep::Setup | StageStep::Check { phase: CheckPhase::Before }, ..
            } => {
                if chance.once_in(80) {
                    EffectOutcome::Failed { failure: StageFailure::Setup, why: Text::new("no") }
                } else {
                    EffectOutcome::Done
                }
            }
            Effect::Stage { stage, step: StageStep::Check { .. } | StageStep::Salvage }
                if self.deleted.contains(stage) =>
            {
                EffectOutcome::Failed { failure: StageFailure::Setup, why: Text::new("there is no worktree") }
            }
            Effect::Stage { stage, step: StageStep::Check { phase: CheckPhase::Claim } } => {
                let tree = &self.trees[stage];
                let contents = &self.commits[&tree.head];
                let has_owed = run.owed(stage).is_none_or(|owed| self.has(&tree.head, owed));
                match contents.get(stage.as_str()) {
                    None => EffectOutcome::Unchanged,
                    Some(_) if !has_owed => EffectOutcome::Red { report: Text::new("theirs is not in it") },
                    Some(change) if change.quality == Quality::Bad || chance.once_in(40) => {
                        EffectOutcome::Red { report: Text::new("red") }
                    }
                    Some(_) => reviews::claimed(chance, &tree.head),
                }
            }
            Effect::Stage { step: StageStep::Review(job), .. } => {
                reviews::reviewed(chance, &job.head, &job.tree)
            }
            Effect::Stage { stage, step: StageStep::WriteBrief { kind } } => {
                self.briefs.insert(stage.clone(), *kind);
                EffectOutcome::Done
            }
            Effect::Stage { stage, step: StageStep::Spawn } => {
                assert!(!self.sessions.contains_key(key), "`{key:?}` is started twice");
                assert_eq!(self.alive_of(stage), 0, "two agents in the worktree of `{}`", stage.as_str());
                let has_tree = self.trees.contains_key(stage);
                assert!(has_tree, "an agent of `{}` without a worktree", stage.as_str());
                if chance.once_in(100) {
                    return EffectOutcome::Failed { failure: StageFailure::Sandbox, why: Text::new("no") };
                }
                self.whose.insert(key.clone(), stage.clone());
                self.sessions.insert(key.clone(), AgentSession::Alive(AgentSign::Working));
                EffectOutcome::Spawned
            }
            Effect::Stage { step: StageStep::Nudge { session, .. }, .. } => match self
                .sessions
                .get_mut(session)
            {
                Some(session @ AgentSession::Alive(_)) => {
                    *session = AgentSession::Alive(AgentSign::Working);
                    EffectOutcome::Done
                }
                _ => EffectOutcome::Failed { failure: StageFailure::Unknown, why: Text::new("it is gone") },
            },
            Effect::Session { session, step: SessionSignal::Interrupt } => {
                let found = self.sessions.get_mut(session).unwrap();
                if *found == AgentSession::Alive(AgentSign::Wedged) && chance.once_in(2) {
                    *found = AgentSession::Alive(AgentSign::Working);
                }
                EffectOutcome::Done
            }
            Effect::Session { session, step: SessionSignal::Kill { reason } } => {
                let progress = self.progress_of(session);
                let found = self.sessions.get_mut(session).unwrap();
                if let AgentSession::Alive(_) = found {
                    *found = AgentSession::Over(match reason {
                        KillReason::Over => SessionOutcome::Stopped,
                        KillReason::Wedged => {
                            SessionOutcome::Failed { failure: StageFailure::Wedged, progress }
                        }
                    });
                }
                EffectOutcome::Done
            }
            Effect::Stage { stage, step: StageStep::Salvage } => {
                self.salvaged.insert(stage.clone());
                EffectOutcome::Salvaged { carry: Text::new("h") }
            }
            Effect::Queue { step: QueueStep::Make { on, head }, .. } => {
                if self.conflict(on, head) {
                    return EffectOutcome::Conflicted { paths: Vec::new() };
                }
                // The name of the candidate is fixed beforehand.
                let known = self.made.get(&(on.clone(), head.clone())).cloned();
                let commit = known.unwrap_or_else(|| {
                    let contents = self.joined(on, head);
                    self.commit(contents)
                });
                self.made.insert((on.clone(), head.clone()), commit.clone());
                EffectOutcome::Made { tree: commit.clone(), commit }
            }
            Effect::Queue { step: QueueStep::Test { commit, .. }, .. } => {
                let contents = &self.commits[commit];
                if self.is_green(contents) && !chance.once_in(25) {
                    self.tested.insert(commit.clone());
                    EffectOutcome::Done
                } else {
                    EffectOutcome::Red { report: Text::new("red") }
                }
            }
            Effect::Queue { step: QueueStep::Land { from, to }, .. } => self.land(from, to),
            Effect::Refs(RefStep::RestoreTrunk { to }) => {
                assert_eq!(self.history.last(), Some(to), "the trunk is restored to its last commit");
                self.trunk = to.clone();
                EffectOutcome::Done
            }
            Effect::Refs(RefStep::Promote { to }) => {
                assert!(self.tested.contains(to), "`{to:?}` reaches the target untested");
                if !matches!(self.stands(to), TargetBranch::Behind(_)) {
                    return EffectOutcome::Elsewhere { trunk: self.target.clone() };
                }
                self.target = to.clone();
                EffectOutcome::Done
            }
            Effect::Stage { stage, step: StageStep::RemoveWorktree } => {
                assert_eq!(self.alive_of(stage), 0, "a worktree is removed under a live agent");
                assert!(self.salvaged.contains(stage), "a worktree is removed without a salvage");
                self.trees.remove(stage);
                EffectOutcome::Done
            }
            Effect::Stage { stage, step: StageStep::Discard { .. } } => {
                assert_eq!(self.alive_of(stage), 0, "a worktree is removed under a live agent");
                self.trees.remove(stage);
                self.deleted.remove(stage);
                EffectOutcome::Done
            }
            Effect::Notify { .. } => EffectOutcome::Done,
        }
    }

    fn land(&mut self, from: &CommitId, to: &CommitId) -> EffectOutcome {
        if self.history.contains(to) {
            return EffectOutcome::Done;
        }
        if self.trunk != *from {
            return EffectOutcome::Elsewhere { trunk: self.trunk.clone() };
        }
        assert!(self.tested.contains(to), "`{to:?}` lands untested");
        self.move_to(to.clone());
        EffectOutcome::Done
    }

    fn move_to(&mut self, to: CommitId) {
        for (stage, change) in &self.landed {
            let now = self.commits[&to].get(stage).map_or(0, |now| now.number);
            assert!(now >= change.number, "landed work of `{stage}` is lost");
        }
        self.landed = self.commits[&to].clone();
        self.history.push(to.clone());
        self.trunk = to;
    }

    /// Moves the trunk, which others should not do.
    pub(crate) fn disturb(&mut self) {
        self.trunk = self.commit(Contents::new());
    }

    /// Puts a commit of others on the target, or removes commits from it.
    pub(crate) fn foreign(&mut self, chance: &mut Chance) {
        if chance.once_in(6) {
            self.is_rewritten = true;
            self.target = self.commit(Contents::new());
            return;
        }
        let mut contents = self.commits[&self.target].clone();
        let number = contents.get(FOREIGN).map_or(0, |change| change.number) + 1;
        let quality = if chance.once_in(5) { Quality::BadForAll } else { Quality::Good };
        contents.insert(FOREIGN.to_owned(), Change { number, quality });
        self.target = self.commit(contents);
    }

    /// Merges the trunk and commits of others on the target by hand.
    pub(crate) fn merge_by_hand(&mut self) {
        let mut contents = self.joined(&self.target, self.history.last().unwrap());
        let number = contents.get(FOREIGN).map_or(0, |change| change.number) + 1;
        contents.insert(FOREIGN.to_owned(), Change { number, quality: Quality::Fitted });
        self.target = self.commit(contents);
    }

    /// Reports whether a commit contains everything of another.
    fn has(&self, within: &CommitId, commit: &CommitId) -> bool {
        let there = &self.commits[within];
        let is_there = |(name, change): (&String, &Change)| {
            there.get(name).is_some_and(|known| known.number >= change.number)
        };
        self.commits[commit].iter().all(is_there)
    }

    /// Returns the relation of the target to a commit of the trunk.
    pub(crate) fn stands(&self, trunk: &CommitId) -> TargetBranch {
        let now = self.target.clone();
        match (self.is_rewritten, self.has(trunk, &now)) {
            (true, _) => TargetBranch::Rewritten(now),
            (false, true) => TargetBranch::Behind(now),
            (false, false) => TargetBranch::Ahead(now),
        }
    }

    /// Returns the trace of an effect whose outcome is not known.
    pub(crate) fn probe(&self, key: &EffectKey, effect: &Effect) -> EffectTrace {
        match effect {
            Effect::Stage { stage, step: StageStep::AddWorktree { .. } } => match self.trees.get(stage) {
                Some(_) if self.deleted.contains(stage) => EffectTrace::Nothing,
                Some(tree) => EffectTrace::Worktree { base: tree.base.clone() },
                None => EffectTrace::Nothing,
            },
            Effect::Stage { step: StageStep::Spawn, .. } if self.sessions.contains_key(key) => {
                EffectTrace::Session
            }
            Effect::Stage { stage, step: StageStep::Salvage } if self.salvaged.contains(stage) => {
                EffectTrace::Salvaged { carry: Text::new("h") }
            }
            Effect::Session { session, step: SessionSignal::Kill { .. } } => match self.sessions.get(session)
            {
                Some(AgentSession::Alive(_)) => EffectTrace::Nothing,
                Some(AgentSession::Over(_)) | None => EffectTrace::Gone,
            },
            Effect::Stage { stage, step: StageStep::RemoveWorktree } if !self.has_tree(stage) => {
                EffectTrace::Gone
            }
            Effect::Queue { step: QueueStep::Land { to, .. }, .. } => {
                let has = if self.history.contains(to) { TrunkHas::Candidate } else { TrunkHas::Not };
                EffectTrace::Trunk { at: self.trunk.clone(), has }
            }
            Effect::Refs(RefStep::Promote { to }) => {
                let has = if self.target == *to { TrunkHas::Candidate } else { TrunkHas::Not };
                EffectTrace::Trunk { at: self.target.clone(), has }
            }
            _ => EffectTrace::Nothing,
        }
    }

    fn progress_of(&self, session: &EffectKey) -> CommitProgress {
        if self.progress.contains(session) { CommitProgress::Committed } else { CommitProgress::Nothing }
    }

    /// Lets an agent act: it works, and ends in one of many ways.
    pub(crate) fn live(&mut self, chance: &mut Chance, session: &EffectKey, now: Timestamp) {
        if !self.sessions.get(session).is_some_and(is_at_work) {
            return;
        }
        let failed = |failure, progress| AgentSession::Over(SessionOutcome::Failed { failure, progress });
        let progress = self.progress_of(session);
        let next = match chance.below(24) {
            0..=9 => return self.work(chance, session),
            10..=14 => AgentSession::Alive(AgentSign::Claiming),
            15..=16 => AgentSession::Over(SessionOutcome::Well),
            17 => failed(StageFailure::Crash, progress),
            18 => failed(StageFailure::Timeout, progress),
            19 => AgentSession::Over(SessionOutcome::RateLimited {
                until: now.plus_seconds(1 + chance.below(4000) as i64),
            }),
            20 => AgentSession::Alive(AgentSign::Asking { question: Text::new("?") }),
            21 => AgentSession::Alive(AgentSign::Wedged),
            22 => match chance.below(4) {
                0 => AgentSession::Over(SessionOutcome::ContextFull),
                1 => failed(StageFailure::Auth, progress),
                2 => AgentSession::Alive(AgentSign::Full),
                _ => {
                    let about = if chance.once_in(2) { NudgeTopic::Notes } else { NudgeTopic::Handoff };
                    AgentSession::Alive(AgentSign::Filling { about, percent: 70 })
                }
            },
            _ => return,
        };
        self.sessions.insert(session.clone(), next);
    }

    fn work(&mut self, chance: &mut Chance, session: &EffectKey) {
        let stage = self.whose[session].clone();
        if self.deleted.contains(&stage) {
            let failed =
                SessionOutcome::Failed { failure: StageFailure::Crash, progress: self.progress_of(session) };
            self.sessions.insert(session.clone(), AgentSession::Over(failed));
            return;
        }
        let brief = self.briefs.get(&stage).copied().unwrap_or(BriefKind::Stage);
        let tree = &self.trees[&stage];
        let is_merging =
            matches!(brief, BriefKind::Merge | BriefKind::MergeConflict | BriefKind::BaseConflict);
        let mut contents = match brief {
            BriefKind::Merge | BriefKind::MergeConflict => {
                self.joined(&tree.head, self.history.last().unwrap())
            }
            // The target at this moment.
            BriefKind::BaseConflict => self.joined(&tree.head, &self.target),
            BriefKind::Stage | BriefKind::Knowledge | BriefKind::Recovery => self.commits[&tree.head].clone(),
        };
        let number = contents.get(stage.as_str()).map_or(0, |change| change.number) + 1;
        let quality = match chance.below(10) {
            0 => Quality::Bad,
            1 => Quality::BadForAll,
            _ if is_merging => Quality::Fitted,
            _ => Quality::Good,
        };
        contents.insert(stage.as_str().to_owned(), Change { number, quality });
        // The agent that merges both sides also fixes the other side.
        if let Some(theirs) = contents.get_mut(FOREIGN).filter(|_| is_base(&stage)) {
            theirs.quality = if quality == Quality::Fitted { quality } else { theirs.quality };
        }
        let head = self.commit(contents);
        self.trees.get_mut(&stage).unwrap().head = head;
        self.progress.insert(session.clone());
    }

    /// Checks the invariants at the end.
    pub(crate) fn is_sound(&self, merged: &[CommitId], run: &Run) {
        for (stage, commit) in run.merged() {
            let has_owed = run.owed(stage).is_none_or(|owed| self.has(commit, owed));
            assert!(has_owed, "`{}` lands without the commits of others on the target", stage.as_str());
        }
        let is_tested = self.history.iter().all(|commit| self.tested.contains(commit));
        assert!(is_tested, "all of the trunk was tested");
        assert!(merged.iter().all(|commit| self.history.contains(commit)), "merged commits are on the trunk");
    }
}
