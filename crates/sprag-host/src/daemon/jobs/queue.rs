//! Candidates of the queue: made, looked at as exactly what would land, and put where the user will find them.

use sprag_core::plan::record::Outcome;
use sprag_core::plan::spec::StageSpec;
use sprag_core::plan::stage::{Commit, Failure};
use sprag_core::plan::verify::{self, What};
use sprag_core::text::Text;

use super::super::look;
use super::super::protected;
use super::super::verification;
use super::{Ground, Job, Wrong, failed};
use crate::disk::Disk;
use crate::git::landing::{self, Merged, Recipe, Refused, Swapped};
use crate::git::worktrees;

impl Job {
    pub(super) fn candidate(&self, number: u64, on: &Commit, head: &Commit) -> Result<Outcome, Wrong> {
        let root = self.ground.root.as_path();
        let (on, head) = (on.0.as_str(), head.0.as_str());
        let name = self.spec.as_ref().map_or("", |spec| spec.id.as_str());
        let made = if landing::contains(root, head, on)? {
            let tree = landing::tree_of(root, on)?.unwrap_or_default();
            Merged::Clean { commit: on.to_owned(), tree }
        } else {
            let message = format!("Merge stage `{name}`");
            let at = landing::date(root, head)?;
            let recipe =
                Recipe { onto: on, head, message: &message, name: "Sprag", mail: "sprag@localhost", at };
            landing::merge(root, &recipe)?
        };
        Ok(match made {
            Merged::Clean { commit, tree } => {
                // Nobody clears away what has a name.
                let pin = format!("refs/sprag/{}/cand/{number}", self.ground.plan);
                let before = landing::resolve(root, &pin)?;
                landing::swap(root, &pin, &commit, before.as_deref())?;
                Outcome::Made { commit: Commit(Text::new(commit)), tree: Commit(Text::new(tree)) }
            }
            Merged::Conflict { paths } => {
                Outcome::Conflicted { paths: paths.into_iter().take(100).map(Text::new).collect() }
            }
        })
    }

    /// Looks at exactly the commit that would land, in a worktree of its own.
    pub(super) fn gate(
        &self,
        number: u64,
        commit: &Commit,
        tree: &Commit,
        disk: &dyn Disk,
    ) -> Result<Outcome, Wrong> {
        let Some(spec) = &self.spec else { return Ok(failed(Failure::Setup, "the plan has no such stage")) };
        let root = self.ground.root.as_path();
        if let Some(damage) = self.damage(commit, spec)? {
            return Ok(Outcome::Red { report: Text::new(damage) });
        }
        let path = self.ground.run.join("gates").join(format!("{}-{number}", self.ground.plan));
        worktrees::remove(root, &path)?;
        worktrees::add_at(root, &path, commit.0.as_str())?;
        let red = self.looking(&path, spec, tree.0.as_str(), disk, |place| {
            let mut red = verification::commands(place, What::Gate, &self.gates);
            red.extend(verification::verify(place, &spec.checks));
            red
        });
        worktrees::remove(root, &path)?;
        Ok(if red.is_empty() { Outcome::Done } else { Outcome::Red { report: verify::report(&red) } })
    }
}

impl Job {
    /// What a candidate would do to protected files, whoever let it come so far. One that brings nothing new does
    /// nothing.
    fn damage(&self, commit: &Commit, spec: &StageSpec) -> Result<Option<String>, Wrong> {
        let root = self.ground.root.as_path();
        let Some(head) = &self.head else { return Ok(None) };
        let (on, merged) = (format!("{}^1", commit.0), format!("{}^2", commit.0));
        match landing::resolve(root, &merged)?.as_deref() == Some(head.0.as_str()) {
            true => Ok(protected::damage(root, &on, head.0.as_str(), spec.kind)?),
            false => Ok(None),
        }
    }
}

/// Moves the target on to the trunk, where nobody has it checked out and nothing of it is lost by that.
pub(super) fn promote(ground: &Ground, to: &Commit) -> Result<Swapped, Refused> {
    match look::target(ground)? {
        Some(now) => landing::swap(&ground.root, &ground.target, to.0.as_str(), Some(now.0.as_str())),
        None => Ok(Swapped::Moved { now: landing::resolve(&ground.root, &ground.target)? }),
    }
}
