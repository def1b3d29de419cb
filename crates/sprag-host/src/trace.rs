//! What was changed and why, as it is gathered from the world.

pub mod anchor;
