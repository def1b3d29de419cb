//! A prompt asks for a review. Sprag holds the author, a reviewer finds issues, the author gets and fixes
//! them, and the turn ends after the reviewer approves. Sprag refuses a decision of the author itself. A
//! change after an approval needs another review.

use serde_json::json;

use super::{Case, ended_well, outline};
use crate::e2e::clients::Grant;
use crate::e2e::outcome::{Checked, Stopped, expect, short};
use crate::e2e::rig::{Hooks, Rig};
use crate::model::Asked;
use crate::model::script::{Call, Script, Step, Turn};
use crate::process::Ending;

pub const CASE: Case = Case {
    name: "review",
    shows: "`#review`: held until a reviewer agent that is not the author decides COMPLETE on exactly this tree",
    hooks: Hooks::Agents,
    play,
};

const MESSAGE: &str = "the sum is off by one in line 1";

fn reviewer(prompt: &str) -> Turn {
    let input = json!({
        "description": "review", "prompt": prompt, "subagent_type": "sprag-reviewer", "run_in_background": false,
    });
    Turn::call(Call { tool: "Agent", namespace: None, input })
}

fn shell(command: &str) -> Turn {
    Turn::call(Call {
        tool: "Bash",
        namespace: None,
        input: json!({"command": command, "description": "run"}),
    })
}

/// Returns the token, which only the context of the reviewer contains.
fn token(asked: &Asked) -> String {
    let text = &asked.opening;
    let start = text.find("sprt_").unwrap_or(0);
    text[start..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
}

fn finds_issues(asked: &Asked) -> Turn {
    shell(&format!(
        "sprag decide ISSUES --summary 'off by one' --message '{MESSAGE}' --token {}",
        token(asked)
    ))
}

fn is_content(asked: &Asked) -> Turn {
    shell(&format!("sprag decide COMPLETE --summary 'it adds up' --token {}", token(asked)))
}

fn play(rig: &mut Rig) -> Checked {
    // This also installs the reviewing agent, which `--hooks-only` omits.
    let init = rig.sprag(&["init", "--client", "claude", "--user", "--yes"])?;
    expect(init.ending == Ending::Code(0), "`sprag init` writes the reviewer", || short(&init.stderr))?;
    let script = Script::ending("That is all.")
        .then(shell("echo 2+2=5 > sum.txt"))
        .then(Turn::say("The sum is there.")) // held: a review is required
        .then(shell(
            "sprag decide COMPLETE --summary 'I like it' --token sprt_00000000000000000000000000000000",
        )) // refused
        .then(reviewer("PART-ONE: review the work"))
        .then(Turn::say("The reviewer is done.")) // held: issues
        .then(shell("echo 2+2=4 > sum.txt"))
        .then(reviewer("PART-TWO: review the work again"))
        .then(shell("echo 2+2=6 > sum.txt"))
        .then(Turn::say("A last touch.")) // held: the approval is void
        .then(reviewer("PART-THREE: review the last touch"))
        .track_steps("one", "PART-ONE", [Step::Drawn(finds_issues), Turn::say("Issues.").into()])
        .track_steps("two", "PART-TWO", [Step::Drawn(is_content), Turn::say("Complete.").into()])
        .track_steps("three", "PART-THREE", [Step::Drawn(is_content), Turn::say("Complete.").into()]);
    let run = rig.run_asking("#review write the sum into sum.txt", script, Grant::Usual)?;
    ended_well(&run)?;
    let main = run.main();
    // The start, sum, hold, refusal, reviewer, hold with the message, fix, reviewer, last change, hold,
    // reviewer.
    expect(main.len() == 11, "11 requests of the author", || outline(&main))?;
    let says = |at: usize, text: &str, what: &str| {
        expect(main[at].last_talk().contains(text), what, || {
            format!("request {at}: {}", short(&main[at].last_talk()))
        })
    };
    says(2, "sprag-reviewer", "the first stop is held for a review")?;
    says(3, "not_reviewer", "Sprag refuses the decision of the author")?;
    says(5, MESSAGE, "the reviewer's message reaches the author")?;
    says(9, "sprag-reviewer", "a change after COMPLETE voids it")?;
    expect(
        !main.iter().any(|request| request.contains("sprt_") && !request.contains("sprt_0000")),
        "no token reaches the author",
        || outline(&main),
    )?;
    expect(
        rig.file("sum.txt").is_some_and(|text| text.trim() == "2+2=6"),
        "the last change is in the worktree",
        || outline(&main),
    )?;
    let Some(session) = run.session.clone() else {
        return Err(Stopped::missed("the client prints the id of its session", short(&run.finished.stdout)));
    };
    let told = rig.sprag_json(&["review", "list", "--json"])?;
    let words: Vec<String> =
        told["verdicts"].as_array().into_iter().flatten().map(|row| row["word"].to_string()).collect();
    expect(words.len() == 3, "three decisions are recorded", || short(&told.to_string()))?;
    let debts = rig.sprag_json(&["debt", "list", "--json"])?;
    expect(debts["debts"].as_array().is_some_and(Vec::is_empty), "no debt is open", || {
        short(&debts.to_string())
    })?;
    let story = rig.sprag(&["session", "explain", &session])?.stdout;
    expect(story.contains("COMPLETE") && story.contains("ISSUES"), "the output shows both decisions", || {
        short(&story)
    })
}
