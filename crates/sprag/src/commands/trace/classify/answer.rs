//! The answer for one change set. It always has all keys, in one order; a key without a value is null.

use serde::Serialize;
use serde_json::{Value, json};

use sprag_syntax::reason::UnprovenReason;
use sprag_syntax::{ChangeJudgement, Classification, Excerpt, Proof, Witness};

#[derive(Serialize)]
pub(crate) struct ClassifyLine {
    id: Value,
    /// The number of a bad input line.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    verdict: &'static str,
    class: &'static str,
    level: Option<&'static str>,
    reason: Option<&'static str>,
    witness: Option<Value>,
    proof: Option<Proof>,
    api: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ms: Option<f64>,
}

impl ClassifyLine {
    pub(super) fn with_ms(mut self, ms: f64) -> ClassifyLine {
        self.ms = Some((ms * 1000.0).round() / 1000.0);
        self
    }

    pub(super) fn is_bad(&self) -> bool {
        self.line.is_some()
    }

    pub(super) fn into_value(self) -> Value {
        serde_json::to_value(self).expect("plain data")
    }

    pub(super) fn into_line(self) -> String {
        serde_json::to_string(&self).expect("plain data")
    }
}

pub(crate) fn from_judgement(id: Option<Value>, judged: &ChangeJudgement) -> ClassifyLine {
    let (verdict, class) = match judged.verdict {
        Classification::Proved(_) => ("PROVED", "AST_REFACTOR"),
        Classification::Changed(_) => ("CHANGED", "INTENT_EVOLUTION"),
        Classification::Unproven(_) => ("UNPROVEN", "INTENT_EVOLUTION"),
    };
    let mut answer = ClassifyLine {
        id: id.unwrap_or(Value::Null),
        line: None,
        verdict,
        class,
        level: judged.level.map(|level| level.name()),
        reason: None,
        witness: None,
        proof: None,
        api: Some(super::api(judged)),
        ms: None,
    };
    match &judged.verdict {
        Classification::Proved(proof) => answer.proof = Some(proof.clone()),
        Classification::Changed(witness) => answer.witness = Some(shown(witness)),
        Classification::Unproven(reason) => {
            answer.reason = Some(reason.name());
            answer.api = (judged.api != sprag_syntax::ApiChange::default()).then(|| super::api(judged));
        }
    }
    answer
}

/// Returns the answer for a line that does not parse.
pub(crate) fn bad(id: Option<Value>, line: usize) -> ClassifyLine {
    ClassifyLine {
        id: id.unwrap_or(Value::Null),
        line: Some(line),
        verdict: "UNPROVEN",
        class: "INTENT_EVOLUTION",
        level: None,
        reason: Some(UnprovenReason::BadInput.name()),
        witness: None,
        proof: None,
        api: None,
        ms: None,
    }
}

fn shown(witness: &Witness) -> Value {
    let side = |excerpt: &Option<Excerpt>| {
        excerpt.as_ref().map(|excerpt| json!({"line": excerpt.line, "text": excerpt.text}))
    };
    json!({
        "path": witness.path,
        "unit": witness.unit,
        "before": side(&witness.before),
        "after": side(&witness.after),
    })
}
