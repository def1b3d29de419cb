//! The judge: a program of the user that answers permission questions which no rule covers. It reads one JSON
//! object and prints one. An answer counts only if it is in time, well-formed and confident; otherwise the
//! client asks the user.

use serde::{Deserialize, Serialize};
use serde_json::json;

use sprag_base::digest::Digest;
use sprag_base::record::{Projection, Record};
use sprag_base::record_kinds::TypedRecord as _;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_base::{records, redact};
use sprag_policy::call::{InputCompleteness, ToolCall};

use crate::event::Input;

/// The result of asking the judge.
#[derive(Clone, Debug, PartialEq)]
pub enum JudgeResult {
    Answered {
        answer: JudgeAnswer,
        millis: u64,
    },
    /// The judge answered too late, or not in the expected form.
    Failed {
        what: Text<200>,
        millis: u64,
    },
    /// Sprag did not ask the judge.
    Unasked {
        why: Text<200>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgeAnswer {
    pub decision: Opinion,
    /// From 0 to 1.
    pub confidence: f64,
    #[serde(default)]
    pub reason: Text<400>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Opinion {
    Allow,
    Deny,
    Ask,
}

sprag_base::names! { pub fn name(Opinion): Allow = "allow", Deny = "deny", Ask = "ask" }

impl JudgeAnswer {
    /// Reads the output of a judge: one object and nothing else.
    pub fn parse(output: &[u8]) -> Result<JudgeAnswer, String> {
        let answer: JudgeAnswer = serde_json::from_slice(output).map_err(|error| error.to_string())?;
        match answer.confidence {
            confidence if (0.0..=1.0).contains(&confidence) => Ok(answer),
            confidence => Err(format!("confidence {confidence} is not between 0 and 1")),
        }
    }
}

/// Maximum bytes of a question.
const QUESTION: usize = 8 * 1024;

/// Returns the question for a judge: the call without its secrets, and its directory. Returns `None` if the
/// call is too long, because the judge would see only a part.
pub fn question(input: &Input, call: &ToolCall) -> Option<Vec<u8>> {
    let body = json!({
        "v": 1,
        "tool_name": call.name,
        "tool_input": redact::value(call.input.clone()).into_inner(),
        "cwd": input.cwd,
        "effect": call.effect.name(),
        "answer": {"decision": "allow | deny | ask", "confidence": "0..1", "reason": "one sentence"},
    });
    Some(body.to_string().into_bytes())
        .filter(|question| question.len() <= QUESTION && call.whole == InputCompleteness::Yes)
}

records! {
    /// Records of the judge.
    pub enum JudgeRecord {
        Answered(JudgeAnswerRecord) = "judge.answered",
        Failed(JudgeFailureRecord) = "judge.failed",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgeAnswerRecord {
    pub call: Digest,
    #[serde(flatten)]
    pub answer: JudgeAnswer,
    pub ms: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgeFailureRecord {
    pub call: Digest,
    pub what: Text<200>,
    pub ms: u64,
}

/// Failures in a row after which Sprag stops asking the judge.
const FAILURES: u32 = 3;
/// Seconds of that pause. After it Sprag tries one question.
const REST_SECONDS: i64 = 60;

/// Reliability of the judge in this clone, folded from the log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reliability {
    failures: u32,
    last: Option<Timestamp>,
}

impl Reliability {
    pub fn may_be_asked(&self, now: Timestamp) -> bool {
        let rested = self.last.is_none_or(|last| now.seconds_since(last) >= REST_SECONDS);
        self.failures < FAILURES || rested
    }
}

impl Projection for Reliability {
    const NAME: &'static str = "judge";
    const VERSION: u32 = 1;
    const KINDS: &'static [&'static str] = &["judge."];

    fn apply(&mut self, record: &Record) {
        match JudgeRecord::read(record) {
            Some(JudgeRecord::Answered(_)) => *self = Reliability::default(),
            Some(JudgeRecord::Failed(_)) => {
                self.failures = self.failures.saturating_add(1);
                self.last = Some(record.at);
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_in_form_is_one() {
        let parse = |text: &str| JudgeAnswer::parse(text.as_bytes());
        let answer = parse(r#" {"decision": "allow", "confidence": 0.9, "reason": "only looks"} "#).unwrap();
        assert_eq!((answer.decision, answer.reason.as_str()), (Opinion::Allow, "only looks"));
        for bad in [
            "",
            "allow",
            "{}",
            r#"{"decision": "yes", "confidence": 1}"#,
            r#"{"decision": "allow"}"#,
            r#"{"decision": "allow", "confidence": "high"}"#,
            r#"{"decision": "allow", "confidence": 7}"#,
            r#"{"decision": "allow", "confidence": -0.1}"#,
            r#"{"decision": "allow", "confidence": 1} {"decision": "deny", "confidence": 1}"#,
            "Sure! {\"decision\": \"allow\", \"confidence\": 1}",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn three_failures_in_a_row_give_it_a_rest_and_one_more_try() {
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1000);
        let call = Digest::hash_parts(["call"]);
        let failed = JudgeFailureRecord { call, what: Text::from("it was killed"), ms: 1 };
        let failed = |seconds: i64| JudgeRecord::Failed(failed.clone()).record(at(seconds));
        let answer = JudgeAnswer::parse(br#"{"decision": "allow", "confidence": 1}"#).unwrap();
        let mut judge = Reliability::default();
        judge.apply(&failed(1));
        judge.apply(&failed(2));
        assert!(judge.may_be_asked(at(3)));
        judge.apply(&failed(3));
        assert!(!judge.may_be_asked(at(62)) && judge.may_be_asked(at(63)));
        judge.apply(&failed(63));
        assert!(!judge.may_be_asked(at(100)));
        judge.apply(&JudgeRecord::Answered(JudgeAnswerRecord { call, answer, ms: 1 }).record(at(130)));
        assert!(judge.may_be_asked(at(131)));
    }
}
