//! Inlining: what a declaration of one side stands for is put where it is used.

use super::{Loaded, Refused, refused};
use crate::proof::Side;

pub(crate) fn apply(
    _loaded: &mut Loaded,
    _side: Side,
    _file: usize,
    _at: usize,
    name: &str,
) -> Result<(), Refused> {
    Err(refused(format!("cannot inline `{name}`")))
}
