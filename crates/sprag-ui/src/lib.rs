//! Screens: each draws a `View` of `sprag-core` and knows nothing of the host.

mod cursor;
mod keys;
pub mod live;
mod paint;
pub mod screen;
pub mod terminal;
