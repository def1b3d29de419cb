//! Guesses the steps of a proof, the most likely first.

use crate::change::ChangeSet;
use crate::check::canon::is_name;
use crate::check::scope::IdentifierUse;
use crate::check::{LoadedTrees, ProofError, inline};
use crate::proof::{ProofSide, ProofStep};
use crate::reason::UnprovenReason;
use crate::symbol::{QuickMap, QuickSet, Sym};

/// Maximum number of names to inline.
const MANY: usize = 8;

pub(crate) fn moves(change: &ChangeSet<'_>) -> Vec<ProofStep> {
    let moved = change.files.iter().enumerate().filter(|(_, file)| {
        file.path_before.is_some() && file.path_after.is_some() && file.path_before != file.path_after
    });
    moved.map(|(file, _)| ProofStep::Move { file }).collect()
}

/// Returns the reason that a refusal gives: a step exists but is not allowed. If there is no such step, the
/// refusal says nothing.
pub(crate) fn reason(refused: &ProofError) -> Option<UnprovenReason> {
    const EFFECTS: &[&str] =
        &["effect", "run before", "evaluated", "change meanwhile", "captured", "dropped", "type may count"];
    match refused.why.as_str() {
        why if why.starts_with("rename of") => {
            (!why.ends_with("not in the change")).then_some(UnprovenReason::RenameEscapes)
        }
        why if why.starts_with("inlining of") => {
            EFFECTS.iter().any(|word| why.contains(word)).then_some(UnprovenReason::EffectOrder)
        }
        _ => None,
    }
}

/// Returns lists of steps to try in order.
pub(crate) fn attempts(loaded: &LoadedTrees) -> Vec<Vec<ProofStep>> {
    let before = SideNameSet::collect(loaded, ProofSide::Before);
    let after = SideNameSet::collect(loaded, ProofSide::After);
    let mut attempts = vec![Vec::new()];
    let mut add = |steps: Vec<ProofStep>| {
        if !attempts.contains(&steps) {
            attempts.push(steps);
        }
    };
    let (gone, come) = (before.beyond(&after), after.beyond(&before));
    add(pair(loaded, &gone, &come));
    let (extracted, dissolved) =
        (inlining(loaded, &come, ProofSide::After), inlining(loaded, &gone, ProofSide::Before));
    for steps in [extracted.clone(), dissolved.clone(), [extracted, dissolved].concat()] {
        let (done, state) = feasible(loaded, &steps);
        if done.is_empty() {
            add(steps);
            continue;
        }
        // The remaining names may have been renamed too.
        let before = SideNameSet::collect(&state, ProofSide::Before);
        let after = SideNameSet::collect(&state, ProofSide::After);
        let renames = pair(&state, &before.beyond(&after), &after.beyond(&before));
        add(done.iter().cloned().chain(renames).collect());
        add(done);
        // All steps, to get the reason of the refusal.
        add(steps);
    }
    attempts
}

/// Returns a step for each declared name; names that contain other declarations come first.
fn inlining(loaded: &LoadedTrees, names: &[&SideName], side: ProofSide) -> Vec<ProofStep> {
    let mut names: Vec<&&SideName> = names.iter().filter(|name| name.is_declared).collect();
    if names.len() > MANY {
        return Vec::new();
    }
    // The last local comes first: it is used in the next statement, and its own statement uses the local
    // before it.
    names.sort_by_key(|name| (!name.is_free, std::cmp::Reverse(name.at)));
    let step = |name: &&&SideName| ProofStep::Inline {
        side,
        file: name.file,
        at: name.at,
        name: loaded.symbols.text(name.sym).to_owned(),
    };
    names.iter().map(step).collect()
}

/// Returns the steps that can be applied in order, and the resulting trees.
fn feasible(loaded: &LoadedTrees, steps: &[ProofStep]) -> (Vec<ProofStep>, LoadedTrees) {
    let mut state = loaded.clone();
    let mut done = Vec::new();
    for step in steps {
        if let ProofStep::Inline { side, file, at, name } = step
            && inline::apply(&mut state, *side, *file, *at, name).is_ok()
        {
            done.push(step.clone());
        }
    }
    (done, state)
}

/// Names of one side.
struct SideNameSet {
    list: Vec<SideName>,
    known: QuickSet<Sym>,
}

impl SideNameSet {
    /// Returns the names that the other side does not have.
    fn beyond(&self, other: &SideNameSet) -> Vec<&SideName> {
        self.list.iter().filter(|name| !other.known.contains(&name.sym)).collect()
    }
}

struct SideName {
    sym: Sym,
    count: usize,
    /// The first declaring identifier of that name.
    file: usize,
    at: usize,
    is_declared: bool,
    is_free: bool,
}

impl SideNameSet {
    fn collect(loaded: &LoadedTrees, side: ProofSide) -> SideNameSet {
        let mut places: QuickMap<Sym, usize> = QuickMap::default();
        let mut list: Vec<SideName> = Vec::new();
        for (file, tree) in loaded.side(side).iter().enumerate() {
            let Some(tree) = tree else { continue };
            let Some(scopes) = &loaded.known(side).scopes[file] else { continue };
            for id in tree.walk(tree.root) {
                if !tree.is_leaf(id) || !is_name(tree.kind(id)) {
                    continue;
                }
                let sym = tree.sym(id);
                let place = *places.entry(sym).or_insert(list.len());
                if place == list.len() {
                    list.push(SideName { sym, count: 0, file, at: 0, is_declared: false, is_free: false });
                }
                let name = &mut list[place];
                name.count += 1;
                let is_local =
                    matches!(scopes.of_leaf(id), IdentifierUse::Local(_) | IdentifierUse::Named(_));
                name.is_free |= !is_local;
                let declares = matches!(tree.field(id), "name" | "pattern" | "left" | "alias")
                    || matches!(scopes.of_leaf(id), IdentifierUse::Local(binding) if scopes.bindings[binding as usize].at == id);
                if declares && !name.is_declared {
                    name.is_declared = true;
                    name.file = file;
                    name.at = tree.node(id).start as usize;
                }
            }
        }
        let known = list.iter().map(|name| name.sym).collect();
        SideNameSet { list, known }
    }
}

/// Pairs removed and added names, if their numbers and order of appearance match.
fn pair(loaded: &LoadedTrees, gone: &[&SideName], come: &[&SideName]) -> Vec<ProofStep> {
    let free = |names: &[&SideName]| -> Vec<(usize, Sym)> {
        names.iter().filter(|name| name.is_free).map(|name| (name.count, name.sym)).collect()
    };
    let (gone, come) = (free(gone), free(come));
    if gone.len() != come.len() {
        return Vec::new();
    }
    let text = |sym: Sym| loaded.symbols.text(sym).to_owned();
    gone.iter()
        .zip(&come)
        .map(|(old, new)| ProofStep::Rename { from: text(old.1), to: text(new.1) })
        .collect()
}
