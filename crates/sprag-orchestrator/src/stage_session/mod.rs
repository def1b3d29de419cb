//! Restores the context of a stage's session. Before compaction Sprag writes a handoff; after compaction or a
//! resume it names the brief and the open items. Other sessions are not affected.

pub mod distill;
pub mod handoffs;
pub(crate) mod knowledge;
pub mod notes;
pub(crate) mod nudges;

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use sprag_base::result::Discard as _;
use sprag_base::sha256::Sha256Sum;
use sprag_base::text::{ContextNote, Text, quoted};
use sprag_govern::event::{Event, StartSource};
use sprag_host::sys::disk::{self, Disk};
use sprag_host::sys::locations::worktree_of;
use sprag_host::world::World;
use sprag_plan::brief::{self, BriefInput, WrittenBrief};
use sprag_plan::ids::StageId;
use sprag_plan::run::effect::BriefKind;

use super::run_log::active;
use crate::layout::brief_path;
use crate::session_dir::SessionDir;

/// The digests of a brief.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BriefInfo {
    pub v: u32,
    pub kind: BriefKind,
    /// The digests of the section that all stages of a kind share, and of the whole text.
    pub stable: Sha256Sum,
    pub whole: Sha256Sum,
}

/// Writes a brief, and its digests beside it.
pub fn keep(path: &Path, disk: &dyn Disk, kind: BriefKind, written: &WrittenBrief) -> io::Result<()> {
    disk::make_parent(disk, path)?;
    disk::replace(disk, path, written.text.as_bytes())?;
    let about = BriefInfo { v: 1, kind, stable: written.stable, whole: written.whole };
    let bytes = serde_json::to_vec(&about).map_err(io::Error::other)?;
    disk::replace(disk, &path.with_extension("json"), &bytes)
}

/// Returns the note for a stage's session on an event, if any.
pub fn at(world: &World<'_>, stage: &str, event: &Event) -> Option<ContextNote> {
    match event {
        Event::Compacting => {
            write_handoff(world, &StageId::new(stage)).discard("a missing handoff never blocks an agent");
            None
        }
        Event::SessionStarted { source: StartSource::Compact | StartSource::Resume } => {
            context_note(world, &StageId::new(stage)).ok().flatten()
        }
        // All clients with hooks accept a note on these events.
        Event::ToolFinished { .. } | Event::Prompted { .. } => {
            let session = world.env.text(crate::layout::SESSION_VARIABLE)?;
            nudges::take_pending(&world.places.store, world.disk, stage, &session)
        }
        _ => None,
    }
}

fn context_note(world: &World<'_>, stage: &StageId) -> io::Result<Option<ContextNote>> {
    let run = world.places.store.join("run");
    let Some((plan, told)) = stage_now(&run, stage)? else { return Ok(None) };
    let path = brief_path(&run, &plan, stage);
    let about = disk::read_regular(&path.with_extension("json"), 4096).ok();
    let about: Option<BriefInfo> = about.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let sum = about.map(|about| format!(" ({})", about.whole)).unwrap_or_default();
    let head = format!(
        "this session works on stage `{}` of plan `{plan}`. Its brief `{}`{sum} still applies: read it again before \
         you continue. Open items:",
        stage.as_str(),
        quoted(&path.display().to_string()),
    );
    Ok(Some(Text::new(format!("{head}\n\n{}", brief::recitation(&told)))))
}

/// Returns the plan's name and the present brief input of a stage, with its notes.
pub fn stage_now(run: &Path, stage: &StageId) -> io::Result<Option<(String, BriefInput)>> {
    let Some(active) = active::of_stage(run, stage)? else { return Ok(None) };
    let plan = active.plan().head.name.to_string();
    let Some(mut told) = BriefInput::from_run(&active, stage) else { return Ok(None) };
    told.notes = notes::of_stage(run, &plan, stage)?;
    Ok(Some((plan, told)))
}

/// Writes a handoff for the stage in the name of its session; returns `None` if no run has the stage.
pub fn write_handoff(world: &World<'_>, stage: &StageId) -> io::Result<Option<u32>> {
    let run = world.places.store.join("run");
    let Some((plan, told)) = stage_now(&run, stage)? else { return Ok(None) };
    let Some(worktree) = world.places.worktree.as_deref().and_then(worktree_of) else { return Ok(None) };
    let session = world.env.text(crate::layout::SESSION_VARIABLE).unwrap_or_default();
    let site = SessionDir::at(&run.join("s").join(file_name(&session)));
    let notes = told.notes.clone();
    let of = handoffs::HandoffSubject {
        told: &told,
        notes: &notes,
        worktree: &worktree.0,
        session: &session,
        site: &site,
        store: &world.store(),
    };
    let sketch = handoffs::sketch(&of);
    handoffs::write(&run, &plan, stage, world.disk, &sketch).map(Some)
}

/// Turns the value of the variable into a file name, because it must not act as a path.
fn file_name(session: &str) -> String {
    session.replace('/', ".").trim_start_matches('.').to_owned()
}
