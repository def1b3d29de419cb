//! The checks, a file each.

use super::Check;

mod direction;
mod discards;
mod entries;
pub mod imports;
mod layers;
mod length;
mod licences;
mod links;
mod modules;
mod processes;
mod purity;
mod sleeps;
mod type_names;
mod unfinished;
mod unwraps;
mod wire;

pub const CHECKS: &[&Check] = &[
    &direction::CHECK,
    &purity::CHECK,
    &processes::CHECK,
    &wire::CHECK,
    &unwraps::CHECK,
    &unfinished::CHECK,
    &discards::CHECK,
    &sleeps::CHECK,
    &length::CHECK,
    &licences::CHECK,
    &links::CHECK,
];

/// Checks that print what they find and do not fail yet.
pub const REPORTS: &[&Check] =
    &[&entries::CHECK, &modules::CHECK, &imports::CHECK, &layers::CHECK, &type_names::CHECK];

/// Where rules about the product apply: not to this tool, whose trade is files and processes.
fn is_product(path: &str) -> bool {
    path.starts_with("crates/")
}
