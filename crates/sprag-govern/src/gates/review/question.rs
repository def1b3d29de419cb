//! The question to the host for a starting reviewer.

use sprag_base::text::Text;

/// Asks for the data that a starting reviewer gets.
pub struct Question;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// A new secret token.
    pub token: Option<Text<80>>,
    /// Other agents that could give an opinion.
    pub peers: Vec<Text<32>>,
}
