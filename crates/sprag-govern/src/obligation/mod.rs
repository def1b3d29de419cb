//! Obligations, which a session must meet before a turn may end, and debts, which remain if it ended anyway.

pub mod records;

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::ids::SessionId;
use sprag_base::record::{Projection, Record};
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;

use crate::obligation::records::{ClearedDebts, DebtIds, DebtRecord};
use crate::reason::Reason;

/// Something that a session must do before it stops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Obligation {
    pub duty: Duty,
    /// Digest of the unmet items and the evidence so far. While it stays equal, the state has not changed.
    pub digest: Digest,
    pub reason: Reason,
    pub items: Vec<Text<200>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Duty {
    Verify,
    Review,
    Reflect,
    Commit,
    Handoff,
    Integrity,
    /// Changes must match the class that the agent declared.
    Trace,
    Scope,
}

sprag_base::names! {
    pub fn name(Duty):
    Verify = "verify", Review = "review", Reflect = "reflect", Commit = "commit", Handoff = "handoff",
    Integrity = "integrity", Trace = "trace", Scope = "scope"
}

/// An obligation that Sprag released unmet. It stays visible until it is met or cleared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Debt {
    pub id: Text<32>,
    pub gate: Text<32>,
    pub duty: Duty,
    pub why: Text<1000>,
    pub items: Vec<Text<200>>,
    /// The worktree of the obligation.
    #[serde(default)]
    pub root: Text<1000>,
    pub session: SessionId,
    pub since: Timestamp,
    pub cause: DebtCause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DebtCause {
    /// The breaker released it.
    Released,
    /// The session ended before it was met.
    Ended,
    /// Two reviewers disagree about the same work. Older versions ignore a debt with this cause.
    Disputed,
    /// A call ran although no hook judged it. Older versions ignore a debt with this cause.
    Unjudged,
}

impl Debt {
    /// Builds a debt. Its id follows from session, gate and unmet items. Writing the same debt twice leaves
    /// one, also in another state of the work.
    pub fn new(
        gate: &str,
        owed: &Obligation,
        session: &SessionId,
        root: &str,
        cause: DebtCause,
        now: Timestamp,
    ) -> Debt {
        let digest = if owed.items.is_empty() {
            Digest::hash_parts([session.as_str(), &owed.digest.to_string()])
        } else {
            let items = owed.items.iter().map(Text::as_str);
            Digest::hash_parts([session.as_str(), gate].into_iter().chain(items))
        };
        Debt {
            id: Text::new(format!("d-{}", digest.short())),
            gate: Text::from(gate),
            duty: owed.duty,
            // The other lines tell the held agent what to do.
            why: Text::from(owed.reason.why.as_str().lines().next().unwrap_or_default()),
            items: owed.items.clone(),
            root: Text::from(root),
            session: session.clone(),
            since: now,
            cause,
        }
    }
}

/// The open debts of a clone, folded from its log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Debts {
    open: Vec<OpenDebt>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenDebt {
    pub debt: Debt,
    /// Whether Sprag showed it to a session.
    pub shown: bool,
}

impl Debts {
    pub fn open(&self) -> &[OpenDebt] {
        &self.open
    }

    pub fn unshown(&self) -> impl Iterator<Item = &Debt> {
        self.open.iter().filter(|open| !open.shown).map(|open| &open.debt)
    }
}

impl Projection for Debts {
    const NAME: &'static str = "debts";
    const VERSION: u32 = 1;
    const KINDS: &'static [&'static str] = &["debt."];

    fn apply(&mut self, record: &Record) {
        match DebtRecord::read(record) {
            Some(DebtRecord::Opened(debt)) if !self.open.iter().any(|open| open.debt.id == debt.id) => {
                self.open.push(OpenDebt { debt, shown: false });
            }
            Some(DebtRecord::Shown(DebtIds { ids })) => {
                let shown = self.open.iter_mut().filter(|open| names(&ids, open));
                shown.for_each(|open| open.shown = true);
            }
            Some(DebtRecord::Met(DebtIds { ids }) | DebtRecord::Cleared(ClearedDebts { ids, .. })) => {
                self.open.retain(|open| !names(&ids, open));
            }
            Some(DebtRecord::Opened(_)) | None => {}
        }
    }
}

fn names(ids: &[String], open: &OpenDebt) -> bool {
    ids.iter().any(|id| id == open.debt.id.as_str())
}
