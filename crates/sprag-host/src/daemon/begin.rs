//! Beginning a run, or going on with one: who may, where the trunk starts, and which plan counts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sprag_core::plan::record::Recorded;
use sprag_core::plan::spec::Plan;
use sprag_core::plan::stage::{Commit, StageId};
use sprag_core::plan::values::Branch;
use sprag_core::text::Text;

use super::confine;
use super::jobs::Ground;
use super::log::{self, Log};
use super::reign::{self, Reign};
use crate::disk::Disk;
use crate::env;
use crate::git::landing::{self, Refused, Swapped};
use crate::places::Places;
use crate::records;

/// A run that may go on.
pub struct Begun<'d> {
    pub log: Log<'d>,
    pub ground: Ground,
    pub reign: Reign,
    pub was: Was,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Was {
    New,
    /// Begun earlier. Its plan counts as it was then.
    UnderWay,
}

#[derive(Debug)]
pub enum Cannot {
    NoRepository,
    NoBranch,
    NoTarget {
        name: String,
    },
    AtWork,
    /// A stage insists on a sandbox, and there is none.
    NoSandbox {
        stage: StageId,
        why: String,
    },
    Git(String),
    Io(io::Error),
}

impl From<Refused> for Cannot {
    fn from(Refused(why): Refused) -> Cannot {
        Cannot::Git(why)
    }
}

impl From<io::Error> for Cannot {
    fn from(error: io::Error) -> Cannot {
        Cannot::Io(error)
    }
}

/// Where a plan's records are.
pub fn path(run: &Path, plan: &str) -> PathBuf {
    run.join("plans").join(format!("{plan}.jsonl"))
}

pub fn begin<'d>(places: &Places, plan: Plan, disk: &'d dyn Disk) -> Result<Begun<'d>, Cannot> {
    let (Some(root), Some(_)) = (places.worktree.clone(), &places.common) else {
        return Err(Cannot::NoRepository);
    };
    // Told before anything is begun: a stage that cannot start would block all that builds on it.
    if let Some((stage, why)) = confine::refused(&plan, &root) {
        return Err(Cannot::NoSandbox { stage, why });
    }
    let run = places.store.join("run");
    let reign = reign::begin(&run, disk)?.ok_or(Cannot::AtWork)?;
    let name = plan.head.name.to_string();
    let path = path(&run, &name);
    let ground = |target: &str| Ground {
        root: root.clone(),
        run: run.clone(),
        plan: name.clone(),
        target: format!("refs/heads/{target}"),
        epoch: reign.epoch,
    };
    if let Some(log) = Log::resume(&path, disk)? {
        let target = log.run().plan().head.target.as_ref().map(Branch::as_str).unwrap_or_default();
        let ground = ground(target);
        if !log.run().is_settled() || !is_landed(&ground)? {
            return Ok(Begun { log, ground, reign, was: Was::UnderWay });
        }
        put_away(&path)?;
    }
    let target = match &plan.head.target {
        Some(branch) => branch.to_string(),
        None => places.branch().ok_or(Cannot::NoBranch)?,
    };
    let ground = ground(&target);
    let plan = plan.with_target(&target).ok_or(Cannot::NoBranch)?;
    let at = landing::resolve(&root, &ground.target)?.ok_or(Cannot::NoTarget { name: target })?;
    let before = landing::resolve(&root, &ground.trunk())?;
    if let Swapped::Moved { .. } = landing::swap(&root, &ground.trunk(), &at, before.as_deref())? {
        return Err(Cannot::AtWork);
    }
    let started = Recorded::Started {
        run: Text::new(records::new_id(env::now())),
        digest: plan.digest(),
        plan: Box::new(plan),
        trunk: Commit(Text::new(at)),
    };
    let log = Log::begin(&path, disk, &started)?;
    Ok(Begun { log, ground, reign, was: Was::New })
}

/// Whether all that was merged is on the target. If not, the next run would start without it, and forget it.
fn is_landed(ground: &Ground) -> Result<bool, Refused> {
    let Some(trunk) = landing::resolve(&ground.root, &ground.trunk())? else { return Ok(true) };
    match landing::resolve(&ground.root, &ground.target)? {
        Some(target) => landing::contains(&ground.root, &trunk, &target),
        None => Ok(false),
    }
}

/// A run that is over keeps its records under another name.
fn put_away(path: &Path) -> io::Result<()> {
    let run = log::read(path)?.map_or_else(|| "unreadable".to_owned(), |run| run.id.to_string());
    fs::rename(path, path.with_extension(format!("{run}.jsonl")))
}
