//! Sessions of stages: all rules apply to them, and no user is there to answer questions.

use serde_json::Value;

use sprag_base::text::Text;
use sprag_host::purpose::{Purpose, PurposeGuard};
use sprag_host::sys::disk::RealDisk;
use sprag_host::sys::locations::UserLocations;

use crate::support::Sandbox;

fn decision(reply: &Value) -> (&str, &str) {
    let said = |name: &str| reply["hookSpecificOutput"][name].as_str().unwrap_or_default();
    (said("permissionDecision"), said("permissionDecisionReason"))
}

#[test]
fn a_question_of_a_stage_is_a_refusal_that_says_what_to_do() {
    let mut sandbox = Sandbox::new();
    let asking = "cat ~/.ssh/id_ed25519";
    let reply = sandbox.bash("attended", asking);
    assert_eq!(decision(&reply).0, "ask", "{reply}");

    let user = UserLocations {
        config: sandbox.home.join(".config/sprag"),
        state: sandbox.home.join(".local/state/sprag"),
    };
    let run = PurposeGuard::begin(&user, &RealDisk, Purpose::Stage { stage: Text::new("a") }).unwrap();
    sandbox.vars.push(("SPRAG_RUN".to_owned(), run.token.clone()));
    let reply = sandbox.bash("stage", asking);
    let (said, why) = decision(&reply);
    assert_eq!(said, "deny", "{reply}");
    assert!(why.contains("cannot be asked in this mode") && why.contains("`sprag approve "), "{why}");
    // Refused calls stay refused, and calls without an objection need no question.
    assert_eq!(decision(&sandbox.bash("stage", "git push --force")).0, "deny");
    assert_eq!(sandbox.bash("stage", "ls"), serde_json::json!({}));
}

#[test]
fn whoever_only_says_that_it_is_a_stage_is_asked_like_everybody() {
    let mut sandbox = Sandbox::new();
    sandbox.vars.push(("SPRAG_RUN".to_owned(), "0199a0b0-0000-7000-8000-000000000000".to_owned()));
    sandbox.vars.push(("SPRAG_STAGE".to_owned(), "a".to_owned()));
    assert_eq!(decision(&sandbox.bash("s", "cat ~/.ssh/id_ed25519")).0, "ask");
}
