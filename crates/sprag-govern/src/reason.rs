//! The reason of a hold or a refusal, with the next step.

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;

/// Why something is held, and the way out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// For programs: stable, `snake_case`.
    pub code: Text<64>,
    /// For people: a lower-case fragment.
    pub why: Text<1000>,
    /// What resolves it, best a command that works when pasted.
    pub next: Text<400>,
}

impl Reason {
    pub fn new(code: &str, why: impl Into<String>, next: impl Into<String>) -> Self {
        Reason { code: Text::from(code), why: Text::new(why), next: Text::new(next) }
    }
}

impl Reason {
    /// The hold of a stop, as the agent reads it. It starts with our name, so that a client that
    /// hands it back as a prompt does not pass it off as a person's.
    pub fn hold_text(&self, also: &[Reason]) -> Text<4000> {
        let mut text = format!("sprag: {}\n  next: {}", self.why, self.next);
        if !also.is_empty() {
            text.push_str("\nalso open:");
        }
        for reason in also {
            text.push_str(&format!("\n- {}; next: {}", reason.why, reason.next));
        }
        Text::new(text)
    }

    /// The refusal of a tool call, as the agent reads it in place of the tool's result.
    pub fn refusal_text(&self) -> Text<4000> {
        Text::new(
            serde_json::json!({
                "status": "error",
                "code": self.code,
                "message": format!("sprag: {}", self.why),
                "suggestion": self.next,
            })
            .to_string(),
        )
    }
}
