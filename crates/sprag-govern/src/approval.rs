//! Refused calls that a person may allow: each by a code, once, within ten minutes.

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_policy::call::ToolCall;

use crate::event::Input;

/// Maximum number of refused calls that a person may still allow.
const KEPT: usize = 16;
/// Seconds after which an unused approval expires.
const APPROVAL_SECONDS: i64 = 600;

/// Refused calls and their state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RefusedCalls(Vec<RefusedCall>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RefusedCall {
    call: Digest,
    pub code: Text<16>,
    pub rule: Text<64>,
    /// Summary of the call, without secrets.
    pub what: Text<200>,
    standing: RefusalState,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RefusalState {
    Refused,
    /// A person allowed one call.
    Approved {
        until: Timestamp,
    },
    /// A person refused the call and wants another solution.
    Rejected,
    /// The agent made the one call. The client may still ask about it.
    Used,
}

/// The answer of a person about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalAnswer {
    None,
    /// The person allowed the call, and this use consumed the approval.
    Yes,
    No,
}

impl RefusedCalls {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the calls that a person may allow now.
    pub fn open(self) -> impl Iterator<Item = RefusedCall> {
        self.0.into_iter().filter(|refused| refused.standing == RefusalState::Refused)
    }

    pub fn approve(&mut self, code: &str, now: Timestamp) {
        self.stand(code, &RefusalState::Approved { until: now.plus_seconds(APPROVAL_SECONDS) });
    }

    pub fn reject(&mut self, code: &str) {
        self.stand(code, &RefusalState::Rejected);
    }

    fn stand(&mut self, code: &str, standing: &RefusalState) {
        let meant = self.0.iter_mut().filter(|refused| refused.code.as_str() == code);
        meant.for_each(|refused| refused.standing = standing.clone());
    }

    /// Drops approvals. Sprag calls this when it cannot record the use, because an approval must count only
    /// once.
    pub fn forget_single_use(&mut self) {
        self.0.retain(|refused| matches!(refused.standing, RefusalState::Refused | RefusalState::Rejected));
    }

    /// Reports whether this is the allowed call, already used.
    pub fn was_used(&self, call: Digest) -> bool {
        self.0.iter().any(|refused| refused.call == call && refused.standing == RefusalState::Used)
    }

    /// Returns the answer of a person about a call. An approval counts once.
    pub fn use_approval(&mut self, call: Digest, now: Timestamp) -> ApprovalAnswer {
        let Some(at) = self.0.iter().position(|refused| refused.call == call) else {
            return ApprovalAnswer::None;
        };
        match self.0[at].standing {
            RefusalState::Approved { until } if now < until => {
                self.0[at].standing = RefusalState::Used;
                ApprovalAnswer::Yes
            }
            RefusalState::Approved { .. } | RefusalState::Used => {
                self.0.remove(at);
                ApprovalAnswer::None
            }
            RefusalState::Rejected => ApprovalAnswer::No,
            RefusalState::Refused => ApprovalAnswer::None,
        }
    }

    /// Records a refusal and returns the code with which a person may allow the call. `gate` makes the codes
    /// of two gates different when both refuse the same call.
    pub fn refuse(&mut self, call: &ToolCall, gate: &str, rule: &str, input: &Input) -> String {
        let digest = digest_of(input, call);
        let code = code_of(digest, gate, input.session.as_str());
        self.0.retain(|refused| refused.call != digest);
        if self.0.len() >= KEPT {
            self.0.remove(0);
        }
        self.0.push(RefusedCall {
            call: digest,
            code: Text::from(code.as_str()),
            rule: Text::from(rule),
            what: call.summary(),
            standing: RefusalState::Refused,
        });
        code
    }
}

/// Returns a digest that is equal for equal calls. For a shell call only the command line and its directory
/// count.
pub fn digest_of(input: &Input, call: &ToolCall) -> Digest {
    let what = call.command.clone().unwrap_or_else(|| call.input.to_string());
    Digest::hash_parts([call.name.as_str(), &input.cwd, &what])
}

/// Returns a code that is short enough to type. The code alone allows nothing: a person must approve it.
fn code_of(call: Digest, gate: &str, session: &str) -> String {
    Digest::hash_parts([session, gate, &call.to_string()]).short()[..6].to_owned()
}
