//! Whether agents of plans can be confined on this machine, found out by confining something.

use sprag_host::setup::doctor::{DoctorFinding, good, warning};
use sprag_host::sys::env::Env;
use sprag_host::sys::locations::Locations;
use sprag_plan::sandbox::SandboxSupport;

use crate::sandbox;

/// Whether agents of plans can be confined, and by what.
pub fn walls(places: &Locations, env: &Env) -> DoctorFinding {
    let offer = sandbox::offer(env, places.worktree.as_deref());
    let network = match &offer.ports {
        SandboxSupport::Yes => "hosts can be named".to_owned(),
        SandboxSupport::No { why } => format!("hosts cannot be named: {why}"),
    };
    let next = "apt-get install bubblewrap";
    match (&offer.bubblewrap, &offer.landlock) {
        (SandboxSupport::Yes, _) => {
            good("confinement", format!("agents of plans are confined by bubblewrap; {network}"))
        }
        (SandboxSupport::No { why }, SandboxSupport::Yes) => warning(
            "confinement",
            format!(
                "agents of plans are confined by Landlock, which does not keep them from named sockets; bubblewrap: {why}; {network}"
            ),
            next,
        ),
        (SandboxSupport::No { why }, SandboxSupport::No { why: other }) => warning(
            "confinement",
            format!("agents of plans cannot be confined; bubblewrap: {why}; Landlock: {other}"),
            next,
        ),
    }
}
