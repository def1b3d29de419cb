//! The pipeline, its laws and its states.

mod laws;
mod pipeline;
mod states;
