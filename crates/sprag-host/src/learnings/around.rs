//! Finds out what the write gate has to know of candidates: what of that which they name is there, what
//! they resemble, and what their evidence is like. Bounded by numbers of files and learnings, not by time.

use std::collections::BTreeSet;
use std::path::Path;

use sprag_core::event::{Event, Input, Report};
use sprag_core::memory::fold::Entry;
use sprag_core::memory::kinds::Rejection;
use sprag_core::memory::learning::{Candidate, Status};
use sprag_core::memory::propose::{Alike, Around, Stage, To};
use sprag_core::memory::routing::{Place, place};
use sprag_core::memory::specific;
use sprag_core::session::Session;
use sprag_core::text::Text;

use crate::disk::open_regular;
use crate::exec::read_capped;
use crate::git;
use crate::learnings::likeness::{self, Said};
use crate::learnings::{self, All, evidence};
use crate::walk::World;

/// Learnings each candidate is compared with, the most promising first.
const HITS: usize = 20;
/// Files that identifiers are looked for in, and how much of each.
const FILES: usize = 20;
const FILE_BYTES: u64 = 256 * 1024;

/// What is around the candidates of this report. `None`: it brings none that could be read.
pub fn look(world: &World<'_>, input: &Input, session: &Session) -> Option<Around> {
    let Event::Reported(Report::Reflected { submission, resolution, .. }) = &input.event else {
        return None;
    };
    let handed_in = session.gates.reflection.handed_in(submission, resolution.as_ref()).ok()?;
    let candidates = handed_in.accepted;
    let all = learnings::load(&world.places).unwrap_or_default();
    let mut around = Around { has_home: world.places.user.is_some(), ..Around::default() };
    if let Some(worktree) = &world.places.worktree {
        around.known = known(worktree, &candidates);
        around.seen = candidates
            .iter()
            .map(|(index, candidate)| (*index, evidence::see(worktree, candidate)))
            .collect();
    }
    let named = resolution.as_ref().and_then(|resolution| resolution.names());
    around.named = named.and_then(|name| all.find(name).ok()).map(|(_, entry)| entry.learning.clone());
    around.alike = alike(&all, &candidates, input);
    Some(around)
}

/// Of what the candidates name, what is there.
pub fn known(worktree: &Path, candidates: &[(usize, Candidate)]) -> BTreeSet<String> {
    let names: BTreeSet<String> =
        candidates.iter().flat_map(|(_, candidate)| specific::names(candidate)).collect();
    let mut known = BTreeSet::new();
    let mut note = |name: &str| {
        let name = name.to_lowercase();
        if names.contains(&name) {
            known.insert(name);
        }
    };
    for path in git::all_paths(worktree).unwrap_or_default() {
        note(&path);
        let mut from = 0;
        for part in path.split('/') {
            note(part);
            note(part.split('.').find(|stem| !stem.is_empty()).unwrap_or(part));
            from += part.len() + 1;
            note(&path[..from - 1]);
            note(&path[..from.min(path.len())]);
        }
    }
    for name in &names {
        let path = name.split(':').next().unwrap_or(name);
        if path.contains(['/', '.']) && evidence::inside(worktree, path.trim_end_matches('/')).is_some() {
            known.insert(name.clone());
        }
    }
    let cited = candidates.iter().flat_map(|(_, candidate)| &candidate.context_files);
    let texts: Vec<String> =
        cited.take(FILES).filter_map(|file| lower_text(worktree, file.as_str())).collect();
    let is_in_text = |name: &&String| {
        texts.iter().any(|text| memchr::memmem::find(text.as_bytes(), name.as_bytes()).is_some())
    };
    known.extend(names.iter().filter(is_in_text).cloned());
    known
}

fn lower_text(worktree: &Path, path: &str) -> Option<String> {
    let bytes = read_capped(open_regular(&evidence::inside(worktree, path)?).ok()?, FILE_BYTES).ok()?;
    Some(String::from_utf8_lossy(&bytes).to_lowercase())
}

/// What candidates resemble: kept learnings, each other, and what was not kept in other sessions.
fn alike(all: &All, candidates: &[(usize, Candidate)], input: &Input) -> Vec<Alike> {
    let said: Vec<(usize, &Candidate, Said)> = candidates
        .iter()
        .map(|(index, candidate)| (*index, candidate, Said::of(candidate.summary.as_str())))
        .collect();
    let kept: Vec<(Place, &Entry, Said)> = all
        .entries()
        .filter(|(_, entry)| entry.status() != Status::Superseded)
        .map(|(at, entry)| (at, entry, Said::of(entry.learning.candidate.summary.as_str())))
        .collect();
    let rejected = |rejections: &[(_, Rejection)]| -> Vec<(Rejection, Said)> {
        let is_counted = |rejection: &&Rejection| {
            rejection.stage.as_str() != Stage::Schema.name()
                && rejection.session.as_ref() != Some(&input.session)
        };
        let rejections = rejections.iter().map(|(_, rejection)| rejection).filter(is_counted).cloned();
        rejections.map(|rejection| (rejection.clone(), Said::of(rejection.summary.as_str()))).collect()
    };
    let project = rejected(all.project.rejections());
    let personal = rejected(all.personal.rejections());
    let mut found = Vec::new();
    for (at, (index, candidate, mine)) in said.iter().enumerate() {
        let mut add = |to: To, summary: &str, theirs: &Said| {
            if let Some((score, likeness)) = likeness::likeness(mine, theirs) {
                found.push(Alike { candidate: *index, to, summary: Text::from(summary), score, likeness });
            }
        };
        let whole = Said::of(&format!("{} {}", candidate.summary, candidate.detail));
        // A project's statement is not measured by what a user keeps for themselves.
        let is_personal = place(candidate.scope) == Place::Personal;
        let mut near: Vec<&(Place, &Entry, Said)> = kept
            .iter()
            .filter(|(at, _, theirs)| (is_personal || *at != Place::Personal) && whole.shared(theirs) > 0)
            .collect();
        near.sort_by_key(|(_, _, theirs)| std::cmp::Reverse(whole.shared(theirs)));
        for (at, entry, theirs) in near.into_iter().take(HITS) {
            let learning = &entry.learning;
            let to = To::Learning { id: learning.id.clone(), status: entry.status(), place: *at };
            add(to, learning.candidate.summary.as_str(), theirs);
        }
        for (earlier, other, theirs) in &said[..at] {
            add(To::Candidate(*earlier), other.summary.as_str(), theirs);
        }
        for (rejection, theirs) in if is_personal { &personal } else { &project } {
            add(To::Rejection { stage: rejection.stage.clone() }, rejection.summary.as_str(), theirs);
        }
    }
    found
}
