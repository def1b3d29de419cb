//! Reviewers: some work is shown to one, and it says this or that, or nothing.

use sprag_base::text::Text;
use sprag_plan::ids::Commit;
use sprag_plan::run::record::Outcome;
use sprag_plan::spec::client::Known;

use super::chance::Chance;

/// What comes of a look at work that is good.
pub fn claimed(chance: &mut Chance, head: &Commit) -> Outcome {
    let (head, tree) = (head.clone(), head.clone());
    match chance.once_in(3) {
        true => Outcome::Reviewable { head, tree, by: Known::Claude },
        false => Outcome::Green { head, tree },
    }
}

pub fn reviewed(chance: &mut Chance, head: &Commit, tree: &Commit) -> Outcome {
    let (head, tree) = (head.clone(), tree.clone());
    if chance.once_in(8) {
        return Outcome::Red { report: Text::new("issues") };
    }
    match chance.once_in(20) {
        true => Outcome::Unreviewed { head, tree, why: Text::new("no verdict") },
        false => Outcome::Green { head, tree },
    }
}
