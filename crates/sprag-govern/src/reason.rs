//! The reason of a hold or a refusal, with the next step.

use serde::{Deserialize, Serialize};

use sprag_base::text::Text;

/// The reason of a hold or a refusal, and the next step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// Stable `snake_case` code for programs.
    pub code: Text<64>,
    /// Lower-case fragment for people and agents.
    pub why: Text<1000>,
    /// The step that resolves it, preferably a command that works when pasted.
    pub next: Text<400>,
}

impl Reason {
    pub fn new(code: &str, why: impl Into<String>, next: impl Into<String>) -> Self {
        Reason { code: Text::from(code), why: Text::new(why), next: Text::new(next) }
    }
}

impl Reason {
    /// Returns the text of a held stop, as the agent reads it. The text starts with `sprag:`. If the client
    /// returns it as a prompt, Sprag then knows that no person wrote it.
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

    /// Returns the text of a refused tool call. The agent reads it in place of the tool's result.
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
