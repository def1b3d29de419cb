//! Whether a client will run our hooks: one that skips them without a word is not given a stage.

use std::path::Path;

use sprag_host::clients;
use sprag_host::setup::doctor::{self, Trust};
use sprag_host::sys::env::Env;
use sprag_host::sys::exec;
use sprag_plan::spec::client::ClientName;

use super::find;

/// Why it is not given one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntrustedHooks {
    pub why: String,
    pub next: String,
}

/// In this folder, as the client itself says. Trust is the user's: it is told, never given.
pub fn check(known: ClientName, env: &Env, dir: &Path) -> Result<(), UntrustedHooks> {
    let name = known.name();
    let Some(client) = clients::find(name) else { return Ok(()) };
    let program = env.get("PATH").and_then(|path| exec::on_path(find(known).program, &path));
    let trust = program.map_or(Trust::Unknown, |program| doctor::trust_of(client, &program, dir));
    match trust {
        Trust::Trusted => Ok(()),
        Trust::Unknown => Err(UntrustedHooks {
            why: format!("`{name}` names no hooks of ours that it would run"),
            next: format!("sprag init --client {name}"),
        }),
        Trust::Untrusted { some, all } => Err(UntrustedHooks {
            why: format!("`{name}` would skip {some} of our {all} hooks: {}", client.install.after),
            next: "sprag doctor".to_owned(),
        }),
    }
}
