//! Screens: each draws a `View` of `sprag-core` and knows nothing of the host.
