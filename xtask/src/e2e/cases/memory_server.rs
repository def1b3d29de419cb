//! A learning reaches the real memory server of npm exactly once, even if the server could not start at
//! first.

use std::fs;

use super::{Case, ended_well};
use crate::e2e::clients::Grant;
use crate::e2e::install;
use crate::e2e::outcome::{Checked, Stopped, expect, short};
use crate::e2e::rig::{Hooks, Rig};
use crate::model::script::{Script, Turn};
use crate::process::{self, Ending};

pub const CASE: Case = Case {
    name: "memory_server",
    shows: "a learning is mirrored to `@modelcontextprotocol/server-memory`; a failed delivery waits and arrives once",
    hooks: Hooks::UserSettings,
    play,
};

const SUMMARY: &str = "The parser drops the last line of a file";

fn play(rig: &mut Rig) -> Checked {
    let server =
        install::memory_server(&install::cache()).map_err(|missing| Stopped::Skipped { why: missing.0 })?;
    let Some(node) = process::find("node") else {
        return Err(Stopped::Skipped { why: "node is not on PATH".to_owned() });
    };
    let memory = rig.place.home().join("memory.jsonl");
    let configure = |rig: &Rig, script: &str| -> anyhow::Result<()> {
        let dir = rig.place.home().join(".config").join("sprag");
        fs::create_dir_all(&dir)?;
        let command = serde_json::json!([
            "/usr/bin/env",
            format!("MEMORY_FILE_PATH={}", memory.display()),
            node,
            script
        ]);
        Ok(fs::write(dir.join("config.toml"), format!("[backends.mcp]\ncommand = {command}\n"))?)
    };
    configure(rig, "/no/such/script.js")?;
    let reflect = format!(
        "sprag reflect <<'END'\n{{\"candidates\": [{{\"category\": \"pitfall\", \"summary\": \"{SUMMARY}\", \
         \"detail\": \"a file without a final newline loses its last line in src/parser.rs\", \
         \"tags\": [\"parser\"], \"criteria_met\": [\"behavior_changing\"]}}]}}\nEND"
    );
    let script = Script::ending("That is all.").then(Turn::call((rig.client.shell)(&reflect)));
    let run = rig.run(script, Grant::Everything)?;
    ended_well(&run)?;
    let kept = &run.main().last().map(|request| request.last_result.clone()).unwrap_or_default();
    expect(kept.contains("kept `"), "Sprag keeps it without the server", || short(kept))?;
    let listed = rig.sprag_json(&["memory", "backends", "--json"])?;
    expect(listed["backends"][1]["waiting"] == 1, "one entry waits", || short(&listed.to_string()))?;

    configure(rig, &server.display().to_string())?;
    let pinged = rig.sprag_json(&["memory", "backends", "--ping", "--json"])?;
    expect(pinged["backends"][1]["answers"] == true, "the real server answers", || {
        short(&pinged.to_string())
    })?;
    // The waiting entry is not due yet, but `memory maintain` delivers all entries. A second call changes
    // nothing.
    for _ in 0..2 {
        let maintained = rig.sprag(&["memory", "maintain"])?;
        expect(maintained.ending == Ending::Code(0), "`sprag memory maintain` succeeds", || {
            short(&maintained.stderr)
        })?;
    }
    let text = fs::read_to_string(&memory).unwrap_or_default();
    let entities = text.lines().filter(|line| line.contains(SUMMARY)).count();
    expect(entities == 1, "the server has the learning once", || short(&text))
}
