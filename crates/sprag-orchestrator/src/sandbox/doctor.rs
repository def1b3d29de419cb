//! Checks whether this machine can sandbox the agents of plans, by a trial.

use sprag_host::setup::doctor::{DoctorFinding, good, warning};
use sprag_host::sys::env::Env;
use sprag_host::sys::locations::Locations;
use sprag_plan::sandbox::SandboxSupport;

use crate::sandbox;

/// Returns the doctor finding about the sandbox.
pub fn walls(places: &Locations, env: &Env) -> DoctorFinding {
    let offer = sandbox::offer(env, places.worktree.as_deref());
    let network = match &offer.ports {
        SandboxSupport::Yes => "single hosts can be allowed".to_owned(),
        SandboxSupport::No { why } => format!("single hosts cannot be allowed: {why}"),
    };
    let next = "apt-get install bubblewrap";
    match (&offer.bubblewrap, &offer.landlock) {
        (SandboxSupport::Yes, _) => {
            good("confinement", format!("agents of plans run in a bubblewrap sandbox; {network}"))
        }
        (SandboxSupport::No { why }, SandboxSupport::Yes) => warning(
            "confinement",
            format!(
                "agents of plans run in a Landlock sandbox, which does not block named sockets; bubblewrap: {why}; {network}"
            ),
            next,
        ),
        (SandboxSupport::No { why }, SandboxSupport::No { why: other }) => warning(
            "confinement",
            format!("agents of plans run without a sandbox; bubblewrap: {why}; Landlock: {other}"),
            next,
        ),
    }
}
