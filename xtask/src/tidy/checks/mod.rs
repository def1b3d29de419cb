//! The list of checks; each check is one file.

use super::Check;

mod answers;
pub mod commit_message;
mod direction;
mod discards;
mod entries;
pub mod imports;
mod layers;
mod length;
mod licences;
mod links;
mod modules;
pub mod plain_words;
mod processes;
mod purity;
mod record_bodies;
mod sleeps;
mod type_names;
mod unfinished;
mod unwraps;
mod walks;
mod wire;

pub const CHECKS: &[&Check] = &[
    &direction::CHECK,
    &layers::CHECK,
    &entries::CHECK,
    &modules::CHECK,
    &imports::CHECK,
    &type_names::CHECK,
    &purity::CHECK,
    &record_bodies::CHECK,
    &processes::CHECK,
    &wire::CHECK,
    &answers::CHECK,
    &unwraps::CHECK,
    &unfinished::CHECK,
    &discards::CHECK,
    &sleeps::CHECK,
    &length::CHECK,
    &licences::CHECK,
    &links::CHECK,
    &walks::CHECK,
    &plain_words::CHECK,
    &commit_message::CHECK,
];

/// Reports whether rules about the product apply. This tool is exempt, because it works with files and
/// processes.
fn is_product(path: &str) -> bool {
    path.starts_with("crates/")
}
