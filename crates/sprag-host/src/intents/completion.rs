//! Runs the checks of an intent in the present worktree, each within its time limit.

use std::io;
use std::path::Path;

use sprag_base::ids::SessionId;
use sprag_base::text::Text;
use sprag_base::time::Timestamp;
use sprag_check::{CheckOutcome, CompletionCheck, Profile, Results};
use sprag_govern::event::{Event, Input};
use sprag_govern::gates::permission;
use sprag_intent::{CriterionProof, Intent};
use sprag_policy::call::{InputCompleteness, ToolCall, ToolEffect, ToolRow};

use crate::checks::session;
use crate::world::World;

/// Maximum seconds of one check, and of all checks together.
const SECONDS: u32 = 300;
const BUDGET: u32 = 900;

/// The result of the checks of an intent.
#[derive(Debug)]
pub enum IntentCheckResult {
    /// All checks passed, or there are none.
    Passed,
    /// A rule forbids this command.
    Forbidden {
        command: String,
        rule: String,
    },
    Failed(Results),
}

pub fn check(
    world: &World<'_>,
    intent: &Intent,
    dir: &Path,
    now: Timestamp,
    watch: &dyn Fn(&CompletionCheck),
) -> io::Result<IntentCheckResult> {
    let mut checks = Vec::new();
    for criterion in &intent.criteria {
        let CriterionProof::Check(command) = &criterion.proof else { continue };
        // The command comes from the repository, and an agent may claim `done`. An agent must not run a
        // command through Sprag that it may not run itself.
        if let Some(rule) = forbids(world, command, dir, now) {
            return Ok(IntentCheckResult::Forbidden { command: command.clone(), rule });
        }
        checks.push(CompletionCheck {
            name: Text::new(format!("{}:{}", intent.id, criterion.key)),
            command: command.clone(),
            profile: Profile::Quick,
            mandatory: true,
            timeout: SECONDS,
        });
    }
    if checks.is_empty() {
        return Ok(IntentCheckResult::Passed);
    }
    let results = session::run_these(world, dir, &checks, Profile::Deep, BUDGET, watch)?;
    let all_passed = results.ran.iter().all(|ran| is_passed(&ran.outcome));
    Ok(if all_passed { IntentCheckResult::Passed } else { IntentCheckResult::Failed(results) })
}

/// Reports whether a check passed. A check may leave files behind.
pub fn is_passed(outcome: &CheckOutcome) -> bool {
    matches!(outcome, CheckOutcome::Passed | CheckOutcome::ChangedTree { code: Some(0), .. })
}

fn forbids(world: &World<'_>, command: &str, dir: &Path, now: Timestamp) -> Option<String> {
    const SHELL: &[ToolRow] =
        &[ToolRow { name: "Bash", effect: ToolEffect::Exec, paths: &[], command: Some("command") }];
    let call =
        ToolCall::new(SHELL, "Bash", serde_json::json!({ "command": command }), None, InputCompleteness::Yes);
    let input = Input::new(now, SessionId::new("intent"), Event::ToolRequested { call: call.clone() })
        .within(&dir.to_string_lossy());
    let concern = permission::concern(&world.config.settings.govern.gates.permission, &input, &call);
    let rules = world.config.restricting(&concern)?;
    permission::objection(&rules, &input, &call)
}
