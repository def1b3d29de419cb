//! What the gate asks the host for a reviewer that starts.

use sprag_base::text::Text;

/// Asks for what a reviewer that starts is given.
pub struct Question;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// A secret that nobody has seen yet.
    pub token: Option<Text<80>>,
    /// Other agents that could be asked for an opinion.
    pub peers: Vec<Text<32>>,
}
