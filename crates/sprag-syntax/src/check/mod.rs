//! The checker: replays a proof on the sources. It believes nothing that the prover says.

use crate::change::Change;
use crate::digest::{hex, of_source, sha256};
use crate::lang::Lang;
use crate::proof::{Proof, RULES};
use crate::symbol::Symbols;
use crate::tree;

/// Why a proof is not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub why: String,
}

pub(crate) fn refused(why: impl Into<String>) -> Refused {
    Refused { why: why.into() }
}

/// Replays `proof` on `change`.
pub fn check(change: &Change<'_>, proof: &Proof) -> Result<(), Refused> {
    if proof.rules != RULES {
        return Err(refused(format!("rules `{}` are not ours", proof.rules)));
    }
    if proof.files.len() != change.files.len() {
        return Err(refused("the proof is about other files"));
    }
    for (file, sources) in change.files.iter().zip(&proof.files) {
        if file.before.map(of_source) != sources.before || file.after.map(of_source) != sources.after {
            return Err(refused("the proof is about other sources"));
        }
    }
    let (before, after) = plain_roots(change)?;
    match before == after && before == proof.before_root && after == proof.after_root {
        true => Ok(()),
        false => Err(refused("the roots differ")),
    }
}

/// The roots of both sides without comments.
pub(crate) fn plain_roots(change: &Change<'_>) -> Result<(String, String), Refused> {
    let mut symbols = Symbols::new();
    let mut left = usize::MAX;
    let mut roots = (Vec::new(), Vec::new());
    for file in &change.files {
        for (path, bytes, root) in
            [(file.path_before, file.before, &mut roots.0), (file.path_after, file.after, &mut roots.1)]
        {
            let (Some(path), Some(bytes)) = (path, bytes) else {
                root.push(0);
                continue;
            };
            let lang = Lang::of_path(path).ok_or_else(|| refused("a language we do not read"))?;
            let tree =
                tree::read(lang, bytes, &mut symbols, &mut left).map_err(|reason| refused(reason.name()))?;
            root.push(1);
            root.extend_from_slice(&tree.plain);
        }
    }
    Ok((hex(&sha256(&roots.0)), hex(&sha256(&roots.1))))
}
