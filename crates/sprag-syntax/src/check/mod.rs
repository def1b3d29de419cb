//! The checker: replays a proof on the sources. It believes nothing that the prover says, and enforces what makes a
//! step keep behaviour: `names.rs` for renames, `inline.rs` for inlining, `moves.rs` for paths, `order.rs` and
//! `scope.rs` through the canonical form that both sides must share.

pub(crate) mod canon;
mod effects;
pub(crate) mod inline;
mod moves;
pub(crate) mod names;
mod order;
pub(crate) mod scope;

use crate::change::{Change, Level, Reason};
use crate::digest::{hex, of_source, sha256};
use crate::lang::Lang;
use crate::proof::{Proof, RULES, Side, Step};
use crate::symbol::{QuickMap, Sym, Symbols};
use crate::tree::{self, Tree};

use canon::{Canon, Region, canon};
use names::Seen;
use scope::Scopes;

/// Why a proof is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub why: String,
}

pub(crate) fn refused(why: impl Into<String>) -> Refused {
    Refused { why: why.into() }
}

/// The trees of both sides; a file that does not exist on a side has none there.
#[derive(Clone)]
pub(crate) struct Loaded {
    pub symbols: Symbols,
    pub before: Vec<Option<Tree>>,
    pub after: Vec<Option<Tree>>,
    paths: Vec<(Option<String>, Option<String>)>,
}

impl Loaded {
    pub fn read(change: &Change<'_>, nodes: usize) -> Result<Loaded, Reason> {
        let mut loaded =
            Loaded { symbols: Symbols::new(), before: Vec::new(), after: Vec::new(), paths: Vec::new() };
        let mut left = nodes;
        for file in &change.files {
            // What is the same on both sides is read once.
            let is_same = file.path_before == file.path_after && file.before == file.after;
            let before = loaded.one(file.path_before, file.before, &mut left)?;
            let after = match is_same {
                true => before.clone(),
                false => loaded.one(file.path_after, file.after, &mut left)?,
            };
            loaded.before.push(before);
            loaded.after.push(after);
            loaded.paths.push((file.path_before.map(str::to_owned), file.path_after.map(str::to_owned)));
        }
        Ok(loaded)
    }

    fn one(
        &mut self,
        path: Option<&str>,
        bytes: Option<&[u8]>,
        left: &mut usize,
    ) -> Result<Option<Tree>, Reason> {
        let Some(bytes) = bytes else { return Ok(None) };
        let lang = path.and_then(Lang::of_path).ok_or(Reason::Language)?;
        tree::read(lang, bytes, &mut self.symbols, left).map(Some)
    }

    pub fn path_before(&self, file: usize) -> Option<&str> {
        self.paths.get(file)?.0.as_deref()
    }

    pub fn path_of(&self, side: Side, file: usize) -> Option<&str> {
        let (before, after) = self.paths.get(file)?;
        match side {
            Side::Before => before.as_deref(),
            Side::After => after.as_deref(),
        }
    }

    pub fn side(&self, side: Side) -> &[Option<Tree>] {
        match side {
            Side::Before => &self.before,
            Side::After => &self.after,
        }
    }
}

/// Replays `proof` on `change`.
pub fn check(change: &Change<'_>, proof: &Proof) -> Result<(), Refused> {
    if proof.v != 1 || proof.rules != RULES {
        return Err(refused(format!("rules `{}` are not ours", proof.rules)));
    }
    if proof.files.len() != change.files.len() {
        return Err(refused("the proof is about other files"));
    }
    for (file, sources) in change.files.iter().zip(&proof.files) {
        let is_same = file.before.map(of_source) == sources.before
            && file.after.map(of_source) == sources.after
            && file.path_before == sources.path_before.as_deref()
            && file.path_after == sources.path_after.as_deref();
        if !is_same {
            return Err(refused("the proof is about other sources"));
        }
    }
    let loaded = Loaded::read(change, usize::MAX).map_err(|reason| refused(reason.name()))?;
    let level = match proof.level.as_str() {
        "L1" => Level::L1,
        "L2" => Level::L2,
        "L3" => Level::L3,
        other => return Err(refused(format!("level `{other}` is unknown"))),
    };
    let (before, after) = replay(&loaded, level, &proof.steps)?;
    match before == proof.before_root && after == proof.after_root {
        true => Ok(()),
        false => Err(refused("the roots are others")),
    }
}

/// Does the steps and gives the roots of both sides, which are equal.
pub(crate) fn replay(loaded: &Loaded, level: Level, steps: &[Step]) -> Result<(String, String), Refused> {
    for file in 0..loaded.paths.len() {
        moves::check_paths(loaded, file)?;
    }
    let allowed = |step: &Step| match step {
        Step::Move { .. } => true,
        Step::Rename { .. } => level >= Level::L2,
        Step::Inline { .. } => level >= Level::L3,
    };
    if !steps.iter().all(allowed) {
        return Err(refused("a step beyond the proof's level"));
    }
    if level == Level::L1 {
        let plain =
            |trees: &[Option<Tree>]| root(trees.iter().map(|tree| tree.as_ref().map(|tree| tree.plain)));
        return equal(plain(&loaded.before), plain(&loaded.after));
    }
    let inlined;
    let loaded = match steps.iter().any(|step| matches!(step, Step::Inline { .. })) {
        false => loaded,
        true => {
            let mut copy = loaded.clone();
            for step in steps {
                if let Step::Inline { side, file, at, name } = step {
                    inline::apply(&mut copy, *side, *file, *at, name)?;
                }
            }
            inlined = copy;
            &inlined
        }
    };
    let scopes = |trees: &[Option<Tree>]| -> Vec<Option<Scopes>> {
        trees.iter().map(|tree| tree.as_ref().map(|tree| Scopes::of(tree, &loaded.symbols))).collect()
    };
    let (before_scopes, after_scopes) = (scopes(&loaded.before), scopes(&loaded.after));
    let renames = check_renames(loaded, &before_scopes, steps)?;
    let before = forms(loaded, &loaded.before, &before_scopes, &renames);
    let after = forms(loaded, &loaded.after, &after_scopes, &QuickMap::default());
    let roots =
        |forms: &[Option<Canon>]| root(forms.iter().map(|form| form.as_ref().map(|form| form.digest)));
    let found = equal(roots(&before), roots(&after))?;
    check_locals(&before, &after)?;
    Ok(found)
}

fn check_renames(
    loaded: &Loaded,
    scopes: &[Option<Scopes>],
    steps: &[Step],
) -> Result<QuickMap<Sym, Sym>, Refused> {
    let mut renames = QuickMap::default();
    if !steps.iter().any(|step| matches!(step, Step::Rename { .. })) {
        return Ok(renames);
    }
    let seen: Vec<Option<Seen<'_>>> = loaded
        .before
        .iter()
        .zip(scopes)
        .enumerate()
        .map(|(file, (tree, scopes))| {
            Some(Seen::of(tree.as_ref()?, &loaded.symbols, scopes.as_ref()?, loaded.path_before(file)?))
        })
        .collect();
    for step in steps {
        if let Step::Rename { from, to } = step {
            names::check_rename(loaded, &seen, from, to)?;
            let (from, to) = (loaded.symbols.find(from), loaded.symbols.find(to));
            let (from, to) = from.zip(to).ok_or_else(|| refused("a name that does not occur"))?;
            if renames.insert(from, to).is_some()
                || renames.values().filter(|known| **known == to).count() > 1
            {
                return Err(refused("two renames of one name"));
            }
        }
    }
    Ok(renames)
}

pub(crate) fn forms(
    loaded: &Loaded,
    trees: &[Option<Tree>],
    scopes: &[Option<Scopes>],
    renames: &QuickMap<Sym, Sym>,
) -> Vec<Option<Canon>> {
    trees
        .iter()
        .zip(scopes)
        .map(|(tree, scopes)| Some(canon(tree.as_ref()?, &loaded.symbols, scopes.as_ref()?, renames)))
        .collect()
}

/// A renamed local must not meet a free name like its own: if scopes were read wrongly somewhere, it shows here.
fn check_locals(before: &[Option<Canon>], after: &[Option<Canon>]) -> Result<(), Refused> {
    let mut left: QuickMap<[u8; 32], Vec<&Region>> = QuickMap::default();
    for region in before.iter().flatten().flat_map(|form| &form.regions) {
        left.entry(region.digest).or_default().push(region);
    }
    for region in after.iter().flatten().flat_map(|form| &form.regions) {
        let Some(twin) = left.get_mut(&region.digest).and_then(Vec::pop) else {
            return Err(refused("a function without its like"));
        };
        for (old, new) in twin.names.iter().zip(&region.names).filter(|(old, new)| old != new) {
            let meets = twin.free.contains(new)
                || twin.free.contains(old)
                || region.free.contains(old)
                || region.free.contains(new);
            if meets {
                return Err(refused("a renamed local meets a name from outside"));
            }
        }
    }
    Ok(())
}

fn root(digests: impl Iterator<Item = Option<[u8; 32]>>) -> String {
    let mut bytes = Vec::new();
    for digest in digests {
        match digest {
            Some(digest) => bytes.extend_from_slice(&digest),
            None => bytes.push(0),
        }
    }
    hex(&sha256(&bytes))
}

fn equal(before: String, after: String) -> Result<(String, String), Refused> {
    match before == after {
        true => Ok((before, after)),
        false => Err(refused("the roots differ")),
    }
}
