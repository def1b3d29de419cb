//! Settings of the gates and of the circuit breaker.

use serde::{Deserialize, Serialize};

use crate::breaker::BreakerSettings;
use crate::gates::GateSettings;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GovernSettings {
    pub circuit_breaker: BreakerSettings,
    pub gates: GateSettings,
}
