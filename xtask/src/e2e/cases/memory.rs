//! The next session sees the learning of an earlier one, and a citation counts. A session that saw the
//! learning gets its correction.

use super::{Case, ended_well, outline};
use crate::e2e::clients::Grant;
use crate::e2e::outcome::{Checked, Stopped, expect, short};
use crate::e2e::rig::{Hooks, Rig, Run};
use crate::model::script::{Script, Turn};

pub const CASE: Case = Case {
    name: "memory",
    shows: "a learning of one session is in the next one's context, its citation counts, its correction is shown",
    hooks: Hooks::UserSettings,
    play,
};

const SUMMARY: &str = "the upload worker drops chunks above 8 MB unless retry_budget is raised";
const CORRECTION: &str = "the upload worker drops chunks above 16 MB since release 2.4";

fn play(rig: &mut Rig) -> Checked {
    let shell = rig.client.shell;
    let reflect = format!(
        "sprag reflect <<'END'\n{{\"candidates\": [{{\"category\": \"pitfall\", \"summary\": \"{SUMMARY}\", \
         \"detail\": \"retry_budget defaults to 3; set it to 10 in upload.toml before you test large files, because \
         the proxy buffers\", \"tags\": [\"upload\"], \"criteria_met\": [\"behavior_changing\"]}}]}}\nEND"
    );
    let learned = rig.run(Script::ending("Noted.").then(Turn::call(shell(&reflect))), Grant::Everything)?;
    ended_well(&learned)?;
    let known = rig.sprag_json(&["memory", "list", "--json"])?;
    let Some(id) = known["learnings"][0]["id"].as_str().map(str::to_owned) else {
        return Err(Stopped::missed("the learning is listed", short(&known.to_string())));
    };

    let prompt = "Why does the upload worker lose chunks of large files?";
    let answer = format!("It needs a higher budget, as {id} says.");
    let asked = rig.run_asking(prompt, Script::ending(&answer), Grant::Everything)?;
    ended_well(&asked)?;
    let has_it = asked.main().first().is_some_and(|request| request.contains(SUMMARY));
    expect(has_it, "the next session has the learning in its context", || outline(&asked.main()))?;
    let session = session(&asked)?;
    let told = rig.sprag_json(&["session", "records", &session, "--event", "learning.referred", "--json"])?;
    expect(told.to_string().contains(&id), "the citation counts", || short(&told.to_string()))?;

    let change = format!("echo '{{\"summary\": \"{CORRECTION}\"}}' | sprag memory edit {id}");
    let corrected =
        rig.run(Script::ending("Corrected.").then(Turn::call(shell(&change))), Grant::Everything)?;
    ended_well(&corrected)?;
    let resumed = rig.resume_asking(&session, "Go on.", Script::ending("I will."), Grant::Everything)?;
    ended_well(&resumed)?;
    let is_told = resumed
        .main()
        .iter()
        .any(|request| request.contains("was corrected") && request.contains(CORRECTION));
    expect(is_told, "a session that saw the learning gets the correction", || outline(&resumed.main()))?;
    let again =
        rig.sprag_json(&["session", "records", &session, "--event", "learning.surfaced", "--json"])?;
    let shown = again.to_string().matches("learning.surfaced").count();
    expect(shown == 1, "the learning is shown once", || short(&again.to_string()))
}

fn session(run: &Run) -> Result<String, Stopped> {
    let missed = || Stopped::missed("the client prints the id of its session", short(&run.finished.stdout));
    run.session.clone().ok_or_else(missed)
}
