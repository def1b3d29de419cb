//! The prover: searches for steps that make both sides equal, and lets the checker decide. It may guess,
//! because the checker verifies everything.

mod api;
mod steps;
mod witness;

use crate::change::{
    ApiChange, ChangeJudgement, ChangeSet, Classification, NodeBudget, ProofDepth, ProofLevel,
};
use crate::check::{LoadedTrees, Parsing, ReplayResult, check, replay};
use crate::digest::of_source;
use crate::lang::Lang;
use crate::proof::{NameSearchScope, Proof, ProofSources, ProofStep, RULES};
use crate::reason::UnprovenReason;

/// Decides whether a change keeps behaviour.
pub fn classify(change: &ChangeSet<'_>, budget: NodeBudget) -> ChangeJudgement {
    let unproven =
        |reason| ChangeJudgement::without_proof(Classification::Unproven(reason), ApiChange::default());
    let paths = change.files.iter().flat_map(|file| [file.path_before, file.path_after]);
    if paths.flatten().any(|path| Lang::of_path(path).is_none()) {
        return unproven(UnprovenReason::Language);
    }
    let loaded = match LoadedTrees::read(change, budget.nodes, Parsing::Quick) {
        Ok(loaded) => loaded,
        Err(reason) => return unproven(reason),
    };
    let moves = steps::moves(change);
    if let Ok(replayed) = replay(&loaded, ProofLevel::L1, &moves) {
        return proved(change, &loaded, ProofLevel::L1, replayed, moves);
    }
    if budget.depth == ProofDepth::Shallow {
        return unproven(UnprovenReason::Ambiguous);
    }
    let mut refusal = None;
    for attempt in steps::attempts(&loaded) {
        let level = if attempt.iter().any(|step| matches!(step, ProofStep::Inline { .. })) {
            ProofLevel::L3
        } else {
            ProofLevel::L2
        };
        let steps: Vec<ProofStep> = moves.iter().cloned().chain(attempt).collect();
        match replay(&loaded, level, &steps) {
            Ok(replayed) => return proved(change, &loaded, level, replayed, steps),
            Err(refused) => refusal = refusal.or_else(|| steps::reason(&refused)),
        }
    }
    let api = api::compare(&loaded, &[]);
    // A new or missing literal is a difference, even if a step was refused for another reason.
    let refusal = refusal.filter(|_| !witness::has_other_literals(&loaded));
    let verdict = match (refusal, witness::find(change, &loaded, &api)) {
        (Some(reason), _) => Classification::Unproven(reason),
        (None, Some(witness)) => Classification::Changed(witness),
        (None, None) => Classification::Unproven(UnprovenReason::Ambiguous),
    };
    ChangeJudgement::without_proof(verdict, api)
}

fn proved(
    change: &ChangeSet<'_>,
    loaded: &LoadedTrees,
    level: ProofLevel,
    replayed: ReplayResult,
    steps: Vec<ProofStep>,
) -> ChangeJudgement {
    let api = api::compare(loaded, &steps);
    let proof = Proof {
        v: 1,
        rules: RULES.to_owned(),
        level: level.name().to_owned(),
        world: NameSearchScope::Change,
        before_root: replayed.root.clone(),
        after_root: replayed.root,
        files: sources(change),
        steps,
    };
    // Runs the full check from the sources; the result above is only a candidate.
    match check(change, &proof) {
        Ok(claims) => {
            ChangeJudgement { verdict: Classification::Proved(proof), level: Some(level), api, claims }
        }
        Err(_) => ChangeJudgement::without_proof(Classification::Unproven(UnprovenReason::Ambiguous), api),
    }
}

fn sources(change: &ChangeSet<'_>) -> Vec<ProofSources> {
    change
        .files
        .iter()
        .map(|file| ProofSources {
            path_before: file.path_before.map(str::to_owned),
            path_after: file.path_after.map(str::to_owned),
            before: file.before.map(of_source),
            after: file.after.map(of_source),
        })
        .collect()
}
