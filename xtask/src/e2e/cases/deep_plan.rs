//! A stage with `verify: deep` gets a review by another process of the client before the merge. The issues go
//! back to the agent.

use super::Case;
use super::plan::{git, name_author, write_one};
use crate::e2e::outcome::{Checked, expect, short};
use crate::e2e::rig::{Hooks, Rig};
use crate::model::script::{Script, Turn};
use crate::process::Ending;

pub const CASE: Case = Case {
    name: "deep_plan",
    shows: "with `verify: deep` a second process of the client finds issues, the agent fixes them, and only then the stage is merged",
    hooks: Hooks::Agents,
    play,
};

fn play(rig: &mut Rig) -> Checked {
    rig.put_client_on_path()?;
    name_author(rig)?;
    let plan = write_one(rig, &["acceptance: [\"test -f a.txt\"]", "verify: deep"])?;
    let shell = rig.client.shell;
    let make = |text: &str| format!("echo {text} >a.txt && git add -A && git commit -qm work");
    let decide = |words: &str| Turn::call(shell(&format!("sprag decide {words}")));
    let script = Script::ending("That is all.")
        .track(
            "reviewer",
            "You review the work of another agent",
            [
                decide("ISSUES --summary 'the sum is wrong' --message 'two and two are four'"),
                Turn::say("I have said it."),
                decide("COMPLETE --summary 'it adds up'"),
                Turn::say("I have said it."),
            ],
        )
        .track(
            "a",
            "mark-of-the-stage",
            [
                Turn::call(shell(&make("2+2=5"))),
                Turn::say("The sum is there."),
                Turn::call(shell("cat a.txt")),
                Turn::call(shell(&make("2+2=4"))),
                Turn::say("It is mended."),
            ],
        );
    let run = ["run", &plan.display().to_string(), "--trust", "--foreground"];
    let (finished, requests) = rig.sprag_with(script, &run)?;
    expect(finished.ending == Ending::Code(0), "the run ends with everything merged", || {
        format!("{:?}: {}", finished.ending, short(&format!("{}\n{}", finished.stdout, finished.stderr)))
    })?;
    let found = git(rig, &["show", "refs/sprag/p/trunk:a.txt"])?;
    expect(found == "2+2=4\n", "the trunk has the fixed version", || found.clone())?;
    let is_told = requests
        .iter()
        .any(|request| request.contains("mark-of-the-stage") && request.contains("two and two are four"));
    expect(is_told, "the agent gets the message of the reviewer", || requests.len().to_string())?;
    let logs = rig.sprag(&["run", "logs", "--all"])?;
    expect(logs.stdout.contains("review"), "the log shows reviews", || short(&logs.stdout))
}
