//! What the gate asks the host about tickets and candidates.

use sprag_base::text::Text;
use sprag_memory::learning::Candidate;
use sprag_memory::write_gate::CandidateFacts;

use crate::facts::{Closed, DetectedTracker};
use crate::trackers::Ticket;

/// Asks about tickets and candidates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Question {
    /// Which tracker is used here.
    pub wants_tracker: bool,
    /// What became of tickets whose closing nobody confirmed, each with its call.
    pub unconfirmed: Vec<(Text<128>, Ticket)>,
    /// What is known around candidates that are handed in.
    pub candidates: Option<Candidates>,
}

/// Candidates that are handed in, each with its place among them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidates {
    pub list: Vec<(usize, Candidate)>,
    /// The learning that the reporter names.
    pub named: Option<Text<64>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    pub tracker: Option<DetectedTracker>,
    pub closed: Vec<Closed>,
    /// What is known of the candidates that are handed in.
    pub candidates: Option<CandidateFacts>,
}
