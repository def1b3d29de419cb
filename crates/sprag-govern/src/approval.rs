//! Calls that were refused and that a person may let through: each by a code, once, within ten minutes.

use serde::{Deserialize, Serialize};

use sprag_base::digest::Digest;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_policy::call::ToolCall;

use crate::event::Input;

/// Refused calls that a person may still let through.
const KEPT: usize = 16;
/// How long an approval waits to be used.
const APPROVAL_SECONDS: i64 = 600;

/// The calls that were refused, and what became of them since.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RefusedCalls(Vec<RefusedCall>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RefusedCall {
    call: Digest,
    pub code: Text<16>,
    pub rule: Text<64>,
    /// What it was about, without secrets.
    pub what: Text<200>,
    standing: RefusalState,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RefusalState {
    Refused,
    /// By a person, for one call.
    Approved {
        until: Timestamp,
    },
    /// By a person, who wants something else.
    Rejected,
    /// The one call was made; the client may still ask about it.
    Used,
}

/// What a person has said of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalAnswer {
    None,
    /// Yes, and it is used up now.
    Yes,
    No,
}

impl RefusedCalls {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The calls a person may let through now.
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

    /// What cannot be marked as used must not be used.
    pub fn forget_single_use(&mut self) {
        self.0.retain(|refused| matches!(refused.standing, RefusalState::Refused | RefusalState::Rejected));
    }

    /// Whether the one call that was let through is this one.
    pub fn was_used(&self, call: Digest) -> bool {
        self.0.iter().any(|refused| refused.call == call && refused.standing == RefusalState::Used)
    }

    /// Takes a person's word on a call: a yes counts once.
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

    /// Notes a refusal and gives the code under which a person may lift it. `gate` tells the codes of two
    /// gates apart that refuse the same call.
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

/// The same call: of a shell its line and where it runs, whatever else the agent says about it.
pub fn digest_of(input: &Input, call: &ToolCall) -> Digest {
    let what = call.command.clone().unwrap_or_else(|| call.input.to_string());
    Digest::hash_parts([call.name.as_str(), &input.cwd, &what])
}

/// Short enough to be typed. It opens nothing by itself: only a person's word does.
fn code_of(call: Digest, gate: &str, session: &str) -> String {
    Digest::hash_parts([session, gate, &call.to_string()]).short()[..6].to_owned()
}
