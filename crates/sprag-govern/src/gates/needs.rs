//! The facts that gates ask the host for, and those that it found.

use std::ops::BitOr;

use sprag_base::text::Text;
use sprag_check::Results;
use sprag_intent::set::Intents;
use sprag_memory::answers::Match;
use sprag_memory::episode::Patterns;
use sprag_memory::recall::Recalled;
use sprag_memory::write_gate::Around;
use sprag_policy::rule_set::RuleSet;
use sprag_trace::finding::Changed;

use crate::facts::{Changes, Closed, Conflict, Damage, Found, RoleMarks, Staged, Written};
use crate::gates::stale::facts::Seen;
use crate::judge::Judgement;
use crate::obligation::OpenDebt;

/// A set of questions to the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs(u32);

impl Needs {
    pub const NONE: Needs = Needs(0);
    /// Conflict markers in files changed since the session started and in those of open debts.
    pub const CONFLICTS: Needs = Needs(1);
    /// Open debts of this clone.
    pub const DEBTS: Needs = Needs(1 << 1);
    /// Every spelling of the places that no agent may change, and what a call would write.
    pub const OURS: Needs = Needs(1 << 2);
    /// The commit that is checked out.
    pub const HEAD: Needs = Needs(1 << 3);
    /// The rules that restrict.
    pub const RULES: Needs = Needs(1 << 4);
    /// The rules that allow.
    pub const ALLOWS: Needs = Needs(1 << 5);
    /// The judge's opinion, where the rules have none.
    pub const JUDGE: Needs = Needs(1 << 6);
    /// What the surroundings say of the agent's role.
    pub const ROLE: Needs = Needs(1 << 7);
    /// Nothing to be told: guarded files are kept as they are before a call.
    pub const KEEP: Needs = Needs(1 << 8);
    /// What a call has done to them, which is undone.
    pub const DAMAGE: Needs = Needs(1 << 9);
    /// What the lines have in them that a commit would add.
    pub const STAGED: Needs = Needs(1 << 10);
    /// Nothing to be told: what the worktree is like is kept before the first change.
    pub const START: Needs = Needs(1 << 11);
    /// What has changed since then.
    pub const CHANGES: Needs = Needs(1 << 12);
    /// The hash of the working tree.
    pub const TREE: Needs = Needs(1 << 13);
    /// What the configured checks say of it.
    pub const CHECKS: Needs = Needs(1 << 14);
    /// Which tracker is used here.
    pub const TRACKER: Needs = Needs(1 << 15);
    /// What became of tickets whose closing nobody confirmed.
    pub const CLOSED: Needs = Needs(1 << 19);
    /// A secret nobody has seen yet.
    pub const TOKEN: Needs = Needs(1 << 16);
    /// Other agents that could be asked for an opinion.
    pub const PEERS: Needs = Needs(1 << 17);
    /// What differs from the last commit.
    pub const UNCOMMITTED: Needs = Needs(1 << 18);
    /// What the memory has to say.
    pub const RECALL: Needs = Needs(1 << 20);
    /// What helped when commands failed before.
    pub const EPISODES: Needs = Needs(1 << 24);
    /// What the user answered to questions like these.
    pub const ANSWERS: Needs = Needs(1 << 25);

    /// The intents of the repository, and what became of them.
    pub const INTENTS: Needs = Needs(1 << 26);
    /// What a call would write, or has written, with links followed.
    pub const WRITTEN: Needs = Needs(1 << 27);
    /// What the files of a call are like now, and who else is at work on them.
    pub const SEEN: Needs = Needs(1 << 28);
    /// What a call has changed.
    pub const CHANGED: Needs = Needs(1 << 29);
    /// What else has changed that no record tells of, and what commits have of all of it.
    pub const UNTRACED: Needs = Needs(1 << 30);

    /// What is known of the candidates that are handed in.
    pub const PROPOSED: Needs = Needs(1 << 21);

    /// Whether finding out may take long.
    pub fn is_slow(self) -> bool {
        const SLOW: Needs = Needs::of(&[
            Needs::CONFLICTS,
            Needs::JUDGE,
            Needs::STAGED,
            Needs::START,
            Needs::CHANGES,
            Needs::TREE,
            Needs::CHECKS,
            Needs::CLOSED,
            Needs::UNCOMMITTED,
            Needs::PROPOSED,
            Needs::UNTRACED,
        ]);
        !self.only(SLOW).is_none()
    }

    pub fn has(self, other: Needs) -> bool {
        self.0 & other.0 == other.0
    }

    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    pub const fn of(needs: &[Needs]) -> Needs {
        let (mut all, mut at) = (0, 0);
        while at < needs.len() {
            all |= needs[at].0;
            at += 1;
        }
        Needs(all)
    }

    pub fn only(self, other: Needs) -> Needs {
        Needs(self.0 & other.0)
    }

    pub fn without(self, other: Needs) -> Needs {
        Needs(self.0 & !other.0)
    }

    /// The names of what is asked, for the documents.
    pub fn names(self) -> Vec<&'static str> {
        [
            (Needs::CONFLICTS, "conflicts"),
            (Needs::DEBTS, "debts"),
            (Needs::OURS, "ours"),
            (Needs::HEAD, "head"),
            (Needs::RULES, "rules"),
            (Needs::ALLOWS, "allows"),
            (Needs::JUDGE, "judge"),
            (Needs::ROLE, "role"),
            (Needs::KEEP, "keep"),
            (Needs::DAMAGE, "damage"),
            (Needs::STAGED, "staged"),
            (Needs::START, "start"),
            (Needs::CHANGES, "changes"),
            (Needs::TREE, "tree"),
            (Needs::CHECKS, "checks"),
            (Needs::TRACKER, "tracker"),
            (Needs::CLOSED, "closed"),
            (Needs::TOKEN, "token"),
            (Needs::PEERS, "peers"),
            (Needs::UNCOMMITTED, "uncommitted"),
            (Needs::EPISODES, "episodes"),
            (Needs::ANSWERS, "answers"),
            (Needs::PROPOSED, "proposed"),
            (Needs::INTENTS, "intents"),
            (Needs::WRITTEN, "written"),
            (Needs::SEEN, "seen"),
            (Needs::CHANGED, "changed"),
            (Needs::UNTRACED, "untraced"),
        ]
        .into_iter()
        .filter(|&(need, _)| self.has(need))
        .map(|(_, name)| name)
        .collect()
    }
}

impl BitOr for Needs {
    type Output = Needs;

    fn bitor(self, other: Needs) -> Needs {
        Needs(self.0 | other.0)
    }
}

/// What the host found. `None` was not asked, or could not be found out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// What belongs to Sprag: its records and the user's own settings of it.
    pub ours: Vec<String>,
    /// Everything no agent may change: that, and what starts us and other guards.
    pub guarded: Vec<String>,
    /// Directories in which a client looks for agents.
    pub agents: Vec<String>,
    pub written: Vec<Written>,
    pub damage: Vec<Damage>,
    pub head: Option<Text<64>>,
    pub conflicts: Option<Vec<Conflict>>,
    pub debts: Option<Vec<OpenDebt>>,
    /// Files of open integrity debts that have markers still, whoever changed them last.
    pub unresolved: Option<Vec<Text<200>>>,
    pub rules: Option<RuleSet>,
    pub allows: Option<RuleSet>,
    pub judgement: Option<Judgement>,
    pub role: Option<RoleMarks>,
    pub staged: Option<Staged>,
    /// Under which name the state of the worktree was kept.
    pub start: Option<Text<256>>,
    pub changes: Option<Changes>,
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
    pub tracker: Option<Found>,
    pub closed: Option<Vec<Closed>>,
    pub proposed: Option<Around>,
    pub recalled: Option<Recalled>,
    pub episodes: Option<Patterns>,
    pub answers: Option<Vec<Match>>,
    pub seen: Option<Seen>,
    pub changed: Option<Changed>,
    /// Where the repository has some.
    pub intents: Option<Intents>,
}
