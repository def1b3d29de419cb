//! The prover: looks for a proof and asks the checker before it answers.

use crate::change::{Api, Budget, Change, Judgement, Level, Reason, Verdict};
use crate::check::{check, plain_roots};
use crate::digest::of_source;
use crate::lang::Lang;
use crate::proof::{Proof, RULES, Sources};

/// Tells whether a change keeps behaviour.
pub fn classify(change: &Change<'_>, _budget: Budget) -> Judgement {
    let unproven =
        |reason| Judgement { verdict: Verdict::Unproven(reason), level: None, api: Api::default() };
    let paths = change.files.iter().flat_map(|file| [file.path_before, file.path_after]);
    if paths.flatten().any(|path| Lang::of_path(path).is_none()) {
        return unproven(Reason::Language);
    }
    let Ok((before_root, after_root)) = plain_roots(change) else { return unproven(Reason::ParseError) };
    let proof = Proof {
        v: 1,
        rules: RULES.to_owned(),
        level: Level::L1.name().to_owned(),
        world: "tree".to_owned(),
        before_root,
        after_root,
        files: sources(change),
        steps: Vec::new(),
    };
    match check(change, &proof) {
        Ok(()) => Judgement { verdict: Verdict::Proved(proof), level: Some(Level::L1), api: Api::default() },
        Err(_) => unproven(Reason::Ambiguous),
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
