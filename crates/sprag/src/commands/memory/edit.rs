//! `sprag memory edit`: changes the text of a learning.

use std::io::{self, IsTerminal as _, Read as _, Write as _};

use serde_json::{Value, json};

use sprag_host::memory::render;
use sprag_host::sys::exec;
use sprag_memory::learning::{self, Candidate};
use sprag_memory::records::MemoryRecord;

use super::learnings::{LearningsContext, OneArgs};
use crate::commands::{CommandCx, CommandResult, show};
use crate::failure::Failure;
use crate::output;

pub(crate) fn run(args: &OneArgs, cx: &CommandCx) -> CommandResult {
    let desk = LearningsContext::open(cx)?;
    let (place, entry) = desk.find(&args.id)?;
    let now = json!(entry.learning.candidate);
    let said = if io::stdin().is_terminal() { with_editor(&now, cx)? } else { from_stdin(now)? };
    let said = Candidate::read(&said).map_err(|faults| Failure::bad_learning(&faults))?;
    let worktree = desk.world.places.worktree.clone().unwrap_or_default();
    let id = &entry.learning.id;
    let corrected = render::correction(entry, said, &worktree);
    if let Some(learning) = &corrected {
        desk.write(place, &[desk.record(&MemoryRecord::Corrected(Box::new(learning.clone())))])?;
    }
    let changed: Vec<_> = corrected.iter().map(|learning| learning.id.clone()).collect();
    show(
        args.format,
        || json!({ "corrected": changed }),
        || {
            if changed.is_empty() {
                output::line(format!("`{id}` did not change"))
            } else {
                output::line(format!("corrected `{id}`"))
            }
        },
    )
}

/// Returns the learning with the members that stdin names replaced.
fn from_stdin(mut now: Value) -> Result<Value, Failure> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(learning::BYTES as u64).read_to_end(&mut bytes)?;
    let Ok(Value::Object(members)) = serde_json::from_slice(&bytes) else {
        return Err(Failure::no_members());
    };
    for (name, value) in members {
        now[name] = value;
    }
    Ok(now)
}

fn with_editor(now: &Value, cx: &CommandCx) -> Result<Value, Failure> {
    let editor =
        ["VISUAL", "EDITOR"].iter().find_map(|name| cx.env.text(name)).unwrap_or_else(|| "vi".to_owned());
    let mut file = tempfile::Builder::new().prefix("sprag-").suffix(".json").tempfile()?;
    file.write_all(serde_json::to_string_pretty(now).map_err(io::Error::other)?.as_bytes())?;
    if !exec::edit(&editor, file.path())? {
        return Err(Failure::not_confirmed("sprag memory edit ID"));
    }
    let text = std::fs::read_to_string(file.path())?;
    serde_json::from_str(&text).map_err(|_| Failure::no_members())
}
