//! Screens: each draws a view of `sprag-plan` and does not use the host.

mod cursor;
mod keys;
pub mod live;
mod paint;
pub mod screen;
pub mod terminal;
