//! Whether agents of plans can be confined on this machine, found out by confining something.

use sprag_host::setup::doctor::{Finding, good, warning};
use sprag_host::sys::env::Env;
use sprag_host::sys::locations::Places;
use sprag_plan::sandbox::Can;

use crate::sandbox;

/// Whether agents of plans can be confined, and by what.
pub fn walls(places: &Places, env: &Env) -> Finding {
    let offer = sandbox::offer(env, places.worktree.as_deref());
    let network = match &offer.ports {
        Can::Yes => "hosts can be named".to_owned(),
        Can::No { why } => format!("hosts cannot be named: {why}"),
    };
    let next = "apt-get install bubblewrap";
    match (&offer.bubblewrap, &offer.landlock) {
        (Can::Yes, _) => {
            good("confinement", format!("agents of plans are confined by bubblewrap; {network}"))
        }
        (Can::No { why }, Can::Yes) => warning(
            "confinement",
            format!(
                "agents of plans are confined by Landlock, which does not keep them from named sockets; bubblewrap: {why}; {network}"
            ),
            next,
        ),
        (Can::No { why }, Can::No { why: other }) => warning(
            "confinement",
            format!("agents of plans cannot be confined; bubblewrap: {why}; Landlock: {other}"),
            next,
        ),
    }
}
