//! Questions of the reflection gate to the host.

use sprag_base::text::Text;
use sprag_memory::learning::Candidate;
use sprag_memory::write_gate::CandidateFacts;

use crate::facts::{Closed, DetectedTracker};
use crate::trackers::Ticket;

/// Asks about tickets and candidates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Question {
    /// Whether to detect the tracker.
    pub wants_tracker: bool,
    /// Tickets with an unconfirmed closing, each with its call.
    pub unconfirmed: Vec<(Text<128>, Ticket)>,
    /// Submitted candidates whose surroundings the host looks up.
    pub candidates: Option<Candidates>,
}

/// Submitted candidates, each with its index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidates {
    pub list: Vec<(usize, Candidate)>,
    /// The learning that the sender names.
    pub named: Option<Text<64>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    pub tracker: Option<DetectedTracker>,
    pub closed: Vec<Closed>,
    /// Facts about the submitted candidates.
    pub candidates: Option<CandidateFacts>,
}
