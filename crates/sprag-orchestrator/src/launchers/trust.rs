//! Checks whether a client runs Sprag's hooks. A client that would skip them gets no stage.

use std::path::Path;

use sprag_host::clients;
use sprag_host::setup::doctor::{self, Trust};
use sprag_host::sys::env::Env;
use sprag_host::sys::exec;
use sprag_plan::spec::client::ClientName;

use super::find;

/// The reason why a client gets no stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntrustedHooks {
    pub why: String,
    pub next: String,
}

/// Asks the client whether it trusts Sprag's hooks in this folder. Only the user can grant that trust.
pub fn check(known: ClientName, env: &Env, dir: &Path) -> Result<(), UntrustedHooks> {
    let name = known.name();
    let Some(client) = clients::find(name) else { return Ok(()) };
    let program = env.get("PATH").and_then(|path| exec::on_path(find(known).program, &path));
    let trust = program.map_or(Trust::Unknown, |program| doctor::trust_of(client, &program, dir));
    match trust {
        Trust::Trusted => Ok(()),
        Trust::Unknown => Err(UntrustedHooks {
            why: format!("`{name}` does not list Sprag's hooks"),
            next: format!("sprag init --client {name}"),
        }),
        Trust::Untrusted { some, all } => Err(UntrustedHooks {
            why: format!("`{name}` would skip {some} of {all} hooks of Sprag: {}", client.install.after),
            next: "sprag doctor".to_owned(),
        }),
    }
}
