//! The facts that gates ask the host for, and those that it found.

use std::ops::BitOr;

use sprag_base::text::Text;
use sprag_check::Results;
use sprag_intent::set::ScopeFacts;
use sprag_memory::answers::Match;
use sprag_memory::episode::FailurePatterns;
use sprag_memory::recall::Recalled;
use sprag_memory::write_gate::CandidateFacts;
use sprag_policy::rule_set::RuleSet;
use sprag_trace::finding::TraceFindings;

use crate::facts::{
    Closed, ConflictMarker, DetectedTracker, ProtectedDamage, RoleMarks, SessionChanges, Staged, WrittenPath,
};
use crate::gates::stale::facts::StaleFacts;
use crate::judge::JudgeResult;
use crate::obligation::OpenDebt;

/// A set of questions to the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedNeeds(u32);

impl SharedNeeds {
    pub const NONE: SharedNeeds = SharedNeeds(0);
    /// Conflict markers in files changed since the session started and in those of open debts.
    pub const CONFLICTS: SharedNeeds = SharedNeeds(1);
    /// Open debts of this clone.
    pub const DEBTS: SharedNeeds = SharedNeeds(1 << 1);
    /// Every spelling of the places that no agent may change, and what a call would write.
    pub const OURS: SharedNeeds = SharedNeeds(1 << 2);
    /// The commit that is checked out.
    pub const HEAD: SharedNeeds = SharedNeeds(1 << 3);
    /// The rules that restrict.
    pub const RULES: SharedNeeds = SharedNeeds(1 << 4);
    /// The rules that allow.
    pub const ALLOWS: SharedNeeds = SharedNeeds(1 << 5);
    /// The judge's opinion, where the rules have none.
    pub const JUDGE: SharedNeeds = SharedNeeds(1 << 6);
    /// What the surroundings say of the agent's role.
    pub const ROLE: SharedNeeds = SharedNeeds(1 << 7);
    /// Nothing to be told: guarded files are kept as they are before a call.
    pub const KEEP: SharedNeeds = SharedNeeds(1 << 8);
    /// What a call has done to them, which is undone.
    pub const DAMAGE: SharedNeeds = SharedNeeds(1 << 9);
    /// What the lines have in them that a commit would add.
    pub const STAGED: SharedNeeds = SharedNeeds(1 << 10);
    /// Nothing to be told: what the worktree is like is kept before the first change.
    pub const START: SharedNeeds = SharedNeeds(1 << 11);
    /// What has changed since then.
    pub const CHANGES: SharedNeeds = SharedNeeds(1 << 12);
    /// The hash of the working tree.
    pub const TREE: SharedNeeds = SharedNeeds(1 << 13);
    /// What the configured checks say of it.
    pub const CHECKS: SharedNeeds = SharedNeeds(1 << 14);
    /// Which tracker is used here.
    pub const TRACKER: SharedNeeds = SharedNeeds(1 << 15);
    /// What became of tickets whose closing nobody confirmed.
    pub const CLOSED: SharedNeeds = SharedNeeds(1 << 19);
    /// A secret nobody has seen yet.
    pub const TOKEN: SharedNeeds = SharedNeeds(1 << 16);
    /// Other agents that could be asked for an opinion.
    pub const PEERS: SharedNeeds = SharedNeeds(1 << 17);
    /// What differs from the last commit.
    pub const UNCOMMITTED: SharedNeeds = SharedNeeds(1 << 18);
    /// What the memory has to say.
    pub const RECALL: SharedNeeds = SharedNeeds(1 << 20);
    /// What helped when commands failed before.
    pub const EPISODES: SharedNeeds = SharedNeeds(1 << 24);
    /// What the user answered to questions like these.
    pub const ANSWERS: SharedNeeds = SharedNeeds(1 << 25);

    /// The intents of the repository, and what became of them.
    pub const INTENTS: SharedNeeds = SharedNeeds(1 << 26);
    /// What a call would write, or has written, with links followed.
    pub const WRITTEN: SharedNeeds = SharedNeeds(1 << 27);
    /// What the files of a call are like now, and who else is at work on them.
    pub const SEEN: SharedNeeds = SharedNeeds(1 << 28);
    /// What a call has changed.
    pub const CHANGED: SharedNeeds = SharedNeeds(1 << 29);
    /// What else has changed that no record tells of, and what commits have of all of it.
    pub const UNTRACED: SharedNeeds = SharedNeeds(1 << 30);

    /// What is known of the candidates that are handed in.
    pub const PROPOSED: SharedNeeds = SharedNeeds(1 << 21);

    /// Whether finding out may take long.
    pub fn is_slow(self) -> bool {
        const SLOW: SharedNeeds = SharedNeeds::union(&[
            SharedNeeds::CONFLICTS,
            SharedNeeds::JUDGE,
            SharedNeeds::STAGED,
            SharedNeeds::START,
            SharedNeeds::CHANGES,
            SharedNeeds::TREE,
            SharedNeeds::CHECKS,
            SharedNeeds::CLOSED,
            SharedNeeds::UNCOMMITTED,
            SharedNeeds::PROPOSED,
            SharedNeeds::UNTRACED,
        ]);
        !self.only(SLOW).is_none()
    }

    pub fn has(self, other: SharedNeeds) -> bool {
        self.0 & other.0 == other.0
    }

    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    pub const fn union(needs: &[SharedNeeds]) -> SharedNeeds {
        let (mut all, mut at) = (0, 0);
        while at < needs.len() {
            all |= needs[at].0;
            at += 1;
        }
        SharedNeeds(all)
    }

    pub fn only(self, other: SharedNeeds) -> SharedNeeds {
        SharedNeeds(self.0 & other.0)
    }

    pub fn without(self, other: SharedNeeds) -> SharedNeeds {
        SharedNeeds(self.0 & !other.0)
    }

    /// The names of what is asked, for the documents.
    pub fn names(self) -> Vec<&'static str> {
        [
            (SharedNeeds::CONFLICTS, "conflicts"),
            (SharedNeeds::DEBTS, "debts"),
            (SharedNeeds::OURS, "ours"),
            (SharedNeeds::HEAD, "head"),
            (SharedNeeds::RULES, "rules"),
            (SharedNeeds::ALLOWS, "allows"),
            (SharedNeeds::JUDGE, "judge"),
            (SharedNeeds::ROLE, "role"),
            (SharedNeeds::KEEP, "keep"),
            (SharedNeeds::DAMAGE, "damage"),
            (SharedNeeds::STAGED, "staged"),
            (SharedNeeds::START, "start"),
            (SharedNeeds::CHANGES, "changes"),
            (SharedNeeds::TREE, "tree"),
            (SharedNeeds::CHECKS, "checks"),
            (SharedNeeds::TRACKER, "tracker"),
            (SharedNeeds::CLOSED, "closed"),
            (SharedNeeds::TOKEN, "token"),
            (SharedNeeds::PEERS, "peers"),
            (SharedNeeds::UNCOMMITTED, "uncommitted"),
            (SharedNeeds::EPISODES, "episodes"),
            (SharedNeeds::ANSWERS, "answers"),
            (SharedNeeds::PROPOSED, "proposed"),
            (SharedNeeds::INTENTS, "intents"),
            (SharedNeeds::WRITTEN, "written"),
            (SharedNeeds::SEEN, "seen"),
            (SharedNeeds::CHANGED, "changed"),
            (SharedNeeds::UNTRACED, "untraced"),
        ]
        .into_iter()
        .filter(|&(need, _)| self.has(need))
        .map(|(_, name)| name)
        .collect()
    }
}

impl BitOr for SharedNeeds {
    type Output = SharedNeeds;

    fn bitor(self, other: SharedNeeds) -> SharedNeeds {
        SharedNeeds(self.0 | other.0)
    }
}

/// What the host found. `None` was not asked, or could not be found out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    /// What belongs to Sprag: its records and the user's own settings of it.
    pub ours: Vec<String>,
    /// Everything no agent may change: that, and what starts us and other guards.
    pub guarded: Vec<String>,
    /// Directories in which a client looks for agents.
    pub agents: Vec<String>,
    pub written: Vec<WrittenPath>,
    pub damage: Vec<ProtectedDamage>,
    pub head: Option<Text<64>>,
    pub conflicts: Option<Vec<ConflictMarker>>,
    pub debts: Option<Vec<OpenDebt>>,
    /// Files of open integrity debts that have markers still, whoever changed them last.
    pub unresolved: Option<Vec<Text<200>>>,
    pub rules: Option<RuleSet>,
    pub allows: Option<RuleSet>,
    pub judgement: Option<JudgeResult>,
    pub role: Option<RoleMarks>,
    pub staged: Option<Staged>,
    /// Under which name the state of the worktree was kept.
    pub start: Option<Text<256>>,
    pub changes: Option<SessionChanges>,
    pub tree: Option<Text<64>>,
    pub checks: Option<Results>,
    pub token: Option<Text<80>>,
    pub peers: Vec<Text<32>>,
    /// Of what the session changed and of the files of open commit debts, what is in no commit.
    pub uncommitted: Option<Vec<String>>,
    /// The newest stash; it is looked at together with that.
    pub stash: Option<Text<64>>,
    /// The records of the session were there, and are not any more.
    pub lost: bool,
    pub tracker: Option<DetectedTracker>,
    pub closed: Option<Vec<Closed>>,
    pub proposed: Option<CandidateFacts>,
    pub recalled: Option<Recalled>,
    pub episodes: Option<FailurePatterns>,
    pub answers: Option<Vec<Match>>,
    pub seen: Option<StaleFacts>,
    pub changed: Option<TraceFindings>,
    /// Where the repository has some.
    pub intents: Option<ScopeFacts>,
}
