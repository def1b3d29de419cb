//! Screens: each draws a view of `sprag-plan` and knows nothing of the host.

mod cursor;
mod keys;
pub mod live;
mod paint;
pub mod screen;
pub mod terminal;
