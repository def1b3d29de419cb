//! What an agent is told of the intent it has chosen. All of it is a repository's own words: capped, on
//! one line each, and unable to end the block they stand in.

use sprag_base::text::{Text, one_line};

use super::{CriterionProof, Intent, IntentOrigin, IntentStatus, Ownership};

/// The whole block.
pub type IntentContext = Text<6000>;

/// Parts of one list, and characters of one part.
const PARTS: usize = 20;
const PART: usize = 240;

/// What is known around an intent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntentSurroundings {
    pub status: IntentStatus,
    /// What was done for it, the newest first.
    pub recent: Vec<Earlier>,
    /// Other sessions that are at work on it or on files of it.
    pub others: Vec<String>,
}

/// One earlier change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Earlier {
    pub at: String,
    pub what: String,
}

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
        out.push_str(&line("warning", "it names no scope: everything may be changed"));
    }
    const END: &str = "</intent_context>";
    // The block is closed, whatever had to be left out.
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

/// On one line, short, and without marks of ours.
fn fit(text: &str) -> String {
    let text = one_line(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    Text::<PART>::new(text).to_string()
}
