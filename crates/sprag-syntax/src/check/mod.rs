//! The checker: replays a proof on the sources. It trusts nothing that the prover says. `names/` checks
//! renames, `inline/` checks inlining, `moves/` checks paths. `order/` and `scope/` build the canonical form,
//! which must be equal on both sides.

pub(crate) mod canon;
mod effects;
pub(crate) mod inline;
mod moves;
pub(crate) mod names;
mod order;
pub(crate) mod scope;

use std::cell::OnceCell;
use std::rc::Rc;

use crate::change::{ChangeSet, Claims, ProofLevel};
use crate::digest::{hex, of_source, sha256};
use crate::lang::Lang;
use crate::proof::{Proof, ProofSide, ProofStep, RULES};
use crate::reason::UnprovenReason;
use crate::symbol::{QuickMap, Sym, Symbols};
use crate::tree::{self, SyntaxTree};
use canon::{Canon, Region, canon};
use names::{NameVisibility, NamedFile};
use scope::Scopes;

/// The reason why a proof is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProofError {
    pub why: String,
}

pub(crate) fn refused(why: impl Into<String>) -> ProofError {
    ProofError { why: why.into() }
}

/// The trees of both sides; `None` if a file does not exist on a side.
#[derive(Clone)]
pub(crate) struct LoadedTrees {
    pub symbols: Rc<Symbols>,
    pub before: Vec<Option<Rc<SyntaxTree>>>,
    pub after: Vec<Option<Rc<SyntaxTree>>>,
    paths: Rc<Vec<(Option<String>, Option<String>)>>,
    /// Cached names and forms of the current trees of each side.
    known: [Rc<OnceCell<SideNames>>; 2],
}

/// The way of parsing the right side.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parsing {
    /// Reuses the left side; for a quick look.
    Quick,
    /// Parses from scratch; for proofs.
    Anew,
}

/// Names and canonical forms of a side, without renames.
pub(crate) struct SideNames {
    pub scopes: Vec<Option<Scopes>>,
    forms: Vec<Option<Canon>>,
}

impl LoadedTrees {
    pub(crate) fn read(
        change: &ChangeSet<'_>,
        nodes: usize,
        parsing: Parsing,
    ) -> Result<LoadedTrees, UnprovenReason> {
        let mut symbols = Symbols::new();
        let mut left = nodes;
        let (mut before, mut after, mut paths) = (Vec::new(), Vec::new(), Vec::new());
        for file in &change.files {
            let lang = |path: Option<&str>| path.and_then(Lang::of_path).ok_or(UnprovenReason::Language);
            let mut parsed = None;
            let mut left_tree = None;
            if let Some(bytes) = file.before {
                let lang = lang(file.path_before)?;
                let old = tree::parse(lang, bytes, None, left)?;
                left_tree = Some(Rc::new(tree::build(lang, &old, &mut symbols, &mut left)?));
                parsed = Some((lang, old));
            }
            // Parse a file that is equal on both sides only once.
            let is_same = file.path_before == file.path_after && file.before == file.after;
            let right_tree = match file.after {
                _ if is_same => left_tree.clone(),
                None => None,
                Some(bytes) => {
                    let lang = lang(file.path_after)?;
                    let like = parsed.as_ref().filter(|(old, _)| *old == lang && parsing == Parsing::Quick);
                    let new = tree::parse(lang, bytes, like.map(|(_, old)| old), left)?;
                    Some(Rc::new(tree::build(lang, &new, &mut symbols, &mut left)?))
                }
            };
            before.push(left_tree);
            after.push(right_tree);
            paths.push((file.path_before.map(str::to_owned), file.path_after.map(str::to_owned)));
        }
        Ok(LoadedTrees {
            symbols: Rc::new(symbols),
            before,
            after,
            paths: Rc::new(paths),
            known: Default::default(),
        })
    }

    pub(crate) fn path_before(&self, file: usize) -> Option<&str> {
        self.path_of(ProofSide::Before, file)
    }

    pub(crate) fn path_of(&self, side: ProofSide, file: usize) -> Option<&str> {
        let (before, after) = self.paths.get(file)?;
        match side {
            ProofSide::Before => before.as_deref(),
            ProofSide::After => after.as_deref(),
        }
    }

    pub(crate) fn side(&self, side: ProofSide) -> &[Option<Rc<SyntaxTree>>] {
        match side {
            ProofSide::Before => &self.before,
            ProofSide::After => &self.after,
        }
    }

    /// Replaces one tree of a side.
    pub(crate) fn replace(&mut self, side: ProofSide, file: usize, tree: SyntaxTree) {
        let trees = match side {
            ProofSide::Before => &mut self.before,
            ProofSide::After => &mut self.after,
        };
        trees[file] = Some(Rc::new(tree));
        self.known[side as usize] = Rc::default();
    }

    pub(crate) fn known(&self, side: ProofSide) -> &SideNames {
        self.known[side as usize].get_or_init(|| {
            let trees = self.side(side);
            let scopes = trees
                .iter()
                .map(|tree| Some(Scopes::build(tree.as_ref()?, &self.symbols)))
                .collect::<Vec<_>>();
            let forms = self.forms(side, &scopes, &QuickMap::default());
            SideNames { scopes, forms }
        })
    }

    fn forms(
        &self,
        side: ProofSide,
        scopes: &[Option<Scopes>],
        renames: &QuickMap<Sym, Sym>,
    ) -> Vec<Option<Canon>> {
        let trees = self.side(side).iter().zip(scopes).enumerate();
        trees
            .map(|(file, (tree, scopes))| {
                let place = moves::place(self, file);
                Some(canon(tree.as_ref()?, &self.symbols, scopes.as_ref()?, renames, place))
            })
            .collect()
    }
}

/// The result of replaying steps.
pub(crate) struct ReplayResult {
    /// The root hash of both sides, which are equal.
    pub root: String,
    pub claims: Claims,
}

/// Replays `proof` on `change` and returns its assumptions about other files.
pub fn check(change: &ChangeSet<'_>, proof: &Proof) -> Result<Claims, ProofError> {
    if proof.v != 1 || proof.rules != RULES {
        return Err(refused(format!("rules `{}` are not supported", proof.rules)));
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
    let loaded =
        LoadedTrees::read(change, usize::MAX, Parsing::Anew).map_err(|reason| refused(reason.name()))?;
    let level = match proof.level.as_str() {
        "L1" => ProofLevel::L1,
        "L2" => ProofLevel::L2,
        "L3" => ProofLevel::L3,
        other => return Err(refused(format!("level `{other}` is unknown"))),
    };
    let ReplayResult { root, claims } = replay(&loaded, level, &proof.steps)?;
    if root == proof.before_root && root == proof.after_root {
        Ok(claims)
    } else {
        Err(refused("the roots do not match"))
    }
}

/// Applies the steps and returns the common result of both sides.
pub(crate) fn replay(
    loaded: &LoadedTrees,
    level: ProofLevel,
    steps: &[ProofStep],
) -> Result<ReplayResult, ProofError> {
    let mut claims = Claims::new();
    for file in 0..loaded.paths.len() {
        moves::check_paths(loaded, file)?;
        claims.extend(moves::claim(loaded, file));
    }
    let allowed = |step: &ProofStep| match step {
        ProofStep::Move { .. } => true,
        ProofStep::Rename { .. } => level >= ProofLevel::L2,
        ProofStep::Inline { .. } => level >= ProofLevel::L3,
    };
    if !steps.iter().all(allowed) {
        return Err(refused("a step beyond the proof's level"));
    }
    if level == ProofLevel::L1 {
        let plain = |trees: &[Option<Rc<SyntaxTree>>]| {
            root(trees.iter().map(|tree| tree.as_ref().map(|tree| tree.plain)))
        };
        let root = equal(plain(&loaded.before), plain(&loaded.after))?;
        return Ok(ReplayResult { root, claims });
    }
    let mut inlined = loaded.clone();
    for step in steps {
        if let ProofStep::Inline { side, file, at, name } = step {
            if check_vanishing(&inlined, *side, *file, *at)? == NameVisibility::Tree {
                claims.insert(name.clone());
            }
            inline::apply(&mut inlined, *side, *file, *at, name)?;
        }
    }
    let (before, after) = (inlined.known(ProofSide::Before), inlined.known(ProofSide::After));
    let renames = check_renames(&inlined, &before.scopes, steps, &mut claims)?;
    let roots =
        |forms: &[Option<Canon>]| root(forms.iter().map(|form| form.as_ref().map(|form| form.digest)));
    let renamed;
    let left = if renames.is_empty() {
        &before.forms
    } else {
        renamed = inlined.forms(ProofSide::Before, &before.scopes, &renames);
        &renamed
    };
    let root = equal(roots(left), roots(&after.forms))?;
    check_locals(left, &after.forms)?;
    Ok(ReplayResult { root, claims })
}

/// Checks that no code refers to an inlined declaration by its name.
fn check_vanishing(
    loaded: &LoadedTrees,
    side: ProofSide,
    file: usize,
    at: usize,
) -> Result<NameVisibility, ProofError> {
    let (Some(Some(tree)), Some(Some(scopes))) =
        (loaded.side(side).get(file), loaded.known(side).scopes.get(file))
    else {
        return Ok(NameVisibility::File);
    };
    let path = loaded.path_of(side, file).unwrap_or_default();
    names::check_vanishing(&NamedFile::new(tree, &loaded.symbols, scopes, path), side, file, at)
}

fn check_renames(
    loaded: &LoadedTrees,
    scopes: &[Option<Scopes>],
    steps: &[ProofStep],
    claims: &mut Claims,
) -> Result<QuickMap<Sym, Sym>, ProofError> {
    let mut renames = QuickMap::default();
    if !steps.iter().any(|step| matches!(step, ProofStep::Rename { .. })) {
        return Ok(renames);
    }
    let seen: Vec<Option<NamedFile<'_>>> = loaded
        .before
        .iter()
        .zip(scopes)
        .enumerate()
        .map(|(file, (tree, scopes))| {
            Some(NamedFile::new(
                tree.as_deref()?,
                &loaded.symbols,
                scopes.as_ref()?,
                loaded.path_before(file)?,
            ))
        })
        .collect();
    for step in steps {
        if let ProofStep::Rename { from, to } = step {
            if names::check_rename(loaded, &seen, from, to)? == NameVisibility::Tree {
                claims.extend([from.clone(), to.clone()]);
            }
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

/// Checks that no renamed local equals a free name of its region. This also catches errors of the scope
/// analysis.
fn check_locals(before: &[Option<Canon>], after: &[Option<Canon>]) -> Result<(), ProofError> {
    let mut left: QuickMap<[u8; 32], Vec<&Region>> = QuickMap::default();
    for region in before.iter().flatten().flat_map(|form| &form.regions) {
        left.entry(region.digest).or_default().push(region);
    }
    for region in after.iter().flatten().flat_map(|form| &form.regions) {
        let Some(twin) = left.get_mut(&region.digest).and_then(Vec::pop) else {
            return Err(refused("a function without a counterpart"));
        };
        for (old, new) in twin.names.iter().zip(&region.names).filter(|(old, new)| old != new) {
            let meets = twin.free.contains(new)
                || twin.free.contains(old)
                || region.free.contains(old)
                || region.free.contains(new);
            if meets {
                return Err(refused("a renamed local equals an outer name"));
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

fn equal(before: String, after: String) -> Result<String, ProofError> {
    if before == after { Ok(before) } else { Err(refused("the roots differ")) }
}
