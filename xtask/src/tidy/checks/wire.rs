//! Checks that foreign JSON stays in the file of its client, so that no other file depends on a format that
//! another project decides.

use crate::tidy::source::{Source, Token};
use crate::tidy::tree::Tree;
use crate::tidy::{Check, Finding};

pub const CHECK: Check =
    Check { name: "wire", about: "types that a client file deserializes are private", find };

const CLIENTS: &str = "crates/sprag-host/src/clients/";

fn find(tree: &Tree) -> Vec<Finding> {
    tree.rust.iter().filter(|source| source.path.starts_with(CLIENTS)).flat_map(public_wire).collect()
}

fn public_wire(source: &Source) -> Vec<Finding> {
    let derives = source.find("# [ derive (");
    derives
        .into_iter()
        .filter_map(|rest| {
            let end = rest.iter().position(|token| token.text == ")")?;
            let (derived, rest) = rest.split_at(end);
            if !derived.iter().any(|token| token.text == "Deserialize") {
                return None;
            }
            let is_kind = |token: &Token| matches!(token.text.as_str(), "struct" | "enum");
            let kind = rest.iter().position(is_kind)?;
            let public = rest[..kind].iter().find(|token| token.text == "pub")?;
            let name = rest.get(kind + 1).map(|token| token.text.as_str()).unwrap_or_default();
            let what = format!(
                "`{name}` is public and derives `Deserialize`: wire types are private to their client"
            );
            Some(Finding::new(&source.path, public.line, what))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_not_public() {
        let text = "\
#[derive(Deserialize)]
struct Wire { pub a: u8 }
#[derive(Clone, serde::Deserialize)]
#[serde(default)]
pub struct Open { a: u8 }
#[derive(Clone)]
pub struct Plain;
#[derive(Deserialize)]
pub(crate) enum Half { A }
";
        let tree =
            Tree::of(&[("crates/sprag-host/src/clients/x.rs", text), ("crates/sprag-host/src/x.rs", text)]);
        let found: Vec<(usize, bool)> =
            find(&tree).iter().map(|finding| (finding.line, finding.what.contains("`Open`"))).collect();
        assert_eq!(found, [(5, true), (9, false)]);
    }
}
