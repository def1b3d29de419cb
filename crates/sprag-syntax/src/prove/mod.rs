//! The prover: looks for steps that make both sides the same, and lets the checker judge them. It may guess, because
//! nothing it says is believed.

mod api;
mod steps;
mod witness;

use crate::change::{Api, Budget, Change, Depth, Judgement, Level, Verdict};
use crate::check::{Loaded, Parsing, Replayed, check, replay};
use crate::digest::of_source;
use crate::lang::Lang;
use crate::proof::{Proof, RULES, Sources, Step, World};
use crate::reason::Reason;

/// Tells whether a change keeps behaviour.
pub fn classify(change: &Change<'_>, budget: Budget) -> Judgement {
    let unproven = |reason| Judgement::of(Verdict::Unproven(reason), Api::default());
    let paths = change.files.iter().flat_map(|file| [file.path_before, file.path_after]);
    if paths.flatten().any(|path| Lang::of_path(path).is_none()) {
        return unproven(Reason::Language);
    }
    let loaded = match Loaded::read(change, budget.nodes, Parsing::Quick) {
        Ok(loaded) => loaded,
        Err(reason) => return unproven(reason),
    };
    let moves = steps::moves(change);
    if let Ok(replayed) = replay(&loaded, Level::L1, &moves) {
        return proved(change, &loaded, Level::L1, replayed, moves);
    }
    if budget.depth == Depth::Shallow {
        return unproven(Reason::Ambiguous);
    }
    let mut refusal = None;
    for attempt in steps::attempts(&loaded) {
        let level = match attempt.iter().any(|step| matches!(step, Step::Inline { .. })) {
            true => Level::L3,
            false => Level::L2,
        };
        let steps: Vec<Step> = moves.iter().cloned().chain(attempt).collect();
        match replay(&loaded, level, &steps) {
            Ok(replayed) => return proved(change, &loaded, level, replayed, steps),
            Err(refused) => refusal = refusal.or_else(|| steps::reason(&refused)),
        }
    }
    let api = api::of(&loaded, &[]);
    // A literal that came or went is a difference, whatever else was refused.
    let refusal = refusal.filter(|_| !witness::has_other_literals(&loaded));
    let verdict = match (refusal, witness::find(change, &loaded, &api)) {
        (Some(reason), _) => Verdict::Unproven(reason),
        (None, Some(witness)) => Verdict::Changed(witness),
        (None, None) => Verdict::Unproven(Reason::Ambiguous),
    };
    Judgement::of(verdict, api)
}

fn proved(
    change: &Change<'_>,
    loaded: &Loaded,
    level: Level,
    replayed: Replayed,
    steps: Vec<Step>,
) -> Judgement {
    let api = api::of(loaded, &steps);
    let proof = Proof {
        v: 1,
        rules: RULES.to_owned(),
        level: level.name().to_owned(),
        world: World::Change,
        before_root: replayed.root.clone(),
        after_root: replayed.root,
        files: sources(change),
        steps,
    };
    // Asked in full, from the sources on: what was found above is only a finding.
    match check(change, &proof) {
        Ok(claims) => Judgement { verdict: Verdict::Proved(proof), level: Some(level), api, claims },
        Err(_) => Judgement::of(Verdict::Unproven(Reason::Ambiguous), api),
    }
}

fn sources(change: &Change<'_>) -> Vec<Sources> {
    change
        .files
        .iter()
        .map(|file| Sources {
            path_before: file.path_before.map(str::to_owned),
            path_after: file.path_after.map(str::to_owned),
            before: file.before.map(of_source),
            after: file.after.map(of_source),
        })
        .collect()
}
