//! Settings of the gates and of the circuit breaker.

use serde::{Deserialize, Serialize};

use crate::breaker::Limits;
use crate::gates::Policies;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    pub circuit_breaker: Limits,
    pub gates: Policies,
}
