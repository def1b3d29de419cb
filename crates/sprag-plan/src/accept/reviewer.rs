//! Decides who reviews the work of a stage and when, and writes the report of a review for the author.

use sprag_base::redact;
use sprag_base::text::{Text, plain};
use sprag_check::{Profile, Risk};

use crate::spec::client::{ClientName, StageClient};
use crate::spec::{StageKind, StageSpec};

/// The name of a review in lists of checks.
pub const NAME: &str = "review";
/// Limits for files and lines: a larger change is reviewed even if the plan does not ask for it.
pub const FILES: u32 = 10;
pub const LINES: u32 = 500;

/// The reviewer of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageReviewer {
    /// A new process of this client; the process that did the work never reviews it.
    Client(ClientName),
    /// A person, because Sprag cannot run this client as a reviewer.
    Person,
}

/// Returns the reviewer of a stage without regard to its changes; `None` if the stage is never reviewed.
pub fn reviewer(spec: &StageSpec) -> Option<StageReviewer> {
    let of_client = match spec.agent.client {
        // No agent wrote this work.
        _ if spec.kind == StageKind::KnowledgeDistill => return None,
        StageClient::Known(known @ (ClientName::Claude | ClientName::Codex)) => StageReviewer::Client(known),
        StageClient::Known(_) | StageClient::Command { .. } => StageReviewer::Person,
    };
    match (spec.verify, of_client) {
        (Profile::Quick, _) | (Profile::Standard, StageReviewer::Person) => None,
        (Profile::Standard | Profile::Deep, reviewer) => Some(reviewer),
    }
}

/// Returns the reviewer that this change needs; `None` if it needs no review.
pub fn wanted(spec: &StageSpec, change: &Risk) -> Option<StageReviewer> {
    let is_risky = change.files > FILES || change.lines > LINES || change.touches_security;
    let is_wanted = change.files > 0 && (spec.verify == Profile::Deep || is_risky);
    reviewer(spec).filter(|_| is_wanted)
}

/// Describes for people who reviews, and when.
pub fn describe(spec: &StageSpec) -> String {
    match (spec.verify, reviewer(spec)) {
        (verify, None) => verify.name().to_owned(),
        (Profile::Deep, Some(StageReviewer::Client(known))) => {
            format!("deep, reviewed by another `{}`", known.name())
        }
        (Profile::Deep, Some(StageReviewer::Person)) => "deep, reviewed by you".to_owned(),
        (verify, Some(_)) => format!(
            "{}; changes of more than {FILES} files or {LINES} lines, or of security code, are reviewed by another `{}`",
            verify.name(),
            spec.agent.client.word()
        ),
    }
}

/// Writes the report of issues that a reviewer found, for the author.
pub fn report(by: ClientName, summary: &str, message: &str) -> Text<4000> {
    let text = format!("- {NAME} by `{}`: {}\n\n{}", by.name(), summary.trim(), message.trim());
    Text::new(redact::text(&plain(text.trim_end())).into_inner())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::spec::Plan;
    use crate::testing::plan;

    fn spec(client: serde_json::Value, verify: &str) -> StageSpec {
        let mut plan = plan(&[("a", "", "x")]);
        (plan["stages"][0]["client"], plan["stages"][0]["verify"]) = (client, json!(verify));
        let plan: Plan = serde_json::from_value(plan).unwrap();
        plan.stages()[0].clone()
    }

    #[test]
    fn deep_is_always_reviewed_standard_where_it_is_risky_and_quick_never() {
        let (claude, command) = (json!("claude"), json!({"command": ["sh", "a.sh"]}));
        let small = Risk { files: 1, lines: 3, ..Risk::default() };
        let large = Risk { files: FILES + 1, ..small };
        let long = Risk { lines: LINES + 1, ..small };
        let guarding = Risk { touches_security: true, ..small };
        let by = Some(StageReviewer::Client(ClientName::Claude));
        for (client, verify, change, who) in [
            (&claude, "deep", small, by),
            (&claude, "standard", small, None),
            (&claude, "standard", Risk { files: FILES, lines: LINES, ..small }, None),
            (&claude, "standard", large, by),
            (&claude, "standard", long, by),
            (&claude, "standard", guarding, by),
            (&claude, "quick", large, None),
            (&command, "deep", small, Some(StageReviewer::Person)),
            (&command, "standard", large, None),
            (&json!("gemini"), "deep", small, Some(StageReviewer::Person)),
            (&claude, "deep", Risk::default(), None),
        ] {
            assert_eq!(wanted(&spec(client.clone(), verify), &change), who, "{client} {verify} {change:?}");
        }
    }

    #[test]
    fn people_are_told_who_reviews() {
        let told = |client, verify| describe(&spec(client, verify));
        assert_eq!(told(json!("codex"), "deep"), "deep, reviewed by another `codex`");
        assert_eq!(told(json!({"command": ["sh"]}), "deep"), "deep, reviewed by you");
        assert_eq!(told(json!({"command": ["sh"]}), "standard"), "standard");
        assert!(told(json!("claude"), "standard").ends_with("are reviewed by another `claude`"));
        assert_eq!(told(json!("claude"), "quick"), "quick");
    }

    #[test]
    fn what_a_reviewer_quotes_moves_no_cursor_and_tells_no_secret() {
        let said = report(
            ClientName::Claude,
            "a\u{1b}[2J",
            "src/a.rs:1 has ghp_R8sT2vW4xY6zA1bC3dE5fG7hJ9kL0mN2pQ4r",
        );
        assert!(said.as_str().starts_with("- review by `claude`: a"), "{said}");
        assert!(!said.as_str().contains('\u{1b}') && !said.as_str().contains("ghp_R8"), "{said}");
    }
}
