//! Where trunk and target are, at every look of the loop. References are read as files, and git is asked only about what
//! was not there at the last look: how two commits stand to each other never changes.

use std::fs;
use std::path::PathBuf;

use sprag_core::plan::run::Run;
use sprag_core::plan::stage::Commit;
use sprag_core::plan::world::Target;
use sprag_core::text::Text;

use super::jobs::Ground;
use super::look;
use crate::disk::read_small;
use crate::env::Env;
use crate::git::{is_object_name, landing};
use crate::places::Places;

/// A `HEAD` is a line.
const SMALL: u64 = 4096;

pub struct Glance {
    /// `None`: git is asked every time.
    places: Option<Places>,
    last: Option<(Asked, Target)>,
}

/// All that an answer about the target rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Asked {
    known: Commit,
    trunk: Commit,
    now: String,
    /// Whose `HEAD` says that it is at the target, or says it in a way that only git knows.
    at_it: Vec<PathBuf>,
}

impl Glance {
    pub fn new(ground: &Ground) -> Glance {
        Glance { places: Places::find(&ground.root, &Env::Real).ok(), last: None }
    }

    /// Where the trunk is. `None`: git cannot say it now, and is asked again at the next look.
    pub fn trunk(&self, ground: &Ground) -> Option<Commit> {
        let trunk = match self.read(&ground.trunk()) {
            Some(trunk) => Some(trunk),
            None => landing::resolve(&ground.root, &ground.trunk()).ok()?,
        };
        Some(Commit(Text::new(trunk.unwrap_or_default())))
    }

    /// How the target stands to the trunk, as far as it can be said now.
    pub fn target(&mut self, ground: &Ground, run: &Run) -> Option<Target> {
        let (known, trunk) = (run.target().clone(), run.queue().trunk().clone());
        let asked = self.read(&ground.target).zip(self.at_it(&ground.target));
        let asked = asked.map(|(now, at_it)| Asked { known, trunk, now, at_it });
        if let (Some(asked), Some((last, target))) = (&asked, &self.last)
            && asked == last
        {
            return Some(target.clone());
        }
        let target = look::target(ground, run.target(), run.queue().trunk()).ok()?;
        // What has moved between the two looks is asked for again.
        self.last = asked.filter(|asked| is_at(&target, &asked.now)).map(|asked| (asked, target.clone()));
        Some(target)
    }

    fn read(&self, name: &str) -> Option<String> {
        self.places.as_ref()?.reference(name).filter(|found| is_object_name(found))
    }

    fn at_it(&self, target: &str) -> Option<Vec<PathBuf>> {
        let common = self.places.as_ref()?.common.as_ref()?;
        let linked = fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten();
        let heads = linked.map(|entry| entry.path().join("HEAD")).chain([common.join("HEAD")]);
        let is_at_it = |path: &PathBuf| {
            let head = read_small(path, SMALL).unwrap_or_default();
            head.trim_end().strip_prefix("ref: ").is_some_and(|name| name == target || name.ends_with("/.invalid"))
        };
        let mut at_it: Vec<PathBuf> = heads.filter(is_at_it).collect();
        at_it.sort();
        Some(at_it)
    }
}

fn is_at(target: &Target, commit: &str) -> bool {
    match target {
        Target::Behind(now) | Target::CheckedOut(now) | Target::Ahead(now) | Target::Rewritten(now) => {
            now.0.as_str() == commit
        }
        Target::Gone => false,
    }
}
