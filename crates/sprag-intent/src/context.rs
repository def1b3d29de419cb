//! The block of text that shows an agent its chosen intent. Its text comes from the repository: each part is
//! capped, on one line and escaped, so that no part can close the block.

use sprag_base::text::{Text, one_line};

use super::{CriterionProof, Intent, IntentOrigin, IntentStatus, Ownership};

/// The whole block.
pub type IntentContext = Text<6000>;

/// At most this many items of one list, and characters of one item.
const PARTS: usize = 20;
const PART: usize = 240;

/// Facts about an intent that its file does not hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntentSurroundings {
    pub status: IntentStatus,
    /// Changes made for the intent, the newest first.
    pub recent: Vec<Earlier>,
    /// Other sessions that work on the intent or on its files.
    pub others: Vec<String>,
}

/// One earlier change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Earlier {
    pub at: String,
    pub what: String,
}

/// Renders the block.
pub fn context(intent: &Intent, around: &IntentSurroundings) -> IntentContext {
    let scope = match &intent.owned {
        Ownership::Nothing => vec!["nothing".to_owned()],
        Ownership::Everything => vec!["**".to_owned()],
        Ownership::Globs(globs) => globs.clone(),
    };
    let criteria = intent.criteria.iter().map(|criterion| match &criterion.proof {
        CriterionProof::Check(command) => format!("{} (check: {command})", criterion.text),
        CriterionProof::Word => criterion.text.to_string(),
    });
    let recent = around.recent.iter().take(5).map(|earlier| format!("{} {}", earlier.at, earlier.what));
    let mut out = String::from("<intent_context>\n");
    let line = |name: &str, text: &str| format!("  <{name}>{}</{name}>\n", fit(text));
    out.push_str(&line("id", intent.id.as_str()));
    out.push_str(&line("name", intent.name.as_str()));
    out.push_str(&line("status", around.status.name()));
    out.push_str(&list("constraints", intent.constraints.iter().map(Text::to_string)));
    out.push_str(&list("owned_scope", scope.into_iter()));
    out.push_str(&list("acceptance_criteria", criteria));
    out.push_str(&list("recent_trace", recent));
    out.push_str(&list("overlapping_sessions", around.others.iter().cloned()));
    if intent.origin == IntentOrigin::Orchestration && intent.owned == Ownership::Everything {
        out.push_str(&line("warning", "no scope given: every file may change"));
    }
    const END: &str = "</intent_context>";
    // The closing tag stays, even if the text is cut.
    let room = 6000 - END.len() - 1;
    if out.chars().count() > room {
        out = out.chars().take(room - 2).collect();
        out.push_str("…\n");
    }
    out.push_str(END);
    Text::new(out)
}

fn list(name: &str, items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() {
        return String::new();
    }
    let mut out = format!("  <{name}>\n");
    for item in items.iter().take(PARTS) {
        out.push_str(&format!("    - {}\n", fit(item)));
    }
    if items.len() > PARTS {
        out.push_str(&format!("    - and {} more\n", items.len() - PARTS));
    }
    out.push_str(&format!("  </{name}>\n"));
    out
}

/// Puts a text on one line, escapes it and cuts it.
fn fit(text: &str) -> String {
    let text = one_line(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    Text::<PART>::new(text).to_string()
}
