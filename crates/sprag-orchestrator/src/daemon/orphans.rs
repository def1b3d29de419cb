//! Finds agents that outlived their daemon, by the records of runs. A new daemon takes them over; `sprag run
//! stop` ends them.

use std::io;
use std::path::Path;

use rustix::process::Signal;

use sprag_base::result::Discard as _;
use sprag_base::text::Text;
use sprag_host::sys::disk::Disk;
use sprag_host::sys::processes;
use sprag_plan::ids::{EffectKey, StageId};
use sprag_plan::reconcile::observed::StopMode;
use sprag_plan::run::effect::{Effect, EffectOutcome, KillReason, SessionSignal};
use sprag_plan::run::record::RunRecord;

use crate::layout::run_log_path;
use crate::lock;
use crate::observe::session_exits;
use crate::run_log::{self, RunLog};
use crate::session_dir::{SessionProbe, SupervisorSignal, site_of};
use crate::socket::requests::RequestError;

/// An agent whose daemon is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrphanedAgents {
    pub plan: String,
    pub stage: StageId,
    session: EffectKey,
}

/// Returns all agents in the records whose supervisors live.
pub fn find(folder: &Path) -> io::Result<Vec<OrphanedAgents>> {
    let mut found = Vec::new();
    for plan in crate::run_log::known(folder) {
        let Some(run) = run_log::read(&run_log_path(folder, &plan))? else { continue };
        for (session, stage) in run.live_sessions() {
            if site_of(folder, session).probe()? == SessionProbe::Running {
                let (plan, stage, session) = (plan.clone(), stage.clone(), session.clone());
                found.push(OrphanedAgents { plan, stage, session });
            }
        }
    }
    Ok(found)
}

/// Ends the agents as a stopping daemon would, and records how they ended.
pub fn end(
    root: &Path,
    folder: &Path,
    disk: &dyn Disk,
    agents: &[OrphanedAgents],
    how: StopMode,
) -> Result<(), RequestError> {
    // The lock prevents a daemon from taking the agents over meanwhile.
    let Some(reign) = lock::begin(folder, disk)? else {
        return Err(RequestError::AtWork { pid: lock::ruler(folder)?.unwrap_or(0) });
    };
    let mut plans: Vec<&str> = agents.iter().map(|agent| agent.plan.as_str()).collect();
    plans.dedup();
    for plan in plans {
        let Some(mut log) = RunLog::resume(&run_log_path(folder, plan), disk)? else { continue };
        let agents: Vec<&OrphanedAgents> = agents.iter().filter(|agent| agent.plan == plan).collect();
        for agent in &agents {
            let effect = Effect::Session {
                session: agent.session.clone(),
                step: SessionSignal::Kill { reason: KillReason::Over },
            };
            log.append(&RunRecord::EffectBegun { key: agent.kill(), epoch: reign.epoch, effect })?;
            let site = site_of(folder, &agent.session);
            // The supervisor stops everything that the agent started.
            site.tell(SupervisorSignal::Stop).discard("a supervisor that is gone needs no signal");
            if let (StopMode::Kill, Some(process)) = (how, site.agent()) {
                processes::signal(process, Signal::KILL);
            }
        }
        for agent in agents {
            site_of(folder, &agent.session).wait()?;
            log.append(&RunRecord::Outcome { key: agent.kill(), outcome: EffectOutcome::Done })?;
        }
        session_exits::settle(&mut log, root, folder)?;
    }
    Ok(())
}

impl OrphanedAgents {
    fn kill(&self) -> EffectKey {
        EffectKey(Text::new(format!("{}/kill", self.session.0)))
    }
}
