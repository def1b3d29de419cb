//! Guesses at the steps of a proof, the likeliest first.

use crate::change::ChangeSet;
use crate::check::canon::is_name;
use crate::check::scope::IdentifierUse;
use crate::check::{LoadedTrees, ProofError, inline};
use crate::proof::{ProofSide, ProofStep};
use crate::reason::UnprovenReason;
use crate::symbol::{QuickMap, QuickSet, Sym};

/// More names than these are not tried to be inlined.
const MANY: usize = 8;

pub(crate) fn moves(change: &ChangeSet<'_>) -> Vec<ProofStep> {
    let moved = change.files.iter().enumerate().filter(|(_, file)| {
        file.path_before.is_some() && file.path_after.is_some() && file.path_before != file.path_after
    });
    moved.map(|(file, _)| ProofStep::Move { file }).collect()
}

/// What a refusal says about the change: that a step was there, and may not be taken. That there was no such step at all
/// says nothing.
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

/// Lists of steps to try, one after the other.
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
        // What is left may have been renamed besides.
        let before = SideNameSet::collect(&state, ProofSide::Before);
        let after = SideNameSet::collect(&state, ProofSide::After);
        let renames = pair(&state, &before.beyond(&after), &after.beyond(&before));
        add(done.iter().cloned().chain(renames).collect());
        add(done);
        // In full, to hear why not.
        add(steps);
    }
    attempts
}

/// A step for each declared name, those that others are declared in first.
fn inlining(loaded: &LoadedTrees, names: &[&SideName], side: ProofSide) -> Vec<ProofStep> {
    let mut names: Vec<&&SideName> = names.iter().filter(|name| name.is_declared).collect();
    if names.len() > MANY {
        return Vec::new();
    }
    // Of locals the last one first: it is used in the statement after it, and the one before it in its own.
    names.sort_by_key(|name| (!name.is_free, std::cmp::Reverse(name.at)));
    let step = |name: &&&SideName| ProofStep::Inline {
        side,
        file: name.file,
        at: name.at,
        name: loaded.symbols.text(name.sym).to_owned(),
    };
    names.iter().map(step).collect()
}

/// Those of the steps that can be taken one after the other, and where they lead.
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
    /// Those that the other side does not know.
    fn beyond(&self, other: &SideNameSet) -> Vec<&SideName> {
        self.list.iter().filter(|name| !other.known.contains(&name.sym)).collect()
    }
}

struct SideName {
    sym: Sym,
    count: usize,
    /// The first identifier of that name that declares something.
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

/// Names that went and names that came, if they match in number and in the order they appear in.
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
